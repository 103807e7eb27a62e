"""A value over a plane, one panel for each record.

A surface's zero is a black curve. A surface of runs is a heat map: its cells are
equally large, for a grid is a list of choices, have their number written in them, and
share their colours with all panels, so that they can be compared.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import math
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize, SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from acprop.checks import UserError
from acprop.records import Surface
from acprop.report.style import (
    DARK_LETTER,
    LIGHT_LETTER,
    Floats,
    edges,
    is_wide,
    label_panel,
    panels,
    plain,
    power_below,
    symlog_ticks,
)

# From this ratio of the largest to a small value on, a linear scale shows two colours.
HUGE_SPAN = 1_000
SYMLOG_DECADES = 6
# A cell without a number, of runs that failed and of none; light or dark letters.
LOST, EMPTY, LUMA = "#F4F4F4", "#E0E0E0", (0.299, 0.587, 0.114)


def draw_surfaces(records: Sequence[Surface], title: str | None) -> Figure:
    """Surfaces, each with its colours, or heat maps with the same."""
    for record in records:
        _check(record)
    figure, axes = panels(len(records))
    if all(record.n_runs for record in records):
        low, high = _range(records)
        norm = Normalize(low, high if high > low else low + 1)
        colours = matplotlib.colormaps["viridis"]
        for ax, record in zip(axes, records, strict=True):
            _draw_cells(ax, record, norm, colours)
        bar = figure.colorbar(ScalarMappable(norm, colours), ax=axes)
        bar.set_label(plain(records[0].value_label))
    else:
        for ax, record in zip(axes, records, strict=True):
            _draw_surface(figure, ax, record)
    if title is not None:  # what the panels have in common stands at the colour bars
        figure.suptitle(plain(title))
    return figure


def cell_words(value: float, n_runs: int, n_diverged: int) -> str:
    """What stands in a cell; what is not a number says why."""
    if n_runs == 0:
        return "not run"
    lost = f"{n_diverged}/{n_runs} div." if n_diverged else ""
    if not math.isfinite(value):
        return "diverged" if n_diverged == n_runs else lost or "no value"
    number = f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"
    return f"{number}\n{lost}" if lost else number


def _check(record: Surface) -> None:
    rows = {len(row) for row in record.values}
    if len(record.values) != len(record.y) or rows != {len(record.x)}:
        raise UserError(
            f"values must be {len(record.y)} rows (y) of {len(record.x)} (x), "
            f"got {len(record.values)} of {sorted(rows)}"
        )
    if not record.n_runs and not np.any(np.isfinite(record.values)):
        raise UserError(f"values must have a finite one, got none in {record.title!r}")


def _norm(values: Floats) -> Normalize:
    """How values become colours.

    Both signs: the same on both sides of zero, which is the middle of the colours.
    A huge span: logarithmic, in both directions where there are both signs.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not sizes.size:
        return Normalize(-1, 1)
    largest = float(sizes.max())
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low < 0 < high:
        low, high = -largest, largest
    small = float(np.quantile(sizes, 0.05))
    if largest / small <= HUGE_SPAN:
        return Normalize(low, high)
    if low > 0:
        return LogNorm(low, high)
    # What lies beyond the decades shown has the last colour: where zero is crossed
    # matters more than how large the largest is.
    threshold = power_below(small)
    end = threshold * 10.0**SYMLOG_DECADES
    return SymLogNorm(threshold, vmin=max(low, -end), vmax=min(high, end))


def _draw_surface(figure: Figure, ax: Axes, record: Surface) -> None:
    across, down = np.argsort(record.x), np.argsort(record.y)
    x, y = np.array(record.x)[across], np.array(record.y)[down]
    values = np.ma.masked_invalid(np.array(record.values)[np.ix_(down, across)])
    norm = _norm(values.compressed())
    has_both = bool(values.min() < 0 < values.max())
    colours = matplotlib.colormaps["RdBu_r" if has_both else "viridis"]
    ax.set_facecolor("#CCCCCC")  # where there is no value
    mesh = ax.pcolormesh(
        _edges(x), _edges(y), values, norm=norm, cmap=colours, rasterized=True
    )
    for axis, places in (("x", x), ("y", y)):
        if is_wide(places):
            ax.set(**{f"{axis}scale": "log"})
    if has_both and min(values.shape) > 1:
        ax.contour(x, y, values, levels=[0], colors=DARK_LETTER, linewidths=1.2)
    ticks = symlog_ticks(norm.linthresh) if isinstance(norm, SymLogNorm) else None
    beyond = bool(values.min() < norm.vmin), bool(values.max() > norm.vmax)
    ends = {(True, False): "min", (False, True): "max", (True, True): "both"}
    bar = figure.colorbar(mesh, ax=ax, ticks=ticks, extend=ends.get(beyond, "neither"))
    bar.set_label(plain(record.value_label))
    label_panel(ax, record.title, record.x_label, record.y_label)


def _edges(places: Floats) -> Floats:
    return 10 ** edges(np.log10(places)) if is_wide(places) else edges(places)


def _range(records: Sequence[Surface]) -> tuple[float, float]:
    if records[0].value_range is not None:
        return records[0].value_range
    values = np.concatenate([np.ravel(record.values) for record in records])
    return float(np.nanmin(values)), float(np.nanmax(values))


def _draw_cells(ax: Axes, record: Surface, norm: Normalize, colours: Colormap) -> None:
    """A cell without a number is hatched if there were runs, plain if there were none.

    Its words have a background of their own: hatching would make them unreadable.
    """
    size = 9 if ax.get_gridspec().ncols < 3 else 8  # pyright: ignore[reportOptionalMemberAccess]
    for (i, j), value in np.ndenumerate(record.values):
        n, n_diverged = record.n_runs[i][j], record.n_diverged[i][j]
        cell = Rectangle((j, i), 1, 1, facecolor=EMPTY, edgecolor=LIGHT_LETTER)
        text = ax.text(j + 0.5, i + 0.5, cell_words(value, n, n_diverged))
        text.set(ha="center", va="center", color=DARK_LETTER, fontsize=size)
        if math.isfinite(value):
            cell.set_facecolor(colours(norm(value)))
            if np.dot(colours(norm(value))[:3], LUMA) < 0.5:
                text.set_color(LIGHT_LETTER)
        elif n:
            cell.set(facecolor=LOST, edgecolor="#999999", hatch="///")
            text.set_bbox({"facecolor": LOST, "edgecolor": "none", "pad": 1.5})
        ax.add_patch(cell)
    ax.set(xlim=(0, len(record.x)), ylim=(0, len(record.y)))
    ax.set_xticks(np.arange(len(record.x)) + 0.5, [f"{v:.6g}" for v in record.x])
    ax.set_yticks(np.arange(len(record.y)) + 0.5, [f"{v:.6g}" for v in record.y])
    ax.tick_params(length=0)
    label_panel(ax, record.title, record.x_label, record.y_label)
