from dataclasses import replace

import pytest

from acprop.records import FigureRecord, Verdict
from acprop.report.paper import entries
from acprop.report.paper_entries import entry_result
from acprop.report.studies import gather

from .made_runs import run, study

BY_ID = {entry.id: entry for entry in entries()}
ROOMS = "rl/dqn-four-rooms"


def runs_of(optimizer, values):
    return [run(optimizer, seed, (0.1, v)) for seed, v in enumerate(values)]


def rooms(adam, acprop=(0.50, 0.51, 0.52, 0.53, 0.54), scale="small", **changes):
    runs = [*runs_of("acprop", acprop), *runs_of("adam", adam)]
    made = replace(study(runs, name=ROOMS, scale=scale), **changes)
    return gather(made, runs)


def result_of(entry, *found, figures=(), verdicts=()):
    studies = {}
    for one in found:
        studies.setdefault(one.study.name, []).append(one)
    return entry_result(
        BY_ID[entry],
        studies,
        {f.name: f for f in figures},
        {v.claim: v for v in verdicts},
    )


def pair(found, than="Adam"):
    (study,) = found.studies
    (one,) = (p for p in study.pairs if p.than == than)
    return one


@pytest.mark.parametrize(
    ("adam", "word", "badge"),
    [
        ((0.30, 0.31, 0.33, 0.32, 0.34), "same order", "holds"),
        ((0.80, 0.81, 0.83, 0.82, 0.84), "opposite order", "fails"),
        ((0.20, 0.81, 0.40, 0.52, 0.61), "no difference shown", "undecided"),
    ],
)
def test_the_order_is_decided_by_the_paired_interval(adam, word, badge):
    found = result_of("fig-9", rooms(adam))
    assert pair(found).word == word
    assert found.outcome.badge == badge
    assert word in found.outcome.verdict


def test_the_sign_is_acprop_minus_the_other():
    words = pair(result_of("fig-9", rooms((0.30, 0.31, 0.33, 0.32, 0.34)))).ours
    assert words.startswith("+20.00 [+19")
    assert "p " in words


def test_the_papers_rule_stands_for_the_paper_where_it_was_run():
    """Else the default; the page says which."""
    adam = (0.30, 0.31, 0.33, 0.32, 0.34)
    assert pair(result_of("fig-9", rooms(adam))).who == "ACProp (default)"
    authors = [
        run("acprop", s, (0.1, v), convention="authors")
        for s, v in enumerate((0.10, 0.11, 0.14, 0.12, 0.13))
    ]
    both = rooms(adam)
    runs = [*both.runs, *authors]
    found = result_of("fig-9", gather(study(runs, name=ROOMS, scale="small"), runs))
    assert pair(found).who == "ACProp (paper), authors' code"
    assert pair(found).word == "opposite order"
    assert pair(found).paper == "ACProp (paper) ahead, no number"


def test_an_optimizer_without_runs_is_said_to_have_none():
    found = result_of("fig-9", rooms((0.30, 0.31, 0.33, 0.32, 0.34)))
    assert pair(found, "SGD").word == "no runs"


def test_smoke_scale_decides_nothing():
    found = result_of("fig-9", rooms((0.30, 0.31, 0.33, 0.32, 0.34), scale="smoke"))
    assert found.outcome.badge == "undecided"
    assert "Smoke scale shows that it runs, not who wins." in found.outcome.verdict


def test_what_weighs_most_decides_and_the_rest_is_shown_below():
    small = rooms((0.30, 0.31, 0.33, 0.32, 0.34))
    smoke = replace(rooms((0.9,) * 5, scale="smoke"), is_here=True)
    assert small.weight > smoke.weight
    found = result_of("fig-9", small, smoke)
    assert found.outcome.word == result_of("fig-9", small).outcome.word == "same order"
    assert found.outcome.verdict.startswith("1 comparison at small scale")
    assert [one.is_lead for one in found.studies] == [True, False]


@pytest.mark.parametrize(
    "other", [{"ruleset": "default"}, {"scale": "search"}], ids=str
)
def test_everyone_at_the_librarys_settings_or_a_search_is_another_question(other):
    found = rooms((0.3, 0.3, 0.3, 0.3), **other)
    assert result_of("fig-9", found).outcome.word == "not run"


def test_everyone_tuned_alike_leads_over_the_papers_settings():
    values = (0.30, 0.31, 0.33, 0.32, 0.34)
    tuned, printed = rooms(values, ruleset="tuned"), rooms((0.9,) * 5)
    assert tuned.weight > printed.weight
    found = result_of("fig-9", tuned, printed)
    assert found.outcome.word == result_of("fig-9", tuned).outcome.word == "same order"
    assert [one.is_lead for one in found.studies] == [True, False]


def test_no_difference_at_all_has_no_sign_of_its_own():
    words = pair(result_of("fig-9", rooms((0.50, 0.51, 0.52, 0.53)))).ours
    assert words == "+0.00 [+0.00,\N{NO-BREAK SPACE}+0.00]"


def test_rows_of_one_study_are_told_apart_by_their_task():
    """Table 5 has CIFAR-10 and CIFAR-100 in one study."""
    name = "vision/wrn-avagrad"
    runs = [
        *runs_of("acprop", (0.5, 0.51, 0.52, 0.53, 0.54)),
        *runs_of("avagrad", (0.3, 0.31, 0.33, 0.32, 0.34)),
    ]
    found = result_of("table-5", gather(study(runs, name=name), runs))
    (ours,) = found.studies
    words = {p.row: p.word for p in ours.pairs}
    assert words == {
        "WideResNet, CIFAR-10": "same order",
        "WideResNet, CIFAR-100": "no runs",
    }
    # An error of 3.67 against 3.80: lower is better, and so ACProp is ahead.
    assert ours.pairs[0].paper == "−0.13"


def verdict(claim, word):
    return Verdict(claim, "paper", "central", "", "it is so", word, "", {}, 0.0)


@pytest.mark.parametrize(
    ("words", "badge"),
    [
        (("holds", "holds"), "holds"),
        (("holds", "fails"), "undecided"),
        (("fails", "fails"), "fails"),
        (("holds", "undecided"), "undecided"),
    ],
)
def test_a_toy_figure_is_decided_by_the_papers_claims(words, badge):
    names = ("dense-area-0.9", "sync-threshold")
    given = [verdict(n, w) for n, w in zip(names, words, strict=True)]
    shown = FigureRecord("area-dense-0.9", "Fig. 1", "areas")
    found = result_of("fig-1", figures=[shown], verdicts=given)
    assert found.outcome.badge == badge
    assert found.figures == (shown,)
    assert "claim lemma-3.3" in found.not_run
    assert "figure area-dense-0.9" not in found.not_run


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.id)
def test_what_was_not_run_says_so_and_how_to_run_it(entry):
    found = entry_result(entry, {}, {}, {})
    assert found.commands
    assert found.outcome.badge == "none"
    wanted = [*entry.studies, *entry.figures, *entry.claims]
    assert len(found.not_run) == len(wanted)
    assert all(any(w in c for c in found.commands) for w in wanted)
