import math
from dataclasses import replace
from functools import partial

import pytest

from acprop.report.statistics import summarize
from acprop.report.studies import gather
from acprop.report.tables import markdown, settings_table, study_table
from acprop.report.words import summary_words

from .made_runs import run, seeds, study, with_status

NB = "\N{NO-BREAK SPACE}"
COMPARED = [
    *seeds("acprop", (0.7, 0.72, 0.74, 0.71, 0.73)),
    *seeds("adam", (0.6, 0.62, 0.641, 0.61, 0.63)),
    *seeds("sgd", (0.65, 0.8, 0.71, 0.7, 0.75)),
]


def plain(text):
    return text.replace(NB, " ")


def rows(runs, *args, make=study_table, **kwargs):
    table = make(gather(study(runs, *args, **kwargs), runs))
    return [dict(zip(table.columns, map(plain, r), strict=True)) for r in table.rows]


def test_a_row_has_mean_standard_deviation_and_interval():
    acprop = rows(COMPARED)[0]
    assert acprop["runs"] == "5"
    assert acprop["test accuracy, %"] == "62.00 ± 1.58 [60.04, 63.96]"


DIFFERENCE = "difference to ACProp (default)"


def test_differences_are_paired_and_have_a_verdict():
    found = rows(COMPARED)
    assert found[0][DIFFERENCE] == "reference"
    assert found[1][DIFFERENCE] == "−9.98 [−10.04, −9.92]"
    assert [row["verdict"] for row in found] == ["–", "worse", "no difference shown"]


def test_a_table_corrects_for_all_its_comparisons():
    """p = 0.03 alone, as the protocol has it, is no difference among four."""
    shift = (0.004, 0.001, 0.006, 0.001, 0.003)
    ours = (0.7, 0.72, 0.74, 0.71, 0.73)
    theirs = [a + b for a, b in zip(ours, shift, strict=True)]
    runs = [*seeds("acprop", ours), *seeds("adam", theirs)]
    others = [r for o in ("sgd", "adamw", "radam") for r in seeds(o, ours[::-1])]
    assert rows(runs)[1]["verdict"] == "better"
    after = rows([*runs, *others])[1]["verdict"]
    assert after == "no difference shown after correction"


def test_a_table_marks_runs_that_no_commit_holds():
    unclean = {"adam": "abc-dirty", "sgd": ""}
    runs = [replace(r, commit=unclean.get(r.optimizer, "abc")) for r in COMPARED]
    found = gather(study(runs), runs)
    table = study_table(found)
    runs = table.columns.index("runs")
    assert [row[runs] for row in table.rows] == ["5", "5†", "5†"]
    note = table.caption[table.caption.index("†") :]
    assert note.endswith(
        ": 5 with changes not committed, 5 with no commit known, of 15 runs."
    )
    assert "†" not in study_table(gather(study(COMPARED), COMPARED)).caption


def test_two_methods_of_one_optimizer_are_two_rows():
    """default/gpt-bytes has NAdam with and without its decay of momentum."""
    runs = [*seeds("nadam", (0.5, 0.6)), *seeds("nadam", (0.7, 0.8), momentum_decay=0)]
    assert [row["optimizer"] for row in rows(runs)] == [
        "NAdam",
        "NAdam, momentum_decay = 0",
    ]


def test_runs_that_were_lost_are_said():
    runs = with_status(seeds("adam", (0.5, 0.6, 0.7)), 1, "diverged")
    assert rows(runs)[0]["runs"] == "2 of 3 finished: 1 diverged"


def test_an_arm_without_a_result_has_a_row():
    runs = [run("sgd", status="diverged"), run("acprop")]
    sgd = rows(runs)[0]
    assert sgd["test accuracy, %"] == "–"
    assert sgd["verdict"] == "no seed finished in both"


GRID = [
    *seeds("adam", (0.6, 0.6), lr=0.1, eps=1e-8),
    *seeds("adam", (0.7, 0.7), lr=0.2, eps=1e-8),
]


def test_the_table_of_a_heat_map_has_validations_choice_and_says_so():
    (row,) = rows(GRID, "heatmap", ("lr", "eps"), make=settings_table)
    assert row["settings"] == "lr = 0.2, eps = 1e-08"
    assert row["validation accuracy, %"].startswith("70.00")
    table = study_table(gather(study(GRID, "heatmap", ("lr", "eps")), GRID))
    assert "Settings chosen by validation accuracy alone" in table.caption


def test_every_setting_is_a_row_of_the_whole_table():
    found = rows(GRID, make=partial(settings_table, every=True))
    assert [row["settings"] for row in found] == ["lr = 0.1", "lr = 0.2"]
    assert found[0]["test accuracy, %"].startswith("50.00")


def test_arms_are_compared_at_the_same_place_of_the_axes():
    runs = [
        run(o, s, (v + d,), lr=lr)
        for o, d in (("acprop", 0.0), ("adam", -0.1))
        for lr, v in ((0.1, 0.5), (0.2, 0.9))
        for s in range(2)
    ]
    found = rows(runs, axes=("lr",))
    assert [row[DIFFERENCE][:6] for row in found[2:]] == ["−10.00", "−10.00"]


def test_an_arm_without_a_reference_at_its_place_is_none_itself():
    places = (("acprop", 0.1), ("adam", 0.1), ("adam", 0.2))
    runs = [run(o, s, (0.5 + s / 9,), lr=lr) for o, lr in places for s in range(2)]
    found = [row[DIFFERENCE] for row in rows(runs, axes=("lr",))]
    assert [found[0], found[2]] == ["reference", "–"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.1234, 0.1334), "0.1284 ± 0.0071 [0.0649, 0.1919]"),
        ((1.0e-8, 1.2e-8), "1.1e−08 ± 1.41e−09 [−1.71e−09, 2.37e−08]"),
        ((0.5,), "0.5"),
        ((0.5, 0.5), "0.5 ± 0 [0.5, 0.5]"),
        ((math.nan,), "–"),
    ],
)
def test_numbers_have_the_digits_that_their_spread_allows(values, words):
    assert plain(summary_words("train_loss", summarize(values))) == words


def test_without_runs_there_is_nothing_to_say():
    nothing = gather(study([]), [])
    assert study_table(nothing).rows == ()


def test_markdown_has_the_same_cells():
    table = study_table(gather(study(COMPARED), COMPARED))
    lines = markdown(table).splitlines()
    assert len(lines) == 2 + len(table.rows)
    assert f"| {DIFFERENCE} | verdict | p (Holm) | runs |" in lines[0]
    assert lines[2] == "| " + " | ".join(table.rows[0]) + " |"
