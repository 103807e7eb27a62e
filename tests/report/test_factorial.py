"""Effects of a factorial design: found where they are, and not where they are not."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from acprop.bench.studies import study_folder
from acprop.records import RunRecord, RunStatus
from acprop.report.factorial import (
    FACTORS,
    effect_bars,
    effect_line,
    effect_table,
    factor_effects,
)
from acprop.report.figures import draw
from acprop.report.studies import gather
from acprop.report.variants import corner_words

STUDY = study_folder(Path(__file__).parents[2] / "studies").study("factorial/vgg-plain")
PLANNED = STUDY.planned("small")[::3]  # one learning rate of each corner


@cache
def corners(centering=0.0, pair=0.0, noise=0.002, failed=-1):
    """Accuracies with an effect of centering, and one of it together with the delay."""
    rng = np.random.default_rng(1)
    records = []
    for i, plan in enumerate(PLANNED):
        spec, given = plan.spec, plan.spec.settings
        signs = [1 if given["centered"] else -1, 1 if given["delay"] else -1]
        value = 0.5 + centering / 2 * signs[0] + pair / 2 * signs[0] * signs[1]
        value += noise * rng.normal()
        status = RunStatus.DIVERGED if i == failed else RunStatus.DONE
        entry = {} if i == failed else {"test_accuracy": float(value)}
        records.append(
            RunRecord(
                run=spec.id, study=STUDY.name, optimizer=spec.optimizer, settings=given,
                study_settings=plan.study_settings, seed=1, scale="small",
                spec=spec.plain(), status=status, history=(entry,), final=entry,
                wall_seconds=1.0, commit="abc", machine={}, data={},
            )
        )  # fmt: skip
    about = STUDY.record("small", [record.run for record in records], [])
    return gather(replace(about, metrics=("test_accuracy",)), records)


def test_an_effect_is_the_mean_over_plus_less_that_over_minus():
    found = corners(centering=0.04, pair=0.03)
    by_name = {effect.name: effect for effect in factor_effects(found)}
    plus = [a for a in found.arms if a.settings["centered"]]
    minus = [a for a in found.arms if not a.settings["centered"]]
    means = [
        np.mean([a.runs[0].final["test_accuracy"] for a in s]) for s in (plus, minus)
    ]
    effect = by_name["centering"]
    assert effect.mean == pytest.approx(100 * (means[0] - means[1]))
    assert effect.low < 4 < effect.high
    assert by_name["centering × delay"].mean == pytest.approx(3, abs=0.4)


def test_only_the_factor_that_matters_is_shown():
    shown = [e.name for e in factor_effects(corners(centering=0.04)) if e.is_shown]
    assert shown == ["centering"]
    assert not any(e.is_shown for e in factor_effects(corners()))


def test_all_factors_and_the_clear_pairs_are_told_apart():
    """Seven, and 21 pairs less the six among D, E, F and G."""
    made = factor_effects(corners())
    assert [e.name for e in made[:7]] == [factor.label for factor in FACTORS]
    assert sum(e.is_pair for e in made) == 15


def test_a_corner_that_failed_has_the_worst_value():
    whole, broken = corners(centering=0.2), corners(centering=0.2, failed=31)
    assert PLANNED[31].spec.settings["centered"]
    before, after = (factor_effects(some)[0].mean for some in (whole, broken))
    assert before - 2 < after < before


def test_without_all_corners_there_is_no_effect():
    found = corners()
    assert factor_effects(replace(found, arms=found.arms[:20])) == []
    assert effect_bars(replace(found, arms=())) == []


def test_the_figure_and_the_table_show_the_factors(tmp_path):
    found = corners(centering=0.04, pair=0.03)
    (bars,) = effect_bars(found)
    assert [bar.label for bar in bars.bars] == [factor.label for factor in FACTORS]
    draw([bars], tmp_path / "effects.svg")
    table = effect_table(found)
    assert [row[0] for row in table.rows][7] == "centering × delay"
    assert [row[3] for row in table.rows if row[3]] == ["shown"]


def test_the_page_leads_with_the_factors_that_matter():
    line = effect_line(corners(centering=0.04))
    assert line.word == "effects shown"
    assert line.text.startswith(
        "Of 7 factors, an effect on test accuracy is shown of 1: centering +3.9"
    )
    assert "Not shown: delay; average, after dividing; look-ahead;" in line.text
    assert effect_line(corners()).word == "no effect shown"


def test_a_corner_is_called_by_the_method_that_it_is():
    """Of 32 corners none has the name of another."""

    def name(settings):
        apart = {"beta2": str(settings["beta2"]), "start": settings["start"]}
        return corner_words(settings, apart)

    names = [name(plan.spec.settings) for plan in PLANNED]
    assert names[0] == "Adam, start = first"
    assert len(set(names)) == 32
    adopt = {"centered": False, "delay": 1, "average": "after", "nesterov": False}
    assert name(adopt | {"beta2": 0.9999, "start": "first"}) == "ADOPT"
    assert (
        name(adopt | {"beta2": 0.999, "start": "corrected"})
        == "ADOPT, beta2 = 0.999, start = corrected"
    )
    ours = {"centered": True, "nesterov": True, "beta2": 0.999, "start": "corrected"}
    assert name(adopt | ours) == "ACProp with an average, look-ahead"
