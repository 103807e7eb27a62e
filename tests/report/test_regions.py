from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from acprop.report.figures import figure
from acprop.report.regions import CONVERGES, DIVERGES, MARKS, MAX_MARKS
from acprop.report.style import CYCLE, INK, OPTIMIZERS

from .made import BETA2, boundary, cell, region

BORDER = boundary([(3, "diverges", (0.6,)), (4, "diverges", (0.7,))])


def points(ax):
    """What is drawn where: {label of the marks: {(1 - β2, P)}}."""
    return {
        marks.get_label(): {(x, y) for x, y in marks.get_offsets().tolist()}
        for marks in ax.collections
    }


@pytest.mark.parametrize(
    ("finite", "asymptotic", "colour", "marker"),
    [
        ("converged", "converges", CONVERGES, "+"),
        ("not converged", "diverges", DIVERGES, "o"),
        ("undecided", "converges", "#A6A6A6", "s"),
        ("converged", "diverges", "#8033FF", "*"),
    ],
)
def test_every_verdict_has_its_mark(finite, asymptotic, colour, marker):
    """Fig. 1 of the paper: a plus converges, a circle diverges."""
    fig = figure([region(cells=[cell(3, 0.5, finite, asymptotic)])])
    (marks,) = fig.axes[0].collections
    assert points(fig.axes[0])[marks.get_label()] == {(0.5, 3)}
    assert to_hex(marks.get_facecolor()[0]).upper() == colour
    (handle,) = fig.legends[0].legend_handles
    assert (handle.get_marker(), handle.get_label()) == (marker, marks.get_label())
    assert to_hex(handle.get_color()).upper() == colour


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
    found = [seen(mark.colour, eyes) for mark in MARKS.values()]
    gaps = [np.linalg.norm(a - b) for a, b in combinations(found, 2)]
    assert min(gaps) > 20


@pytest.mark.parametrize("colour", [CONVERGES, DIVERGES])
def test_a_verdict_has_no_optimizers_colour(colour):
    others = {c for _, c in OPTIMIZERS.values()} | set(CYCLE)
    assert min(np.linalg.norm(seen(colour) - seen(other)) for other in others) > 20


def test_marks_stand_where_their_cells_are():
    cells = [
        cell(3, 0.5),
        cell(3, 0.75, "not converged", "diverges"),
        cell(4, 0.5, "undecided"),
        cell(4, 0.75, "converged", "diverges"),
        cell(5, 0.75),
    ]
    assert points(figure([region(cells=cells)]).axes[0]) == {
        "converged": {(0.5, 3), (0.25, 5)},
        "wrong drift: diverges": {(0.25, 3)},
        "undecided at this horizon": {(0.5, 4)},
        "converged against the drift": {(0.25, 4)},
    }


def test_a_large_plane_is_an_image_with_the_same_colours():
    beta2 = [1 - 0.9**k for k in range(1, 61)]
    cells = [cell(p, b) for p in range(3, 63) for b in beta2]
    cells[1] = cell(3, beta2[1], "not converged", "diverges")
    cells[60] = cell(4, beta2[0], "converged", "diverges")
    del cells[-1]
    assert len(cells) > MAX_MARKS
    mesh, outlines = figure([region(cells=cells)]).axes[0].collections
    image = mesh.get_array()
    colours = [mark.colour for mark in MARKS.values()]
    shown = {
        (i, j): to_hex(mesh.to_rgba(image[i, j])).upper()
        for i, j in [(0, -1), (0, -2), (1, -1)]
    }
    # 1 - β2 ascends, so the first β2 is the last column.
    assert shown == {(0, -1): colours[0], (0, -2): colours[2], (1, -1): colours[3]}
    assert image.mask.sum() == 1
    assert image.mask[-1, 0]
    assert len(outlines.get_paths()) == 1


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
