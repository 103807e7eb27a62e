"""Where optimizers converge, and the border in the limit on top.

There are two questions about each cell, so there are four outcomes: has it converged at
this horizon, and does the drift point to x* as t → ∞?
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from acprop.checks import UserError
from acprop.records import Boundary, Cell, Region
from acprop.report.plane import draw_border, grid_edges, set_plane
from acprop.report.style import (
    INK,
    Floats,
    display,
    label_outer,
    legend_below,
    panels,
    percent,
    plain,
)

MAX_MARKS = 50 * 50  # more would touch each other at three panels in a row
MAX_VECTOR_MARKS = 300  # more are pixels in an SVG, where each would be 100 bytes
BORDER = "border in the limit"


@dataclass(frozen=True, slots=True)
class Mark:
    """How one outcome is drawn; `size` is relative to the cell."""

    label: str
    colour: str
    marker: str
    size: float
    edge: str | None = None

    @property
    def edge_width(self) -> float:
        """Points; a plus is nothing but edge."""
        return 1.2 if self.edge is None else 0.5


# Green and red as on a traffic light, one bright and one dark for colour-blind readers,
# and far from every optimizer's own colour.
CONVERGES, DIVERGES = "#7CCB35", "#C8102E"
# By (converged at this horizon, drift points to x*); plus and circle as in the paper.
MARKS = {
    (True, True): Mark("converged", CONVERGES, "+", 0.8),
    (False, True): Mark("undecided at this horizon", "#A6A6A6", "s", 0.4),
    (False, False): Mark("wrong drift: diverges", DIVERGES, "o", 0.5),
    (True, False): Mark("converged against the drift", "#8033FF", "*", 1.5, edge=INK),
}


def outcome(cell: Cell) -> tuple[bool, bool]:
    """Has it converged at this horizon, and does it in the limit?"""
    return cell.finite == "converged", cell.asymptotic == "converges"


def draw_regions(
    regions: Sequence[Region], boundaries: Sequence[Boundary], title: str | None
) -> Figure:
    """One panel for each region, with its border; or for each border, if alone."""
    for record in (*regions, *boundaries):
        _check(record)
    overlays = _match(regions, boundaries)
    subjects = regions or boundaries
    figure, axes = panels(len(subjects))
    as_image = any(len(r.cells) > MAX_MARKS for r in regions)
    same, titles = _titles(subjects)
    for ax, subject, text in zip(axes, subjects, titles, strict=True):
        set_plane(ax, *_places(subject))
        ax.set_title(plain(text), fontsize=8.5)  # at 9, long ones would touch
    for ax, region in zip(axes, regions, strict=False):
        (_draw_image if as_image else _draw_marks)(ax, region)
    for ax, borders in zip(axes, overlays, strict=True):
        for border in borders:
            draw_border(ax, border)
    label_outer(axes, "β₂", "period P")
    figure.suptitle(plain(same if title is None else title))
    legend_below(figure, _handles(regions, any(map(_points, boundaries)), as_image))
    return figure


def _check(record: Region | Boundary) -> None:
    places = _points(record)
    for rest, _ in places:
        if not 0 < rest <= 1:
            raise UserError(f"beta2 must be in [0, 1), got {1 - rest:g}")
    if isinstance(record, Boundary):
        return
    if not places:
        raise UserError("cells must be one or more, got none; leave the region out")
    if len(set(places)) < len(places):
        n_again = len(places) - len(set(places))
        raise UserError(
            f"cells must be at different (period, beta2), got {n_again} a second time"
        )


def _match(
    regions: Sequence[Region], boundaries: Sequence[Boundary]
) -> list[list[Boundary]]:
    """The borders of each panel; of the same convention, if there is one."""
    if not regions:
        if not all(_points(boundary) for boundary in boundaries):
            raise UserError(
                "crossings must have one beta2 or more, got none; "
                "draw the boundary with its region"
            )
        return [[boundary] for boundary in boundaries]
    overlays = [[b for b in boundaries if _key(b) == _key(r)] for r in regions]
    for boundary in boundaries:
        if not any(boundary in overlay for overlay in overlays):
            raise UserError(
                "boundary must have a region of its optimizer, problem and beta1, "
                f"got {', '.join(map(str, _key(boundary)))}; draw it on its own"
            )
    return [
        [b for b in overlay if b.convention == region.convention] or overlay
        for region, overlay in zip(regions, overlays, strict=True)
    ]


def _key(record: Region | Boundary) -> tuple[str, str, float]:
    return record.optimizer, record.problem, record.beta1


def _titles(subjects: Sequence[Region | Boundary]) -> tuple[str, list[str]]:
    """What all panels have in common, and of each its name, its own and its shares."""
    settings = [
        (f"{s.problem} problem", f"β₁ = {s.beta1:g}", f"{s.convention} convention")
        for s in subjects
    ]
    same = [column[0] for column in zip(*settings, strict=True) if len(set(column)) < 2]
    titles = [
        ", ".join([display(s.optimizer), *(t for t in own if t not in same)])
        + (_shares(s) if isinstance(s, Region) else "")
        for s, own in zip(subjects, settings, strict=True)
    ]
    return ", ".join(same), titles


def _shares(region: Region) -> str:
    n = len(region.cells)
    finite = percent(sum(outcome(c)[0] for c in region.cells), n)
    limit = percent(sum(outcome(c)[1] for c in region.cells), n)
    return f"\n{finite} converge in {region.steps:,} steps, {limit} in the limit"


def _points(record: Region | Boundary) -> list[tuple[float, float]]:
    """Every (1 - β2, P) of a record."""
    if isinstance(record, Region):
        return [(1 - c.beta2, float(c.period)) for c in record.cells]
    return [(1 - b, float(c.period)) for c in record.crossings for b in c.beta2]


def _places(record: Region | Boundary) -> tuple[Floats, Floats]:
    """The different 1 - β2 and periods, ascending."""
    rest, periods = zip(*_points(record), strict=True)
    return np.unique(rest), np.unique(periods)


def _draw_marks(ax: Axes, region: Region) -> None:
    rest, periods = _places(region)
    # A panel is about 200 points wide and high.
    cell_points = min(200 / max(len(rest), len(periods)), 10.0)
    for which, mark in MARKS.items():
        cells = [c for c in region.cells if outcome(c) == which]
        if cells:
            ax.scatter(
                [1 - c.beta2 for c in cells],
                [c.period for c in cells],
                s=(mark.size * cell_points) ** 2,
                c=mark.colour,
                marker=mark.marker,
                edgecolors=mark.edge,
                linewidths=mark.edge_width,
                label=mark.label,
                zorder=3 if mark.edge else 2,
                rasterized=len(region.cells) > MAX_VECTOR_MARKS,
            )


def _draw_image(ax: Axes, region: Region) -> None:
    rest, periods = _places(region)
    order = list(MARKS)
    image = np.full((len(periods), len(rest)), np.nan)
    for cell in region.cells:
        i = np.searchsorted(periods, cell.period)
        image[i, np.searchsorted(rest, 1 - cell.beta2)] = order.index(outcome(cell))
    x, y = grid_edges(rest, periods)
    ax.pcolormesh(
        x,
        y,
        np.ma.masked_invalid(image),
        cmap=ListedColormap([mark.colour for mark in MARKS.values()]),
        norm=BoundaryNorm(np.arange(len(order) + 1) - 0.5, len(order)),
        rasterized=True,
    )
    for k, mark in enumerate(MARKS.values()):
        if mark.edge:  # a lone cell should not be lost among thousands
            corners = [
                [(x[j], y[i]), (x[j + 1], y[i]), (x[j + 1], y[i + 1]), (x[j], y[i + 1])]
                for i, j in np.argwhere(image == k)
            ]
            outlines = PolyCollection(corners, facecolors="none", linewidths=0.4)
            outlines.set_edgecolor(mark.edge)
            ax.add_collection(outlines, autolim=False)


def _handles(
    regions: Sequence[Region], has_border: bool, as_image: bool
) -> list[Artist]:
    """The legend: the outcomes that occur, and the border."""
    seen = {outcome(cell) for region in regions for cell in region.cells}
    handles: list[Artist] = []
    for mark in (mark for which, mark in MARKS.items() if which in seen):
        edge = mark.edge or mark.colour
        if as_image:
            handles.append(Patch(fc=mark.colour, ec=edge, label=mark.label))
        else:
            line = Line2D([], [], ls="", marker=mark.marker, color=mark.colour)
            line.set(label=mark.label, markersize=9 * mark.size**0.5)
            line.set(markeredgecolor=edge, markeredgewidth=mark.edge_width)
            handles.append(line)
    if has_border:
        handles.append(Line2D([], [], color=INK, label=BORDER))
    return handles
