"""Where optimizers converge, on the (β2, P) plane, and the border in the limit on top.

There are two questions about each cell, so there are four outcomes: has it converged at
this horizon, and does the drift point to x* as t → ∞?

β2 is drawn as 1 - β2 on a logarithmic axis that runs backwards, so that β2 → 1 lies to
the right; the ticks are labelled in β2.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Sequence
from math import log10
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from acprop.checks import UserError
from acprop.records import Boundary, Cell, Region
from acprop.report.style import (
    INK,
    PAPER,
    Floats,
    display,
    edges,
    is_wide,
    label_outer,
    legend_below,
    panels,
    percent,
    plain,
)

Point = tuple[float, float]  # 1 - β2, P

LOG_PERIOD_SPAN = 20
FEW_PERIODS = 5  # so few that each has its tick
# Crossings of two neighbouring periods are one branch up to this distance, in decades
# of 1 - β2; the synchronous threshold 4/P² moves by 0.6 when P doubles.
MAX_JUMP = 0.7


class CellOutcome(NamedTuple):
    """How it is drawn; one with an edge is outlined, cell by cell."""

    label: str
    colour: str
    edge: str | None = None


# Green and red as on a traffic light, one bright and one dark for colour-blind readers,
# and far from every optimizer's own colour.
CONVERGES, DIVERGES = "#7CCB35", "#C8102E"
# By (converged at this horizon, drift points to x*).
OUTCOMES = {
    (True, True): CellOutcome("converged", CONVERGES),
    (False, True): CellOutcome("undecided at this horizon", "#A6A6A6"),
    (False, False): CellOutcome("wrong drift: diverges", DIVERGES),
    (True, False): CellOutcome("converged against the drift", "#8033FF", edge=INK),
}


def outcome(cell: Cell) -> tuple[bool, bool]:
    """Has it converged at this horizon, and does it in the limit?"""
    return cell.finite == "converged", cell.asymptotic == "converges"


def draw_regions(records: Sequence[Region | Boundary], title: str | None) -> Figure:
    """One panel for each region, with its border; or for each border, if alone."""
    regions = [record for record in records if isinstance(record, Region)]
    boundaries = [record for record in records if isinstance(record, Boundary)]
    _check(regions, boundaries)
    subjects = regions or boundaries
    figure, axes = panels(len(subjects))
    same, titles = _titles(subjects)
    for ax, subject, text in zip(axes, subjects, titles, strict=True):
        _set_plane(ax, *_places(subject))
        ax.set_title(plain(text), fontsize=8.5)  # at 9, long ones would touch
        if isinstance(subject, Region):
            _draw_cells(ax, subject)
        borders = [b for b in boundaries if _key(b) == _key(subject)]
        own = [b for b in borders if b.convention == subject.convention]
        for border in own or borders:
            _draw_border(ax, border)
    label_outer(axes, "β₂", "period P")
    figure.suptitle(plain(same if title is None else title))
    legend_below(figure, _handles(regions, any(map(_points, boundaries))))
    return figure


def beta2_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks of 1 - β2 between low and high, labelled in β2: 0.1, 0.9, 0.99, …"""
    low, high = low * (1 - 1e-9), high * (1 + 1e-9)  # 1 - 0.8 is a little below 0.2
    if log10(high / low) < 1.5:
        values = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(1 - high, 1 - low)
        return [(1 - v, f"{v:.10g}") for v in values if low <= 1 - v <= min(high, 1)]
    powers = [k for k in range(1, 17) if low <= 10.0**-k <= high]
    every = 1 + (len(powers) - 1) // 5
    ticks = [
        (10.0**-k, f"{1 - 10.0**-k:.{k}f}" if k <= 4 else f"$1-10^{{-{k}}}$")
        for k in powers[::every]
    ]
    return [(0.9, "0.1"), *ticks] if high >= 0.9 else ticks


def branches(boundary: Boundary) -> list[list[Point]]:
    """The crossings in runs that belong together.

    The k-th crossings of neighbouring periods are one branch if both periods have
    equally many, the drift has the same sign below them, and they are close. Else a
    pocket has opened or closed between the two, and a line would be a guess.
    """
    found: list[list[Point]] = []
    before: list[list[Point]] = []
    lowest = ""
    for crossing in sorted(boundary.crossings, key=lambda c: c.period):
        points = [(1 - b, float(crossing.period)) for b in sorted(crossing.beta2)]
        is_alike = crossing.lowest == lowest and len(points) == len(before)
        now: list[list[Point]] = []
        for k, point in enumerate(points):
            if is_alike and abs(log10(point[0] / before[k][-1][0])) <= MAX_JUMP:
                before[k].append(point)
                now.append(before[k])
            else:
                now.append([point])
                found.append(now[-1])
        lowest, before = crossing.lowest, now
    return found


def _check(regions: Sequence[Region], boundaries: Sequence[Boundary]) -> None:
    for record in (*regions, *boundaries):
        if wrong := [1 - rest for rest, _ in _points(record) if not 0 < rest <= 1]:
            raise UserError(f"beta2 must be in [0, 1), got {wrong[0]:g}")
    if not all(region.cells for region in regions):
        raise UserError("cells must be one or more, got none; leave the region out")
    if not regions and not all(map(_points, boundaries)):
        raise UserError(
            "crossings must have one beta2 or more, got none; "
            "draw the boundary with its region"
        )
    known = [_key(region) for region in regions or boundaries]
    if lost := [_key(b) for b in boundaries if _key(b) not in known]:
        raise UserError(
            "boundary must have a region of its optimizer, problem and beta1, "
            f"got {', '.join(map(str, lost[0]))}; draw it on its own"
        )


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
    finite, limit = (
        percent(sum(outcome(c)[question] for c in region.cells), n)
        for question in (0, 1)
    )
    return f"\n{finite} converge in {region.steps:,} steps, {limit} in the limit"


def _points(record: Region | Boundary) -> list[Point]:
    if isinstance(record, Region):
        return [(1 - c.beta2, float(c.period)) for c in record.cells]
    return [(1 - b, float(c.period)) for c in record.crossings for b in c.beta2]


def _places(record: Region | Boundary) -> tuple[Floats, Floats]:
    """The different 1 - β2 and periods, ascending."""
    rest, periods = zip(*_points(record), strict=True)
    return np.unique(rest), np.unique(periods)


def _grid_edges(rest: Floats, periods: Floats) -> tuple[Floats, Floats]:
    """Where the cells around these 1 - β2 and periods meet."""
    is_log = is_wide(periods, LOG_PERIOD_SPAN)
    down = 10 ** edges(np.log10(periods)) if is_log else edges(periods)
    return 10 ** edges(np.log10(rest)), down


def _set_plane(ax: Axes, rest: Floats, periods: Floats) -> None:
    """Scale, limit and label the axes for these 1 - β2 and periods."""
    x, y = _grid_edges(rest, periods)
    ax.set_xscale("log")
    ax.set_xlim(x[-1], x[0])
    ticks = beta2_ticks(x[0], x[-1])
    if len(rest) == 1:
        ticks = [(rest[0], f"{1 - rest[0]:.10g}")]
    ax.set_xticks(*zip(*ticks, strict=True))
    ax.xaxis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=20))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(y[0], y[-1])
    if is_wide(periods, LOG_PERIOD_SPAN):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=20))
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_minor_formatter(NullFormatter())
    elif len(periods) <= FEW_PERIODS:
        ax.set_yticks(periods)
    else:
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))


def _draw_cells(ax: Axes, region: Region) -> None:
    rest, periods = _places(region)
    x, y = _grid_edges(rest, periods)
    order = list(OUTCOMES)
    image = np.full((len(periods), len(rest)), np.nan)
    outlined: list[list[Point]] = []
    for cell in region.cells:
        i = np.searchsorted(periods, cell.period)
        j = np.searchsorted(rest, 1 - cell.beta2)
        image[i, j] = order.index(outcome(cell))
        if OUTCOMES[outcome(cell)].edge:  # not to be lost among thousands
            (left, right), (low, high) = x[j : j + 2], y[i : i + 2]
            outlined.append([(left, low), (right, low), (right, high), (left, high)])
    ax.pcolormesh(
        x,
        y,
        np.ma.masked_invalid(image),
        cmap=ListedColormap([one.colour for one in OUTCOMES.values()]),
        norm=BoundaryNorm(np.arange(len(order) + 1) - 0.5, len(order)),
        rasterized=True,
    )
    outlines = PolyCollection(outlined, facecolors="none", edgecolors=INK)
    outlines.set_linewidth(0.4)
    ax.add_collection(outlines, autolim=False)


def _draw_border(ax: Axes, boundary: Boundary) -> None:
    """Branches as curves, and crossings without a neighbour as dots."""
    halo = [withStroke(linewidth=2.6, foreground=PAPER)]
    for branch in branches(boundary):
        x, y = zip(*branch, strict=True)
        dot = "." if len(branch) == 1 else ""
        ax.plot(x, y, "-", marker=dot, color=INK, path_effects=halo, zorder=4)


def _handles(regions: Sequence[Region], has_border: bool) -> list[Artist]:
    """The legend: the outcomes that occur, and the border."""
    seen = {outcome(cell) for region in regions for cell in region.cells}
    handles: list[Artist] = [
        Patch(fc=one.colour, ec=one.edge or one.colour, label=one.label)
        for which, one in OUTCOMES.items()
        if which in seen
    ]
    border = Line2D([], [], color=INK, label="border in the limit")
    return [*handles, border] if has_border else handles
