"""What ACProp is made of: the effect of each factor of the factorial, task by task.

A panel for each task in its own unit, better to the right; a line is the 95 % interval
of least squares, filled where the effect is shown after Holm's correction. The file
carries the hash of what it shows, as README's picture does.
"""

import hashlib
import json
from pathlib import Path

from compared import ROOT, records
from interval_picture import VALUES

from acprop.metrics import metric_of
from acprop.report.factorial import main_effects
from acprop.report.studies import StudyRuns
from acprop.report.style import DPI, INK, OPTIMIZERS, draw_grid, style

FILE = ROOT / "docs" / "figures" / "effects.png"
STUDIES = {
    "factorial/gpt-bytes-small-tuned": "Small GPT",
    "factorial/vgg-batchnorm-small-tuned": "VGG-11 with BatchNorm",
    "factorial/vgg-plain-small-tuned": "VGG-11 without BatchNorm",
}
CAPTION = (
    "A line is the 95 % interval; better is to the right. Filled: the effect is shown, "
    "after Holm's correction over the seven factors."
)


def studies() -> dict[str, StudyRuns]:
    """By how a panel is called."""
    return {title: records(name) for name, title in STUDIES.items()}


def digest() -> str:
    """The hash of all that is drawn, as far as it is seen."""
    values = [
        [title, effect.name, effect.words, effect.is_shown]
        for title, found in studies().items()
        for effect in main_effects(found)
    ]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def draw(path: Path) -> None:
    """All panels side by side, the factors at the left."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = studies()
    with style():
        figure = Figure(figsize=(8.8, 2.9), dpi=1.2 * DPI, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (title, found) in zip(axes, panels.items(), strict=True):
            _draw_task(ax, title, found)
        figure.supxlabel(CAPTION, fontsize=9)
        figure.savefig(path, metadata={VALUES: digest()})


def _draw_task(ax, title: str, found: StudyRuns) -> None:
    metric, made = metric_of(found.metric), main_effects(found)
    colour = OPTIMIZERS["acprop"][1]
    ax.axvline(0, color=INK, linewidth=0.8)
    for row, effect in enumerate(made):
        ends = [effect.low, effect.high]
        ax.plot(ends, [row, row], color=colour, linewidth=4, alpha=0.35)
        face = colour if effect.is_shown else "none"
        ax.plot(
            [effect.mean], [row], "o", color=colour, markerfacecolor=face, markersize=6
        )
    ax.set_yticks(range(len(made)), [effect.name for effect in made])
    ax.set_ylim(len(made) - 0.4, -0.6)
    reach = 1.08 * max(abs(end) for e in made for end in (e.low, e.high))
    ax.set_xlim(*((reach, -reach) if metric.better == "lower" else (-reach, reach)))
    ax.set_title(title, fontsize=8.5)
    ax.set_xlabel(f"effect on {metric.label}", fontsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=5)
    draw_grid(ax, "x")


if __name__ == "__main__":
    draw(FILE)
