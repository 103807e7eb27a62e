"""README's picture: the default beside AdamW, ADOPT and AdaBelief, task by task.

A panel for each task in its own unit, better to the right; a dot is a run, a line the
95 % interval of the mean. The file carries the hash of what it shows, so that a test
can tell whether it is as old as the records.
"""

import hashlib
import json
from pathlib import Path

from compared import PEERS, ROOT, TaskResult, against_adamw

from acprop.metrics import metric_of
from acprop.report.statistics import over_seeds, value_of
from acprop.report.style import DPI, INK, OPTIMIZERS, draw_grid, style

SHOWN = ("acprop", *PEERS)
VALUES = "values"  # the name of the hash in the file
COLUMNS = 3
CAPTION = (
    "A dot is a run, a line the 95 % interval of the mean over seeds; better is to the "
    "right.\n▲ ▼ better, worse than ACProp's default, by the protocol."
)
SIGNS = {"better": "▲", "worse": "▼"}


def shown_values() -> list[list[object]]:
    """Task, optimizer, verdict and the value of each seed."""
    return [
        [task.title, name, _verdict(task, name), _values(task, name)]
        for task in against_adamw()
        for name in SHOWN
        if name in task.arms
    ]


def digest() -> str:
    """The hash of all that is drawn."""
    return hashlib.sha256(json.dumps(shown_values()).encode()).hexdigest()


def draw(path: Path) -> None:
    """All panels, and how to read them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        n_rows = -(-len(against_adamw()) // COLUMNS)
        size = (8.8, 1.75 * n_rows + 0.3)
        figure = Figure(figsize=size, dpi=1.2 * DPI, layout="constrained")
        FigureCanvasAgg(figure)
        for i, task in enumerate(against_adamw()):
            _draw_task(figure.add_subplot(n_rows, COLUMNS, i + 1), task)
        figure.supxlabel(CAPTION, fontsize=9)
        figure.savefig(path, metadata={VALUES: digest()})


def _draw_task(ax, task: TaskResult) -> None:
    metric = metric_of(task.found.metric)
    names = [name for name in SHOWN if name in task.arms]
    for row, name in enumerate(names):
        seen = over_seeds(task.arms[name], task.found.metric)
        colour = OPTIMIZERS[name][1]
        values = [metric.factor * v for v in _values(task, name)]
        ends = [metric.factor * seen.low, metric.factor * seen.high]
        ax.plot(ends, [row, row], color=colour, linewidth=5, alpha=0.35)
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=3.5)
        mean = metric.factor * seen.mean
        ax.plot([mean, mean], [row - 0.3, row + 0.3], color=INK, linewidth=1.2)
    words = [_name(task, name) for name in names]
    ax.set_yticks(range(len(names)), words)
    ax.set_ylim(len(names) - 0.4, -0.6)
    if metric.better == "lower":
        ax.invert_xaxis()
    ax.set_title(task.title, fontsize=8.5)
    ax.set_xlabel(metric.label, fontsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=4)
    draw_grid(ax, "x")


def _name(task: TaskResult, name: str) -> str:
    sign = SIGNS.get(_verdict(task, name), "")
    words = OPTIMIZERS[name][0].replace("ACProp (default)", "ACProp")
    return f"{words} {sign}".strip()


def _verdict(task: TaskResult, name: str) -> str:
    return task.compared[name].words if name in task.compared else ""


def _values(task: TaskResult, name: str) -> list[float]:
    return [value_of(run, task.found.metric) for run in task.arms[name].done]


if __name__ == "__main__":
    draw(ROOT / "docs" / "figures" / "compared.png")
