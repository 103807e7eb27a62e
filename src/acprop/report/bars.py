"""Final values as bars: the mean, its interval, and a dot for each seed."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from acprop.checks import UserError
from acprop.records import ArmBar, Bars
from acprop.report.style import GRID, INK, colours, draw_failed, panels, plain

WIDTH = 0.62
SPREAD = 0.32  # how far apart the dots of a bar may be


def draw_bars(records: Sequence[Bars], title: str | None) -> Figure:
    """One panel for each record; the axis begins at 0, or bars would lie."""
    for record in records:
        if not record.bars:
            raise UserError(f"bars must be one or more, got none in {record.title!r}")
    figure, axes = panels(len(records))
    labels = list(dict.fromkeys(bar.label for r in records for bar in r.bars))
    inks = colours(labels)
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(ax, record, inks)
    if title is not None or len(records) > 1:
        figure.suptitle(plain(records[0].name if title is None else title))
    return figure


def _draw_panel(ax: Axes, record: Bars, inks: dict[str, str]) -> None:
    for place, bar in enumerate(record.bars):
        ax.bar(place, bar.mean, WIDTH, color=inks[bar.label], alpha=0.55)
        _draw_interval(ax, place, bar)
        n = len(bar.values)
        offsets = np.linspace(-SPREAD, SPREAD, n) / 2 if n > 1 else np.zeros(1)
        dots = ax.scatter(place + offsets, bar.values, s=20, zorder=4)
        dots.set(facecolor=inks[bar.label], edgecolor=INK, linewidth=0.6)
        lost = (place + offsets)[~np.isfinite(bar.values)]
        draw_failed(ax, lost.tolist(), record.better, color=inks[bar.label])
    ax.axhline(0, color=INK, linewidth=0.6)
    ax.set_xticks(
        range(len(record.bars)), [_folded(plain(b.label)) for b in record.bars]
    )
    ax.set_xlim(-0.6, len(record.bars) - 0.4)
    ax.set_title(plain(record.title))
    ax.set_ylabel(plain(record.value_label))
    ax.grid(axis="y", color=GRID, linewidth=0.5)
    ax.set_axisbelow(True)


def _draw_interval(ax: Axes, place: int, bar: ArmBar) -> None:
    if np.isfinite(bar.low) and np.isfinite(bar.high):
        ends = [[bar.mean - bar.low], [bar.high - bar.mean]]
        ax.errorbar(
            place, bar.mean, ends, color=INK, capsize=4, linewidth=1.0, zorder=3
        )


def _folded(label: str) -> str:
    """A long name in lines that fit under its bar."""
    return label.replace(", ", ",\n")
