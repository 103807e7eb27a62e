"""Final values as bars: the mean, its interval, and a dot for each seed."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from acprop.checks import UserError
from acprop.records import Bars
from acprop.report.style import (
    INK,
    colours,
    draw_failed,
    draw_grid,
    label_panel,
    panels,
    plain,
    title_figure,
)

WIDTH = 0.62
SPREAD = 0.16  # how far from the middle of a bar its dots may be


def draw_bars(records: Sequence[Bars], title: str | None) -> Figure:
    """One panel for each record; the axis begins at 0, or bars would lie."""
    for record in records:
        if not record.bars:
            raise UserError(f"bars must be one or more, got none in {record.title!r}")
    figure, axes = panels(len(records))
    inks = colours([bar.label for record in records for bar in record.bars])
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(ax, record, inks)
    title_figure(figure, records, title)
    return figure


def _draw_panel(ax: Axes, record: Bars, inks: dict[str, str]) -> None:
    for place, bar in enumerate(record.bars):
        ink = inks[bar.label]
        ax.bar(place, bar.mean, WIDTH, color=ink, alpha=0.55)
        if np.isfinite(bar.low) and np.isfinite(bar.high):
            ends = [[bar.mean - bar.low], [bar.high - bar.mean]]
            ax.errorbar(place, bar.mean, ends, color=INK, capsize=4, lw=1.0, zorder=3)
        n = len(bar.values)
        x = place + (np.linspace(-SPREAD, SPREAD, n) if n > 1 else np.zeros(n))
        dots = ax.scatter(x, bar.values, s=20, zorder=4)
        dots.set(facecolor=ink, edgecolor=INK, linewidth=0.6)
        lost = x[~np.isfinite(bar.values)]
        draw_failed(ax, lost.tolist(), record.better, color=ink)
    ax.axhline(0, color=INK, linewidth=0.6)
    # A long name in lines that fit under its bar.
    names = [plain(bar.label).replace(", ", ",\n") for bar in record.bars]
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.6, len(names) - 0.4)
    label_panel(ax, record.title, "", record.value_label)
    draw_grid(ax, "y")
