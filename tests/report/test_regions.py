from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from acprop.report.figures import figure
from acprop.report.regions import CONVERGES, DIVERGES, OUTCOMES, beta2_ticks, branches
from acprop.report.style import CYCLE, INK, OPTIMIZERS

from .made import BETA2, boundary, cell, region

BORDER = boundary([(3, "diverges", (0.6,)), (4, "diverges", (0.7,))])


def drawn(ax):
    """{(1 - β2, P): the colour of its cell}."""
    mesh = ax.collections[0]
    image, grid = mesh.get_array(), mesh.get_coordinates()
    inside = {}
    for i, j in np.argwhere(~np.ma.getmaskarray(image)):
        (left, low), (right, high) = grid[i, j], grid[i + 1, j + 1]
        colour = to_hex(mesh.to_rgba(image[i, j])).upper()
        inside[left, low, right, high] = colour
    return inside


def colour_at(ax, rest, period):
    (found,) = [
        colour
        for (left, low, right, high), colour in drawn(ax).items()
        if left < rest < right and low < period < high
    ]
    return found


@pytest.mark.parametrize(
    ("finite", "asymptotic", "colour"),
    [
        ("converged", "converges", CONVERGES),
        ("not converged", "diverges", DIVERGES),
        ("undecided", "converges", "#A6A6A6"),
        ("converged", "diverges", "#8033FF"),
    ],
)
def test_every_verdict_has_its_colour(finite, asymptotic, colour):
    fig = figure([region(cells=[cell(3, 0.5, finite, asymptotic)])])
    assert colour_at(fig.axes[0], 0.5, 3) == colour
    (handle,) = fig.legends[0].legend_handles
    assert to_hex(handle.get_facecolor()).upper() == colour


# Machado et al. 2009: how protanopes, deuteranopes and tritanopes see linear RGB.
EYES = {
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def seen(colour, eyes="all"):
    """CIELAB, in which a distance of 2 can just be told."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array(
        [[0.434, 0.376, 0.190], [0.213, 0.715, 0.072], [0.018, 0.109, 0.873]]
    )
    f = np.cbrt(xyz @ np.clip(EYES[eyes] @ linear, 0, 1))
    return np.array([116 * f[1], 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", EYES)
def test_verdicts_are_told_apart_by_every_eye(eyes):
    found = [seen(mark.colour, eyes) for mark in OUTCOMES.values()]
    gaps = [np.linalg.norm(a - b) for a, b in combinations(found, 2)]
    assert min(gaps) > 20


@pytest.mark.parametrize("colour", [CONVERGES, DIVERGES])
def test_a_verdict_has_no_optimizers_colour(colour):
    others = {c for _, c in OPTIMIZERS.values()} | set(CYCLE)
    assert min(np.linalg.norm(seen(colour) - seen(other)) for other in others) > 20


def test_colours_stand_where_their_cells_are():
    cells = [
        cell(3, 0.5),
        cell(3, 0.75, "not converged", "diverges"),
        cell(4, 0.5, "undecided"),
        cell(4, 0.75, "converged", "diverges"),
        cell(5, 0.75),
    ]
    ax = figure([region(cells=cells)]).axes[0]
    assert len(drawn(ax)) == 5  # and where no cell is, nothing
    assert colour_at(ax, 0.25, 3) == DIVERGES
    assert colour_at(ax, 0.5, 4) == "#A6A6A6"
    assert colour_at(ax, 0.25, 5) == CONVERGES
    assert len(ax.collections[1].get_paths()) == 1  # the rare one is outlined


def test_the_shares_of_both_questions_are_in_the_title():
    cells = [cell(3, b, "undecided") for b in BETA2]
    cells[0] = cell(3, BETA2[0])
    title = figure([region(cells=cells)]).axes[0].get_title()
    assert title == "Adam\n25.0 % converge in 10,000 steps, 100 % in the limit"


def test_what_panels_share_is_said_once():
    fig = figure([region(), region(beta1=0.5)])
    assert fig.get_suptitle() == "dense problem, paper convention"
    assert [ax.get_title().split("\n")[0] for ax in fig.axes] == [
        "Adam, β₁ = 0.9",
        "Adam, β₁ = 0.5",
    ]
    assert len(fig.legends) == 1


def test_a_border_is_a_black_curve_on_its_own_region_only():
    fig = figure([region(), region("rmsprop"), region(beta1=0.5), BORDER])
    first, *others = fig.axes
    (line,) = first.lines
    np.testing.assert_allclose(line.get_xydata(), [[0.4, 3], [0.3, 4]])
    assert line.get_color() == INK
    assert [len(ax.lines) for ax in others] == [0, 0]
    assert fig.legends[0].legend_handles[-1].get_label() == "border in the limit"


def test_a_region_prefers_the_border_of_its_convention():
    other = replace(BORDER, convention="authors", crossings=BORDER.crossings[:1])
    ax = figure([region(), BORDER, other]).axes[0]
    assert [len(line.get_xdata()) for line in ax.lines] == [2]


def test_beta2_approaches_one_on_the_right():
    ax = figure([region()]).axes[0]
    left, right = ax.get_xlim()
    assert left > right
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == [
        "0.1",
        "0.9",
        "0.99",
        "0.999",
    ]
    np.testing.assert_allclose(ax.get_xticks(), [0.9, 0.1, 0.01, 0.001])


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-4, 0.9, ["0.1", "0.9", "0.99", "0.999", "0.9999"]),
        (0.2, 0.9, ["0.2", "0.4", "0.6", "0.8"]),
        (1e-7, 0.1, ["0.9", "0.999", "$1-10^{-5}$", "$1-10^{-7}$"]),
    ],
)
def test_ticks_are_labelled_in_beta2(low, high, labels):
    assert [label for _, label in beta2_ticks(low, high)] == labels


@pytest.mark.parametrize(
    ("periods", "scale"), [((3, 60), "linear"), ((3, 63), "log")], ids=str
)
def test_a_wide_range_of_periods_is_logarithmic(periods, scale):
    cells = [cell(p, b) for p in periods for b in BETA2]
    assert figure([region(cells=cells)]).axes[0].get_yscale() == scale


def test_a_pocket_is_not_joined_to_the_threshold():
    """The k-th crossing of one period need not be the k-th of the next."""
    pocket = (0.1, 0.3)
    crossings = [
        (3, "diverges", (0.6,)),
        (4, "diverges", (0.7,)),
        (5, "diverges", (*pocket, 0.75)),
        (6, "diverges", (*pocket, 0.8)),
        (7, "diverges", (0.85,)),
    ]
    found = [[period for _, period in run] for run in branches(boundary(crossings))]
    assert found == [[3, 4], [5, 6], [5, 6], [5, 6], [7]]


@pytest.mark.parametrize(
    "second",
    [(4, "converges", (0.6,)), (4, "diverges", (0.99,)), (4, "diverges", ())],
    ids=["the other way round", "too far", "none"],
)
def test_crossings_that_do_not_belong_together_are_dots(second):
    crossings = [(3, "diverges", (0.6,)), second]
    lines = figure([region(), boundary(crossings)]).axes[0].lines
    assert [line.get_marker() for line in lines] == ["."] * (1 + len(second[2]))
