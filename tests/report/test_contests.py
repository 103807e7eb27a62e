"""Tables and figures of a study by the ruleset default or tuned."""

from dataclasses import replace

import numpy as np
import pytest

from acprop.records import RunStatus
from acprop.report.collect import Content
from acprop.report.figures import draw
from acprop.report.site import write_site
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures
from acprop.report.tables import settings_table, study_table, trial_table

from .made_runs import run, seeds, study, with_status

TEN = np.random.default_rng(0).normal(0.8, 0.01, size=10)
DRIFT = 0.0005 * np.arange(10)
WINNER = {"acprop": 0.01, "adam": 0.1, "sgd": 0.5}


def timed(history):
    return tuple({**e, "step": 20 * e["epoch"], "wall_seconds": 0.5} for e in history)


def tuned(name="vgg"):
    """Three contestants: Adam is worse, SGD failed twice; two trials each."""
    finals = {
        "acprop": seeds("acprop", TEN, lr=0.01),
        "adam": seeds("adam", TEN - 0.02 + DRIFT),
        "sgd": with_status(
            with_status(seeds("sgd", TEN + 0.01 + DRIFT, lr=0.5), 3, "diverged"),
            5, "error", "MemoryError: out of memory",
        ),
    }  # fmt: skip
    trials, runs = [], []
    for who in finals:
        for number, (lr, value) in enumerate([(WINNER[who], 0.9), (2.0, 0.5)]):
            made = [
                replace(run(who, seed, (0.2, value), lr=lr), ruleset="tuned")
                for seed in (100, 101)
            ]
            if (who, number) == ("sgd", 1):
                made[0] = replace(made[0], status=RunStatus.DIVERGED)
            runs += made
            trials.append({
                "contestant": who, "number": number, "settings": {"lr": lr},
                "runs": [r.run for r in made],
            })  # fmt: skip
    runs += [replace(r, ruleset="tuned") for some in finals.values() for r in some]
    runs = [replace(r, study=name, history=timed(r.history)) for r in runs]
    record = replace(
        study([r for some in finals.values() for r in some], name=name),
        ruleset="tuned",
        contestants={who: [r.run for r in some] for who, some in finals.items()},
        target=0.75,
        tuning={
            "space": "wide-1", "metric": "val_accuracy", "seeds": [100, 101],
            "n_trials": 2, "trials": trials,
        },
    )  # fmt: skip
    return record, runs


FOUND = gather(*tuned())


def cells(table, column):
    (i,) = [i for i, name in enumerate(table.columns) if column in name]
    return {row[0]: row[i] for row in table.rows}


def test_every_contestant_has_a_row_with_interval_correction_and_verdict():
    table = study_table(FOUND)
    assert cells(table, "verdict") == {
        "ACProp (default)": "–",
        "Adam": "worse",
        "SGD": "no difference shown: of the better one more runs failed",
    }
    assert cells(table, "difference")["ACProp (default)"] == "reference"
    assert cells(table, "difference")["Adam"].startswith("−1.7")
    assert "[" in cells(table, "difference")["Adam"]
    assert cells(table, "Holm")["Adam"] == "< 0.001"
    assert "the winner of equally many trials" in table.caption


def test_failures_of_trials_and_runs_are_counted_by_kind():
    table = study_table(FOUND)
    assert cells(table, "trials") == {
        "ACProp (default)": "2",
        "Adam": "2",
        "SGD": "2, 1 failed",
    }
    assert cells(table, "runs")["SGD"] == "8 of 10 finished: 1 diverged, 1 error"


def test_the_winners_settings_are_in_a_table_of_their_own():
    table = trial_table(FOUND)
    assert cells(table, "lr") == {
        "ACProp (default)": "0.01",
        "Adam": "0.1",
        "SGD": "0.5",
    }
    assert cells(table, "trials")["SGD"] == "2, 1 failed"
    assert set(cells(table, "winner's").values()) == {"90.00"}
    assert "2 trials for each, scrambled Sobol points" in table.caption


def test_a_target_has_a_column_that_counts_who_reaches_it():
    goal = "steps and seconds to 75.00 validation accuracy"
    found = cells(settings_table(FOUND), goal)
    assert found["ACProp (default)"] == "40 steps, 1.00 s (10 of 10 runs)"
    assert found["SGD"].endswith("(8 of 10 runs)")


def test_trials_are_in_no_arm_and_all_of_them_in_the_figure():
    assert len(FOUND.trials) == 12
    assert len(FOUND.arms) == 3
    (points,) = study_figures(FOUND)["points"]
    assert points.drawn == "points"
    assert [line.label for line in points.lines] == [
        "ACProp (default)", "Adam", "SGD, 1 of 2 without a value",
    ]  # fmt: skip
    assert points.lines[0].x == (0.01, 2.0)
    assert points.lines[0].y == pytest.approx((90, 50))


def test_the_points_can_be_drawn(tmp_path):
    draw(study_figures(FOUND)["points"], tmp_path / "points.svg")
    assert (tmp_path / "points.svg").stat().st_size > 1000


def test_variants_of_one_optimizer_are_told_apart_in_figures():
    record, runs = tuned()
    renamed = dict(record.contestants)
    renamed["acprop convention=authors"] = renamed.pop("adam")
    authors = {"optimizer": "acprop", "settings": {"lr": 0.1, "convention": "authors"}}
    other = [replace(r, **{"adam": authors}.get(r.optimizer, {})) for r in runs]
    found = gather(replace(record, contestants=renamed), other)
    labels = {line.label for line in study_figures(found)["curves"][0].lines}
    assert {"ACProp (default)", "ACProp (paper), authors' code"} <= labels


def test_the_page_shows_tables_and_figures(tmp_path):
    two = [tuned("vgg"), tuned("other")]
    write_site(tmp_path, Content(studies=two), about={})
    text = "".join(page.read_text("utf-8") for page in tmp_path.rglob("*.html"))
    assert text.count("p (Holm)") >= 2
    assert "studies/vgg-smoke-tuned-points.svg" in text
    assert "1 run error: MemoryError: out of memory" in text
