"""Bars: as high as the mean, a dot for each seed, an interval where there is one."""

import math

import pytest
from matplotlib.collections import PathCollection

from acprop.records import ArmBar, Bars, from_json, to_json
from acprop.report.figures import draw, figure
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures

from .made_runs import seeds, study, with_status

ADAM = ArmBar("Adam", 2.0, 1.0, 3.0, (1.5, 2.5))
ALONE = ArmBar("ACProp, lr = 0.1", 1.0, math.nan, math.nan, (1.0,))


def test_a_bar_is_the_mean_and_every_seed_has_a_dot():
    ax = figure([Bars("gan", "test fd", "test fd", (ADAM, ALONE))]).axes[0]
    assert [patch.get_height() for patch in ax.patches] == [2.0, 1.0]
    dots = [c for c in ax.collections if isinstance(c, PathCollection)]
    assert [d.get_offsets()[:, 1].tolist() for d in dots] == [[1.5, 2.5], [1.0]]
    assert len(ax.containers) == 3  # two bars, and one interval
    assert ax.get_ylim()[0] == 0
    assert [t.get_text() for t in ax.get_xticklabels()] == ["Adam", "ACProp,\nlr = 0.1"]


def test_a_run_that_failed_is_a_cross_at_the_worse_edge_and_has_no_bar():
    lost = ArmBar("SGD", math.nan, math.nan, math.nan, (math.nan, math.nan))
    for better, edge in (("lower", 1), ("higher", 0)):
        ax = figure([Bars("gan", "t", "y", (ADAM, lost), better=better)]).axes[0]
        (crosses,) = [x for x in ax.lines if x.get_marker() == "X"]
        assert crosses.get_xydata().tolist() == [[0.84, edge], [1.16, edge]]
        place = crosses.get_transform().transform((1, edge))
        assert place[1] == ax.transAxes.transform((0, edge))[1]


def test_bars_survive_their_file_and_have_the_same_bytes(tmp_path):
    bars = Bars("gan", "test fd", "test fd", (ADAM,))
    assert from_json(to_json(bars)) == bars
    for name in ("a.svg", "b.svg"):
        draw([bars], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_no_bars_are_refused():
    with pytest.raises(ValueError, match=r"^bars must be one or more, got none in"):
        figure([Bars("gan", "test fd", "test fd", ())])


def test_a_study_of_bars_has_the_final_values_of_its_arms_and_their_curves():
    lost = with_status(seeds("sgd", (0.5, 0.7)), 1, "diverged")
    runs = [*seeds("acprop", (0.6, 0.8, 0.7)), *lost]
    made = study_figures(gather(study(runs, "bars"), runs))
    (bars,), curves = made["bars"], made["curves"]
    assert [b.label for b in bars.bars] == ["ACProp (default)", "SGD, 1 of 2 diverged"]
    ours, theirs = bars.bars
    assert ours.values == pytest.approx((50, 70, 60))
    assert ours.mean == pytest.approx(60)
    assert ours.low < 50 < 70 < ours.high
    assert theirs.values == pytest.approx((40, math.nan), nan_ok=True)
    assert math.isnan(theirs.low)
    assert [panel.record for panel in curves] == ["curves"]
