"""Final results over two settings, one panel for each optimizer, numbers in the cells.

Cells are equally large whatever the settings' values: a grid is a list of choices. All
panels share their colours, so that a cell of one can be compared with one of another.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from acprop.records import Surface
from acprop.report.style import DARK_LETTER, LIGHT_LETTER, label_panel, panels, plain

EMPTY = "#E0E0E0"
LOST = "#F4F4F4"
LUMA = (0.299, 0.587, 0.114)

Corner = tuple[int, int]


def draw_heatmaps(records: Sequence[Surface], title: str | None) -> Figure:
    """One panel for each record, all with the same colours."""
    figure, axes = panels(len(records))
    low, high = _range(records)
    norm = Normalize(low, high if high > low else low + 1)
    colours = matplotlib.colormaps["viridis"]
    for ax, record in zip(axes, records, strict=True):
        _draw_panel(ax, record, norm, colours)
    bar = figure.colorbar(ScalarMappable(norm, colours), ax=axes)
    bar.set_label(plain(records[0].value_label))
    if title is not None:
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


def _range(records: Sequence[Surface]) -> tuple[float, float]:
    if records[0].value_range is not None:
        return records[0].value_range
    values = np.concatenate([np.ravel(record.values) for record in records])
    return float(np.nanmin(values)), float(np.nanmax(values))


def _draw_panel(ax: Axes, record: Surface, norm: Normalize, colours: Colormap) -> None:
    for i, row in enumerate(record.values):
        for j, value in enumerate(row):
            n, n_diverged = record.n_runs[i][j], record.n_diverged[i][j]
            face: Any = colours(norm(value)) if math.isfinite(value) else None
            words = cell_words(value, n, n_diverged)
            if face is None:
                _draw_empty(ax, (j, i), words, is_run=n > 0)
            else:
                ax.add_patch(
                    Rectangle((j, i), 1, 1, facecolor=face, edgecolor=LIGHT_LETTER)
                )
                is_dark = np.dot(face[:3], LUMA) < 0.5
                _write(ax, (j, i), words, LIGHT_LETTER if is_dark else DARK_LETTER)
    ax.set(xlim=(0, len(record.x)), ylim=(0, len(record.y)))
    ax.set_xticks(np.arange(len(record.x)) + 0.5, [f"{v:.6g}" for v in record.x])
    ax.set_yticks(np.arange(len(record.y)) + 0.5, [f"{v:.6g}" for v in record.y])
    ax.tick_params(length=0)
    label_panel(ax, record.title, record.x_label, record.y_label)


def _draw_empty(ax: Axes, corner: Corner, words: str, *, is_run: bool) -> None:
    """No number: hatched if there were runs, plain if there were none."""
    face, edge = (LOST, "#999999") if is_run else (EMPTY, LIGHT_LETTER)
    hatch = "///" if is_run else None
    ax.add_patch(Rectangle(corner, 1, 1, facecolor=face, edgecolor=edge, hatch=hatch))
    text = _write(ax, corner, words, DARK_LETTER)
    text.set_bbox({"facecolor": face, "edgecolor": "none", "pad": 1.5})


def _write(ax: Axes, corner: Corner, words: str, ink: str) -> Text:
    x, y = corner
    size = 9 if ax.get_gridspec().ncols < 3 else 8  # pyright: ignore[reportOptionalMemberAccess]
    text = ax.text(x + 0.5, y + 0.5, words, color=ink, fontsize=size)
    text.set(ha="center", va="center")
    return text
