"""A study's runs as figures: the records that `figures.draw` draws.

Which arms are shown follows from the study's axes. Arms that differ in one of them are
all shown; of those that differ in anything else, the one that validation prefers, as
`statistics.best` says. What the test data say never decides.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from acprop.records import Curves, Line, RunRecord, StudyRecord, Surface
from acprop.report.statistics import (
    Arm,
    arms_of,
    best,
    describe,
    number,
    over_seeds,
    selection_metric,
    spread,
    value_of,
    varying,
)
from acprop.report.style import LOG_SPAN, display

__all__ = ["runs_of", "shown_arms", "study_records"]


def runs_of(study: StudyRecord, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs that the study names, in its order, as far as there are records."""
    known = {run.run: run for run in runs}
    found = [known[name] for name in study.runs if name in known]
    for metric in filter(is_share, study.metrics):
        for value in (value_of(run, metric) for run in found):
            if value > 1:
                raise ValueError(
                    f"{metric} must be a share in [0, 1], got {value:.6g} in "
                    f"{study.name}; record no percent"
                )
    return found


def shown_arms(arms: Sequence[Arm], axes: Sequence[str]) -> list[Arm]:
    """One arm for each optimizer, task and value of the axes: validation's choice."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        known = {**arm.conditions, **arm.settings}
        place = [arm.optimizer, arm.conditions, [known.get(name) for name in axes]]
        groups.setdefault(json.dumps(place, sort_keys=True), []).append(arm)
    return [_preferred(group) for group in groups.values()]


def study_records(
    study: StudyRecord, runs: Sequence[RunRecord]
) -> list[Curves] | list[Surface]:
    """What the study shows; empty if no run has anything to show, or for a table.

    Curves have about["bands"] = {label: {"low": …, "high": …}}, mean ∓ std at each x.
    Surfaces have about["cells"]: "runs" and "diverged", counted for each value, and
    about["range"], which is the same for all panels.
    """
    arms = arms_of(runs_of(study, runs))
    if study.shows == "curves":
        return _curves(study, shown_arms(arms, study.axes))
    return _surfaces(study, arms) if study.shows == "heatmap" else []


def label_of(metric: str) -> str:
    """test_accuracy is read as "test accuracy, %"."""
    words = re.sub(r"^val_", "validation_", metric).replace("_", " ")
    return words + (", %" if is_share(metric) else "")


def is_share(metric: str) -> bool:
    """Is it recorded in [0, 1] and shown in percent?"""
    return metric.endswith("accuracy")


def shown_value(metric: str, value: float) -> float:
    """A value as it is shown."""
    return 100 * value if is_share(metric) else value


def _preferred(group: Sequence[Arm]) -> Arm:
    if len(group) == 1:
        return group[0]
    metric = selection_metric([run for arm in group for run in arm.runs])
    if metric is None and any(arm.done for arm in group):
        raise ValueError(
            f"runs must have a validation metric, val_…, to choose among "
            f"{len(group)} settings of {group[0].optimizer}, got none; name the "
            "setting that tells them apart in the study's axes"
        )
    return group[0] if metric is None else best(group, metric)


def _curves(study: StudyRecord, arms: Sequence[Arm]) -> list[Curves]:
    """One panel for each metric; with axes, one for each optimizer too."""
    names = list(dict.fromkeys(arm.optimizer for arm in arms))
    groups = [[a for a in arms if a.optimizer == n] for n in names]
    panels: list[Curves] = []
    for metric in study.metrics:
        together = [(label_of(metric), list(arms), False)]
        apart = [
            (f"{display(name)}: {label_of(metric)}", group, True)
            for name, group in zip(names, groups, strict=True)
        ]
        made = [
            _panel(study, metric, *part) for part in (apart if study.axes else together)
        ]
        panels += _alike([panel for panel in made if _finite_values(panel)])
    return panels


def _panel(
    study: StudyRecord, metric: str, title: str, arms: Sequence[Arm], bare: bool
) -> Curves:
    tasks = {name for arm in arms for name in arm.conditions}
    asked = [*study.axes, *(name for name in varying(arms) if name in tasks)]
    lines: list[Line] = []
    bands: dict[str, dict[str, list[float]]] = {}
    for arm in arms:
        label = _label(arm, asked, bare)
        line, band = _line(arm, metric, label)
        lines.append(line)
        bands[label] = band
    about = {"scale": study.scale, "note": study.note, "bands": bands}
    return Curves(
        study.name, title, "epoch", label_of(metric), tuple(lines), about=about
    )


def _label(arm: Arm, asked: Sequence[str], bare: bool) -> str:
    words = describe(arm, asked, bare=bare) or display(arm.optimizer)
    n = len(arm.runs)
    lost = [(arm.n_diverged, "diverged"), (arm.n_stopped, "stopped")]
    return ", ".join([words, *(f"{k} of {n} {what}" for k, what in lost if k)])


def _line(arm: Arm, metric: str, label: str) -> tuple[Line, dict[str, list[float]]]:
    """The mean over finished runs at each epoch, and the band of one std around it."""
    seen: dict[float, list[float]] = {}
    for run in arm.done:
        for i, entry in enumerate(run.history):
            value = shown_value(metric, number(entry.get(metric)))
            seen.setdefault(float(entry.get("epoch", i + 1)), []).append(value)
    x = tuple(sorted(seen)) or (1.0,)  # a line for the legend, if nothing else
    spreads = [spread(seen.get(epoch, [])) for epoch in x]
    band = {
        "low": [s.mean - s.std for s in spreads],
        "high": [s.mean + s.std for s in spreads],
    }
    return Line(label, x, tuple(s.mean for s in spreads)), band


def _alike(panels: Sequence[Curves]) -> list[Curves]:
    """The same scale in all panels of a metric, or they could not be compared."""
    values = [v for panel in panels for v in _finite_values(panel)]
    ends = [
        v
        for panel in panels
        for band in panel.about["bands"].values()
        for v in (*band["low"], *band["high"])
        if math.isfinite(v)
    ]
    if not values:
        return []
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > LOG_SPAN
    fixed = {"y_range": _with_margin([*values, *ends], is_log)}
    scale = "log" if is_log else "linear"
    return [
        replace(panel, y_scale=scale, about={**panel.about, **fixed})
        for panel in panels
    ]


def _with_margin(values: Sequence[float], is_log: bool) -> list[float]:
    """Where an axis begins and ends, so that no line lies on the frame."""
    if is_log:
        usable = [v for v in values if v > 0]
        return [min(usable) / 1.2, max(usable) * 1.2]
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - margin, high + margin]


def _finite_values(panel: Curves) -> list[float]:
    return [v for line in panel.lines for v in line.y if math.isfinite(v)]


def _surfaces(study: StudyRecord, arms: Sequence[Arm]) -> list[Surface]:
    """One panel for each optimizer, on the same axes and colours: they are compared."""
    if len(study.axes) != 2:
        raise ValueError(
            f"axes must be two settings for a heat map, got {len(study.axes)} "
            f"in {study.name}"
        )
    metric = study.metrics[0]
    across, down = study.axes
    usable = [
        a for a in arms if {across, down} <= {**a.conditions, **a.settings}.keys()
    ]
    shown = shown_arms(usable, study.axes)
    x = sorted({float(_axis(arm, across)) for arm in shown})
    y = sorted({float(_axis(arm, down)) for arm in shown})
    groups: dict[str, list[Arm]] = {}
    conditions = (
        [n for n in varying(shown) if n in shown[0].conditions] if shown else []
    )
    for arm in shown:
        groups.setdefault(describe(arm, conditions), []).append(arm)
    made = [
        _surface(study, metric, title, group, x, y) for title, group in groups.items()
    ]
    ends = [v for s in made for row in s.values for v in row if math.isfinite(v)]
    if not ends:
        return []
    common = {"range": [min(ends), max(ends)]}
    return [replace(s, about={**s.about, **common}) for s in made]


def _surface(
    study: StudyRecord,
    metric: str,
    title: str,
    arms: Sequence[Arm],
    x: Sequence[float],
    y: Sequence[float],
) -> Surface:
    across, down = study.axes
    found = {(float(_axis(a, across)), float(_axis(a, down))): a for a in arms}
    rows: list[tuple[float, ...]] = []
    counts: dict[str, list[list[int]]] = {"runs": [], "diverged": []}
    for high in y:
        cells = [found.get((right, high)) for right in x]
        rows.append(tuple(_cell(cell, metric) for cell in cells))
        counts["runs"].append([len(c.runs) if c else 0 for c in cells])
        counts["diverged"].append([c.n_diverged if c else 0 for c in cells])
    about = {
        "values": label_of(metric),
        "scale": study.scale,
        "note": study.note,
        "cells": counts,
    }
    return Surface(
        study.name, title, across, down, tuple(x), tuple(y), tuple(rows), about
    )


def _cell(arm: Arm | None, metric: str) -> float:
    return (
        math.nan if arm is None else shown_value(metric, over_seeds(arm, metric).mean)
    )


def _axis(arm: Arm, name: str) -> Any:
    return {**arm.conditions, **arm.settings}[name]
