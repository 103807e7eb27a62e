import math

import numpy as np
import pytest
from matplotlib.lines import Line2D

from acprop.records import Curves, Line, from_json, to_json
from acprop.report.curves import linear_below
from acprop.report.figures import draw, figure

from .made import curves, named


def test_no_two_lines_look_alike_in_grey_either():
    """The about page: lines that share a figure also differ in dashes or marks."""
    lines = figure([named(*(f"η = {k}" for k in range(24)))]).axes[0].lines
    assert len({x.get_color() for x in lines[:6]}) == 6
    assert len({(str(x._dash_pattern), x.get_marker()) for x in lines}) == 24
    optimizers = (
        figure([named("acprop", "adam", "sgd", "acprop, lr = 1")]).axes[0].lines
    )
    assert len({str(x._dash_pattern) for x in optimizers}) == 4


def test_epochs_are_whole_numbers():
    """There is no epoch 1.25."""
    for last in (1, 2, 3, 8, 200):
        x = range(1, last + 1)
        ax = figure([curves([("adam", x, x)])]).axes[0]
        ticks = ax.get_xticks()
        assert len(ticks) > 0
        assert all(float(tick).is_integer() for tick in ticks)
    ticks = figure([curves([("adam", (0, 0.5), (1, 2))])]).axes[0].get_xticks()
    assert not all(float(tick).is_integer() for tick in ticks)


def test_a_run_that_failed_is_a_cross_at_the_worse_edge():
    """Also at a place where nothing else is, and it stretches no other axis."""
    failed = Line("sgd", (1.0, 2.0), (0.3, 0.4), dots=((2.0, 0.4), (9.0, math.nan)))
    for better, edge in (("higher", 0.0), ("lower", 1.0)):
        record = Curves("vgg", "VGG", "epoch", "y", (failed,), better=better)
        assert math.isnan(from_json(to_json(record)).lines[0].dots[1][1])
        fig = figure([record])
        (ax,) = fig.axes
        assert ax.collections[0].get_offsets().tolist() == [[2.0, 0.4]]
        crosses = ax.lines[-1]
        assert crosses.get_xydata().tolist() == [[9.0, edge]]
        place = crosses.get_transform().transform((9.0, edge))
        assert place[1] == ax.transAxes.transform((0, edge))[1]
        assert ax.get_xlim()[1] > 9
        assert ax.get_ylim()[0] > 0.2
        (legend,) = fig.legends
        assert "a run that failed" in [t.get_text() for t in legend.get_texts()]


@pytest.mark.parametrize("second", ["sgd", "adam"])
def test_one_legend_serves_all_panels(second):
    fig = figure([named("adam", "adam"), named("sgd"), named(second)])
    (legend,) = fig.legends
    assert [t.get_text() for t in legend.get_texts()] == ["adam", "sgd"]
    assert [ax.get_legend() for ax in fig.axes] == [None] * 3


def test_scales_are_the_records():
    line = ("theory", (1.0, 10.0, 100.0), (-1e-3, 0.0, 10.0))
    scaled = curves([line], x_scale="log", y_scale="symlog")
    ax = figure([scaled]).axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "symlog")
    assert ax.yaxis.get_transform().linthresh == linear_below(line[2])


def test_a_symmetrical_log_axis_is_linear_near_the_smallest_values():
    assert linear_below([0.0, -2e-3, 5.0, float("nan")]) == 1e-3
    assert linear_below([1e-30, 1.0]) == 1e-6
    assert linear_below([0.0]) == 1.0


def test_nan_leaves_a_gap_and_draws(tmp_path):
    y = (1.0, float("nan"), 3.0)
    record = curves([("adam", (1.0, 2.0, 3.0), y), ("adam, n = 2", (1, 2, 3), y)])
    draw([record], tmp_path / "gap.png")
    line = figure([record]).axes[0].lines[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False]


def test_zero_leaves_a_gap_on_a_log_scale():
    record = curves([("adam", (1, 2, 3), (1.0, 0.0, 3.0))], y_scale="log")
    ax = figure([record]).axes[0]
    assert ax.yaxis.get_transform()._clip is False


@pytest.mark.parametrize(("n", "is_rasterized"), [(2_000, False), (2_001, True)])
def test_lines_of_many_points_are_pixels(n, is_rasterized):
    (line,) = figure([curves([("adam", range(n), range(n))])]).axes[0].lines
    assert line.get_rasterized() is is_rasterized


def test_the_legend_explains_lines_by_lines():
    (legend,) = figure([named("adam", "sgd")]).legends
    assert [type(handle) for handle in legend.legend_handles] == [Line2D, Line2D]
