"""A value over a plane, one panel for each record; its zero is a black curve."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, SymLogNorm
from matplotlib.figure import Figure

from acprop.checks import UserError
from acprop.records import Surface
from acprop.report.style import (
    DARK_LETTER,
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


def draw_surfaces(records: Sequence[Surface], title: str | None) -> Figure:
    """One panel for each record; colours are not compared between panels."""
    for record in records:
        _check(record)
    figure, axes = panels(len(records))
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(figure, ax, record)
    if title is not None:  # what the panels have in common stands at the colour bars
        figure.suptitle(plain(title))
    return figure


def norm_of(values: Floats) -> Normalize:
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


def _check(record: Surface) -> None:
    rows = {len(row) for row in record.values}
    if len(record.values) != len(record.y) or rows != {len(record.x)}:
        raise UserError(
            f"values must be {len(record.y)} rows (y) of {len(record.x)} (x), "
            f"got {len(record.values)} of {sorted(rows)}"
        )
    if not np.any(np.isfinite(record.values)):
        raise UserError(f"values must have a finite one, got none in {record.title!r}")


def _draw_panel(figure: Figure, ax: Axes, record: Surface) -> None:
    across, down = np.argsort(record.x), np.argsort(record.y)
    x, y = np.array(record.x)[across], np.array(record.y)[down]
    values = np.array(record.values)[np.ix_(down, across)]
    values = np.ma.masked_invalid(values)
    norm = norm_of(values.compressed())
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
    is_symlog = isinstance(norm, SymLogNorm)
    ticks = symlog_ticks(norm.linthresh) if is_symlog else None
    bar = figure.colorbar(mesh, ax=ax, ticks=ticks, extend=_beyond(values, norm))
    bar.set_label(plain(record.value_label))
    label_panel(ax, record.title, record.x_label, record.y_label)


def _beyond(values: np.ma.MaskedArray, norm: Normalize) -> str:
    """Which ends of the colours have values beyond them."""
    below = norm.vmin is not None and bool(values.min() < norm.vmin)
    above = norm.vmax is not None and bool(values.max() > norm.vmax)
    return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[
        below, above
    ]


def _edges(places: Floats) -> Floats:
    return 10 ** edges(np.log10(places)) if is_wide(places) else edges(places)
