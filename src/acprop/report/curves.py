"""Curves, one panel for each record; a label looks the same in every panel."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from acprop.checks import UserError
from acprop.records import Curves, Line
from acprop.report.style import (
    INK,
    PAPER,
    colours,
    draw_failed,
    draw_grid,
    label_panel,
    legend_below,
    panels,
    plain,
    power_below,
    symlog_ticks,
    title_figure,
)

DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (9, 4)))
# Dashes drown in noise, and there are few: lines that share a colour or a dash have
# marks here and there as well. Points have nothing else.
MARKERS = ("", "o", "s", "^", "D")
POINTS = (*MARKERS[1:], "v", "P", "X")
N_MARKS = 8
MAX_VECTOR_POINTS = 2_000
# Decades of a symmetrical-log axis on each side, at most: below, it is linear.
SYMLOG_DECADES = 6
ALPHA = 0.18  # of bands
Look = dict[str, object]


def draw_curves(records: Sequence[Curves], title: str | None) -> Figure:
    """One panel for each record, and one legend."""
    for record in records:
        _check(record)
    figure, axes = panels(len(records))
    labels = list(dict.fromkeys(line.label for r in records for line in r.lines))
    looks = _looks(labels, all(record.drawn == "points" for record in records))
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(ax, record, looks)
    handles = [Line2D([], [], label=plain(n), **looks[n]) for n in labels]  # pyright: ignore[reportArgumentType]
    legend_below(figure, [*handles, *_more_handles(records)])
    title_figure(figure, records, title)
    return figure


def linear_below(values: Sequence[float]) -> float:
    """Where a symmetrical-log axis turns linear: a power of ten near the smallest."""
    sizes = np.abs(np.asarray(values, float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not sizes.size:
        return 1.0
    # A few points that pass close to zero should not stretch the axis.
    small = float(np.quantile(sizes, 0.05, method="lower"))
    return power_below(max(small, float(sizes.max()) * 10.0**-SYMLOG_DECADES))


def _looks(labels: Sequence[str], are_points: bool) -> dict[str, Look]:
    """Colour, dashes and marks; in grey, too, no two of 25 lines look the same."""
    looks: dict[str, Look] = {}
    seen: list[str] = []
    used: set[tuple[int, int]] = set()
    for i, (label, colour) in enumerate(colours(labels).items()):
        dash, first = i % len(DASHES), seen.count(colour)
        turns = [k % len(MARKERS) for k in range(first, first + len(MARKERS))]
        turn = next((k for k in turns if (dash, k) not in used), turns[0])
        seen.append(colour)
        used.add((dash, turn))
        look = {"linestyle": DASHES[dash], "marker": MARKERS[turn]}
        if are_points:
            look = {"linestyle": "", "marker": POINTS[i % len(POINTS)]}
        looks[label] = {
            **look,
            "color": colour,
            "markersize": 4.5,
            "markerfacecolor": PAPER,
        }
    return looks


def _check(record: Curves) -> None:
    if not record.lines:
        raise UserError(f"lines must be one or more, got none in {record.title!r}")
    for line in record.lines:
        for name in ("y", "low", "high") if line.low or line.high else ("y",):
            if len(getattr(line, name)) != len(line.x):
                raise UserError(
                    f"{name} must be as long as x = {len(line.x)}, "
                    f"got {len(getattr(line, name))} in {line.label!r}"
                )
    for name, scale in (("x", record.x_scale), ("y", record.y_scale)):
        values = np.concatenate([getattr(line, name) for line in record.lines])
        if scale == "log" and not np.any(values[np.isfinite(values)] > 0):
            raise UserError(
                f"{name} must be positive somewhere on a log scale, got none in "
                f"{record.title!r}; use a linear one"
            )


def _draw_panel(ax: Axes, record: Curves, looks: dict[str, Look]) -> None:
    _scale(ax, record)
    row = 0  # of crosses, one for each line that has any
    for line in record.lines:
        look, colour = looks[line.label], str(looks[line.label]["color"])
        (drawn,) = ax.plot(line.x, line.y, label=plain(line.label))
        is_curve = record.drawn == "lines"
        drawn.set(**look, markevery=_spread(line, record) if is_curve else None)
        drawn.set_rasterized(len(line.x) > MAX_VECTOR_POINTS)
        if line.low:  # a NaN is a gap
            band = _above_zero(line, record.y_scale), line.high
            ax.fill_between(line.x, *band, color=colour, alpha=ALPHA, linewidth=0)
        if seeds := [dot for dot in line.dots if np.isfinite(dot[1])]:
            dots = ax.scatter(*zip(*seeds, strict=True), s=16, zorder=3, clip_on=False)
            dots.set(facecolor=colour, edgecolor=PAPER, linewidth=0.4)
        failed = _failed(line)
        draw_failed(ax, failed, record.better, row=row, color=colour)
        row += bool(failed)
    if record.y_range is not None:
        ax.set_ylim(*record.y_range)
    label_panel(ax, record.title, record.x_label, record.y_label)
    draw_grid(ax)


def _above_zero(line: Line, scale: str) -> Sequence[float]:
    """The lower border of a band; a logarithm has no place for what is below 0."""
    means = [y for y in line.y if y > 0]
    least = min(means, default=0.0) if scale == "log" else -np.inf
    return [max(low, least) if low == low else low for low in line.low]


def _spread(line: Line, record: Curves) -> list[int]:
    """Which points are about equally far apart on the x-axis."""
    places, is_log = np.asarray(line.x, float), record.x_scale == "log"
    usable = places[np.isfinite(places) & ((places > 0) | (not is_log))]
    if not usable.size:
        return []
    space = np.geomspace if is_log else np.linspace
    found = np.searchsorted(
        places, space(usable.min(), usable.max(), N_MARKS + 2)[1:-1]
    )
    return sorted({int(i) for i in found if i < len(places)})


def _failed(line: Line) -> list[float]:
    """Where runs that failed are marked."""
    return [x for x, y in line.dots if not np.isfinite(y)]


def _more_handles(records: Sequence[Curves]) -> list[Artist]:
    """A legend says what bands and crosses are, where any is drawn."""
    words = dict.fromkeys(
        record.band
        for record in records
        if record.band and any(np.isfinite(line.low).any() for line in record.lines)
    )
    handles: list[Artist] = [
        Patch(color=INK, alpha=ALPHA, linewidth=0, label=plain(text)) for text in words
    ]
    if any(_failed(line) for record in records for line in record.lines):
        label = "a run that failed"
        handles.append(Line2D([], [], ls="", marker="X", color=INK, label=label))
    return handles


def _scale(ax: Axes, record: Curves) -> None:
    if record.x_scale == "log":
        ax.set_xscale("log", nonpositive="mask")
    elif all(float(x).is_integer() for line in record.lines for x in line.x):
        # There is no epoch 1.25.
        ax.xaxis.set_major_locator(MaxNLocator(9, integer=True, min_n_ticks=1))
    if record.y_scale == "log":
        ax.set_yscale("log", nonpositive="mask")
    elif record.y_scale == "symlog":
        threshold = linear_below([y for line in record.lines for y in line.y])
        ax.set_yscale("symlog", linthresh=threshold)
        ax.yaxis.set_major_locator(symlog_ticks(threshold))
