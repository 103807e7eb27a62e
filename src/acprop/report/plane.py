"""The (β2, P) plane: its axes, and the border in the limit on it.

β2 is drawn as 1 - β2 on a logarithmic axis that runs backwards, so that β2 → 1 lies to
the right; the ticks are labelled in β2.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from acprop.records import Boundary
from acprop.report.style import INK, PAPER, Floats, edges, is_wide

Point = tuple[float, float]

LOG_PERIOD_SPAN = 20
FEW_PERIODS = 5  # so few that each has its tick
# Crossings of two neighbouring periods are one branch up to this distance, in decades
# of 1 - β2; the synchronous threshold 4/P² moves by 0.6 when P doubles.
MAX_JUMP = 0.7


def grid_edges(rest: Floats, periods: Floats) -> tuple[Floats, Floats]:
    """Where the cells around these 1 - β2 and periods meet."""
    if is_wide(periods, LOG_PERIOD_SPAN):
        return 10 ** edges(np.log10(rest)), 10 ** edges(np.log10(periods))
    return 10 ** edges(np.log10(rest)), edges(periods)


def set_plane(ax: Axes, rest: Floats, periods: Floats) -> None:
    """Scale, limit and label the axes for these 1 - β2 and periods."""
    x, y = grid_edges(rest, periods)
    ax.set_xscale("log")
    ax.set_xlim(x[-1], x[0])
    ticks = beta2_ticks(x[0], x[-1])
    if len(rest) == 1:
        ticks = [(rest[0], f"{1 - rest[0]:.10g}")]
    places, labels = zip(*ticks, strict=True)
    ax.set_xticks(places, labels)
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
    """The crossings as (1 - β2, P), in runs that belong together.

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


def draw_border(ax: Axes, boundary: Boundary) -> None:
    """Draw branches as curves, and crossings without a neighbour as dots."""
    halo = [withStroke(linewidth=2.6, foreground=PAPER)]
    for branch in branches(boundary):
        x, y = zip(*branch, strict=True)
        dot = "." if len(branch) == 1 else ""
        ax.plot(x, y, "-", marker=dot, color=INK, path_effects=halo, zorder=4)
