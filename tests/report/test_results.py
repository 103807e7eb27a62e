"""A study's result in one line, by the comparisons of its table."""

from dataclasses import replace

import pytest

from acprop.report.results import compared_arms, listed, result_line
from acprop.report.studies import gather
from acprop.report.tables import study_table

from .made_runs import run, seeds, study

OURS = (0.70, 0.72, 0.74, 0.71, 0.73)
BELOW = tuple(v - 0.1 + 0.001 * i for i, v in enumerate(OURS))
ABOVE = tuple(v + 0.1 + 0.001 * i for i, v in enumerate(OURS))
MIXED = (0.65, 0.80, 0.71, 0.70, 0.75)


def line(runs, *, searched=(), scale="small", **about):
    runs = [replace(one, scale=scale) for one in runs]
    found = gather(study(runs, scale=scale, **about), runs, searched=searched)
    return result_line(found, compared_arms(found))


@pytest.mark.parametrize(
    ("others", "word", "badge", "text"),
    [
        ({"adam": BELOW}, "better", "holds", "ACProp (default) is better than Adam"),
        ({"adam": ABOVE}, "worse", "fails", "ACProp (default) is worse than Adam"),
        (
            {"adam": BELOW, "sgd": ABOVE, "adamw": MIXED},
            "better and worse",
            "undecided",
            "ACProp (default) is better than Adam, worse than SGD; no difference to "
            "AdamW is shown",
        ),
        (
            {"adam": MIXED},
            "no difference shown",
            "undecided",
            "No difference between ACProp (default) and Adam is shown",
        ),
    ],
    ids=["better", "worse", "both", "neither"],
)
def test_a_line_says_who_is_better_than_whom(others, word, badge, text):
    runs = [*seeds("acprop", OURS), *(r for o in others for r in seeds(o, others[o]))]
    assert line(runs) == (word, badge, f"{text} (test accuracy, 5 seeds).")


@pytest.mark.parametrize(
    ("scale", "n", "text"),
    [
        ("smoke", 5, "Smoke scale shows that it runs, not who wins."),
        ("search", 5, "A search: it chooses settings, and ranks nobody."),
        ("small", 3, "Fewer than 5 seeds finished in both: nobody is called better."),
        ("small", 0, "No run has a result."),
    ],
)
def test_what_ranks_nobody_says_so(scale, n, text):
    runs = [*seeds("acprop", OURS[:n]), *seeds("adam", BELOW[:n])]
    assert line(runs, scale=scale).text == text


def test_a_method_alone_is_compared_with_nobody():
    assert line(seeds("adam", OURS)).text == "Nobody here is compared with another."


def test_places_of_axes_are_counted():
    runs = [
        run(o, s, (v + d,), lr=lr)
        for o, d in (("acprop", 0.0), ("adam", -0.1))
        for lr in (0.1, 0.2)
        for s, v in enumerate(OURS)
    ]
    said = line(runs, axes=("lr",)).text
    assert said.startswith("2 comparisons at 2 places: ACProp (default) better in 2, ")


GRID = [
    run(o, s, (v + shift, v + shift), lr=lr)
    for o, lr, shift in (
        ("acprop", 0.1, 0.1), ("acprop", 0.2, 0.3), ("adam", 0.3, 0.0),
    )
    for s, v in enumerate(OURS)
]  # fmt: skip


def test_what_a_search_preferred_is_compared_wherever_it_lies():
    """Of the default two places were run: the one that the search chose is shown."""
    wanted = [
        arm.settings for arm in gather(study(GRID), GRID).arms if arm.known["lr"] != 0.2
    ]
    found = gather(study(GRID, axes=("lr",)), GRID, searched=wanted)
    assert [one.name for one in compared_arms(found)] == ["ACProp (default)", "Adam"]
    assert [row[0] for row in study_table(found).rows] == ["ACProp (default)", "Adam"]
    assert line(GRID, axes=("lr",)).word == "not compared"
    runs = [replace(one, scale="small") for one in GRID]
    found = gather(study(runs, axes=("lr",), scale="small"), runs, searched=wanted)
    assert result_line(found, compared_arms(found)).word == "better"


def test_a_method_that_the_search_did_not_have_is_still_shown():
    more = [*GRID, *seeds("sgd", OURS, lr=0.7)]
    wanted = [
        arm.settings for arm in gather(study(GRID), GRID).arms if arm.known["lr"] != 0.2
    ]
    found = gather(study(more, axes=("lr",)), more, searched=wanted)
    assert [one.arm.optimizer for one in compared_arms(found)] == [
        "acprop",
        "adam",
        "sgd",
    ]


def test_a_name_with_a_comma_is_one_name_in_a_list():
    """Not "better than NAdam, momentum_decay = 0.004, ACProp (paper), authors'"."""
    runs = [
        *seeds("acprop", OURS),
        *seeds("nadam", BELOW, momentum_decay=0.004),
        *seeds("nadam", MIXED, momentum_decay=0),
        *seeds("acprop", BELOW, convention="authors"),
    ]
    assert line(runs).text.startswith(
        "ACProp (default) is better than NAdam (momentum_decay = 0.004) and ACProp "
        "(paper, authors' code); no difference to NAdam (momentum_decay = 0) is shown"
    )


@pytest.mark.parametrize(
    ("names", "text"),
    [(["A"], "A"), (["A", "B", "C"], "A, B and C"), (list("ABCDEFGHI"), "9 others")],
)
def test_names_are_listed_and_many_are_counted(names, text):
    assert listed(names) == text
