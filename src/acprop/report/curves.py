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
from matplotlib.transforms import ScaledTranslation

from acprop.checks import UserError
from acprop.records import Curves, Line
from acprop.report.style import (
    GRID,
    INK,
    PAPER,
    colours,
    draw_failed,
    label_panel,
    legend_below,
    panels,
    plain,
    power_below,
    symlog_ticks,
)

DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (9, 4)))
MAX_VECTOR_POINTS = 2_000
# Decades of a symmetrical-log axis on each side, at most: below, it is linear.
SYMLOG_DECADES = 6
# Dashes drown in noise, and there are few: lines that share a colour or a dash have
# marks here and there as well.
MARKERS = ("", "o", "s", "^", "D")
N_MARKERS = 8
# Of bands; of the one in the legend, which stands for those of all colours.
ALPHA, BAND = 0.18, INK
Look = dict[str, object]

UNDER_THE_LABEL = 30  # points from the panel to its legend: ticks and label


def draw_curves(records: Sequence[Curves], title: str | None) -> Figure:
    """One panel for each record, and one legend if one can serve all."""
    for record in records:
        _check(record)
    figure, axes = panels(len(records))
    labels = list(dict.fromkeys(line.label for r in records for line in r.lines))
    looks = _looks(labels)
    fullest = max(records, key=lambda r: len({line.label for line in r.lines}))
    is_shared = {line.label for line in fullest.lines} == set(labels)
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(ax, record, looks)
        if not is_shared:
            named = [x for x in ax.lines if not str(x.get_label()).startswith("_")]
            once = list({x.get_label(): x for x in named}.values())
            _legend_under(ax, [*once, *_band_handles([record])])
    if is_shared:
        handles = [Line2D([], [], label=plain(n), **looks[n]) for n in labels]  # pyright: ignore[reportArgumentType]
        if all(record.drawn == "points" for record in records):
            for handle, line in zip(handles, fullest.lines, strict=True):
                handle.set(linestyle="", marker=_mark(line, fullest))
        legend_below(figure, [*handles, *_band_handles(records)])
    if title is not None or len(records) > 1:
        figure.suptitle(plain(records[0].name if title is None else title))
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


def _looks(labels: Sequence[str]) -> dict[str, Look]:
    """Colour, dashes and marks; in grey, too, no two of 25 labels look the same."""
    looks: dict[str, Look] = {}
    seen: list[str] = []
    used: set[tuple[int, int]] = set()
    for i, (label, colour) in enumerate(colours(labels).items()):
        dash, first = i % len(DASHES), seen.count(colour)
        turns = [k % len(MARKERS) for k in range(first, first + len(MARKERS))]
        turn = next((k for k in turns if (dash, k) not in used), turns[0])
        seen.append(colour)
        used.add((dash, turn))
        look = {"color": colour, "linestyle": DASHES[dash], "marker": MARKERS[turn]}
        looks[label] = {**look, "markersize": 4.5, "markerfacecolor": PAPER}
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
    for line in record.lines:
        (drawn,) = ax.plot(line.x, line.y, label=plain(line.label))
        drawn.set(**looks[line.label], markevery=_spread(line.x, record.x_scale))
        if record.drawn == "points":
            drawn.set(linestyle="", marker=_mark(line, record), markevery=None)
        drawn.set_rasterized(len(line.x) > MAX_VECTOR_POINTS)
        _draw_band(ax, line, str(looks[line.label]["color"]))
        _draw_dots(ax, line, str(looks[line.label]["color"]))
    for row, line in enumerate(line for line in record.lines if _failed(line)):
        draw_failed(
            ax,
            [x for x, _ in _failed(line)],
            record.better,
            row=row,
            color=str(looks[line.label]["color"]),
        )
    if record.y_range is not None:
        ax.set_ylim(*record.y_range)
    label_panel(ax, record.title, record.x_label, record.y_label)
    ax.grid(color=GRID, linewidth=0.5)
    ax.set_axisbelow(True)


def _mark(line: Line, record: Curves) -> str:
    """Points of different lines differ in more than their colour."""
    marks = [mark for mark in (*MARKERS, "v", "P", "X") if mark]
    return marks[record.lines.index(line) % len(marks)]


def _draw_band(ax: Axes, line: Line, colour: str) -> None:
    """How far runs are apart; a NaN is a gap."""
    if line.low:
        ends = line.low, line.high
        ax.fill_between(line.x, *ends, color=colour, alpha=ALPHA, linewidth=0)


def _draw_dots(ax: Axes, line: Line, colour: str) -> None:
    """Single seeds that have a value: small, and open where lines have marks."""
    seeds = [dot for dot in line.dots if np.isfinite(dot[1])]
    if seeds:
        x, y = zip(*seeds, strict=True)
        dots = ax.scatter(x, y, s=16, zorder=3, clip_on=False)
        dots.set(facecolor=colour, edgecolor=PAPER, linewidth=0.4)


def _failed(line: Line) -> list[tuple[float, float]]:
    return [dot for dot in line.dots if not np.isfinite(dot[1])]


def _band_handles(records: Sequence[Curves]) -> list[Artist]:
    """A legend says what bands and crosses are, where any is drawn."""
    words = dict.fromkeys(
        record.band
        for record in records
        if record.band and any(np.isfinite(line.low).any() for line in record.lines)
    )
    bands = [Patch(color=BAND, alpha=ALPHA, linewidth=0, label=plain(w)) for w in words]
    if not any(_failed(line) for record in records for line in record.lines):
        return [*bands]
    cross = Line2D([], [], ls="", marker="X", color=INK, label="a run that failed")
    return [*bands, cross]


def _spread(x: Sequence[float], scale: str) -> list[int]:
    """Which points are about equally far apart on the x-axis."""
    places = np.asarray(x, float)
    usable = places[np.isfinite(places) & ((places > 0) | (scale != "log"))]
    if not usable.size:
        return []
    space = np.geomspace if scale == "log" else np.linspace
    targets = space(usable.min(), usable.max(), N_MARKERS + 2)[1:-1]
    found = np.searchsorted(places, targets)
    return sorted({int(i) for i in found if i < len(places)})


def _scale(ax: Axes, record: Curves) -> None:
    if record.x_scale == "log":
        ax.set_xscale("log", nonpositive="mask")
    elif all(float(x).is_integer() for line in record.lines for x in line.x):
        # There is no epoch 1.25.
        ax.xaxis.set_major_locator(MaxNLocator(9, integer=True, min_n_ticks=1))
    if record.y_scale == "log":
        ax.set_yscale("log", nonpositive="mask")
    elif record.y_scale == "symlog":
        values = [y for line in record.lines for y in line.y]
        threshold = linear_below(values)
        ax.set_yscale("symlog", linthresh=threshold)
        ax.yaxis.set_major_locator(symlog_ticks(threshold))


def _legend_under(ax: Axes, handles: Sequence[Artist]) -> None:
    """Under the panel: on top of it, it would hide what it explains."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = min(len(handles), 3 if longest < 12 else 2 if longest < 24 else 1)
    # In points, not in panels: a tall legend makes the panel low.
    below = ScaledTranslation(0, -UNDER_THE_LABEL / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
    )
