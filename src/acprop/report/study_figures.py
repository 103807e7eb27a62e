"""A study's runs as figures: the records that `figures.draw` draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acprop.metrics import Metric, metric_of
from acprop.records import (
    ArmBar,
    Bars,
    Curves,
    Drawing,
    Line,
    RunRecord,
    RunStatus,
    Surface,
)
from acprop.report.factorial import effect_bars
from acprop.report.statistics import (
    Arm,
    describe,
    mean_and_std,
    number,
    over_seeds,
    summarize,
    value_of,
)
from acprop.report.studies import StudyRuns, method_settings, shown_arms
from acprop.report.style import LOG_SPAN, display


def study_figures(found: StudyRuns) -> dict[str, Sequence[Drawing]]:
    """What is drawn of a study, by kind, a figure each; one without values is left out.

    "surface", "bars", "effects" or "curves" is what the study shows; how settings
    matter is the end over each axis, "sensitivity", and every trial of a search,
    "points".
    A line's band is mean ∓ std at each x; panels of one metric have the same range.
    """
    shows = found.study.shows
    made: dict[str, Sequence[Drawing]] = {
        "surface": _surfaces(found) if shows == "heatmap" else [],
        "bars": _bars(found) if shows == "bars" else [],
        "effects": effect_bars(found) if shows == "effects" else [],
        "curves": _curves(found) if shows in ("bars", "curves") else [],
        "sensitivity": _sensitivity(found),
        # 32 corners with three trials each show nothing as a picture.
        "points": _trial_points(found) if shows != "effects" else [],
    }
    return {kind: records for kind, records in made.items() if records}


def _sensitivity(found: StudyRuns) -> list[Curves]:
    """One panel for each axis with three places or more."""
    return [
        panel
        for panel in (_over_axis(found, axis) for axis in found.study.axes)
        if _finite_values(panel) and any(len(line.x) > 2 for line in panel.lines)
    ]


def _panel(
    found: StudyRuns, metric: str, title: str, lines: Sequence[Line], **more: Any
) -> Curves:
    """Curves of one metric; more: fields that differ from these."""
    about = metric_of(metric)
    given: dict[str, Any] = {
        "name": found.study.name,
        "x_label": "epoch",
        "y_label": about.label,
        "better": about.better,
        "about": _about(found),
        **more,
    }
    return Curves(title=title, lines=tuple(lines), **given)


def _about(found: StudyRuns) -> dict[str, str]:
    study = found.study
    return {"scale": study.scale, "note": study.note, "ruleset": study.ruleset}


def _grouped(arms: Sequence[Arm], without: Sequence[str]) -> dict[str, list[Arm]]:
    """Arms of one method, by its name; axes do not make another."""
    names = [name for name in method_settings(arms) if name not in without]
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(describe(arm, names), []).append(arm)
    return groups


def _over_axis(found: StudyRuns, axis: str) -> Curves:
    """The metric at the end, one line for each method."""
    metric = found.metric
    usable = [arm for arm in found.arms if _is_number(arm.known.get(axis))]
    lines: list[Line] = []
    for name, group in _grouped(shown_arms(usable, [axis]), [axis]).items():
        ends = {float(arm.known[axis]): _ends(arm, metric) for arm in group}
        dots = [(place, value) for place in sorted(ends) for value in ends[place]]
        lines.append(_band_line(name, ends, dots))
    places = [place for line in lines for place in line.x]
    is_log = min(places, default=0) > 0 and max(places) / min(places) >= LOG_SPAN
    return _panel(
        found,
        metric,
        f"{metric_of(metric).label} at the end",
        lines,
        name=f"{found.study.name}-{axis}",
        x_label=axis,
        x_scale="log" if is_log else "linear",
        band="band: ± one standard deviation over seeds",
    )


def _trial_points(found: StudyRuns) -> list[Curves]:
    """Validation over the learning rate, a point for each trial; NaN if it failed."""
    metric = found.study.tuning.get("metric")
    trials = [trial for trial in found.trial_results if "lr" in trial.settings]
    if not metric or not trials:
        return []
    lines: list[Line] = []
    for name in dict.fromkeys(trial.contestant for trial in trials):
        own = [trial for trial in trials if trial.contestant == name]
        able = sorted(
            (t.settings["lr"], metric_of(metric).factor * t.value)
            for t in own
            if math.isfinite(t.value)
        )
        lost = len(own) - len(able)
        note = f", {lost} of {len(own)} without a value" if lost else ""
        x, y = zip(*able, strict=True) if able else ((math.nan,), (math.nan,))
        dots = tuple((t.settings["lr"], math.nan) for t in own if t.has_failed)
        lines.append(Line(found.labels[name] + note, x, y, dots=dots))
    if all(math.isnan(x) for line in lines for x in line.x):
        return []
    title = "every trial: other settings vary too"
    how = {"x_label": "lr", "x_scale": "log", "drawn": "points"}
    return [_panel(found, metric, title, lines, **how)]


def _ends(arm: Arm, metric: str) -> list[float]:
    """The metric at the end of every run; NaN for one that failed."""
    factor = metric_of(metric).factor
    return [
        factor * value_of(run, metric) if run.status is RunStatus.DONE else math.nan
        for run in arm.runs
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bars(found: StudyRuns) -> list[Bars]:
    """The first metric at the end; an arm without a value has no bar, but a place."""
    about, arms = metric_of(found.study.metrics[0]), found.lines
    bars: list[ArmBar] = []
    for arm, name in zip(arms, found.full_names(arms), strict=True):
        values = tuple(_ends(arm, about.name))
        seen = summarize(values)
        bars.append(ArmBar(name, seen.mean, seen.low, seen.high, values))
    made = Bars(
        found.study.name,
        about.label,
        about.label,
        tuple(bars),
        _about(found),
        about.better,
    )
    return [made] if any(math.isfinite(bar.mean) for bar in bars) else []


def _curves(found: StudyRuns) -> list[Curves]:
    """One panel for each metric; with axes, one for each optimizer too."""
    has_axes = bool(found.study.axes)
    groups: dict[str, list[Arm]] = {}
    for arm in found.lines:
        title = f"{display(arm.optimizer)}: " if has_axes else ""
        groups.setdefault(title, []).append(arm)
    panels: list[Curves] = []
    for metric in found.study.metrics:
        made: list[Curves] = []
        for title, arms in groups.items():
            names = found.full_names(arms, bare=has_axes)
            lines = [_line(a, metric, n) for a, n in zip(arms, names, strict=True)]
            title = f"{title}{metric_of(metric).label}"
            made.append(_panel(found, metric, title, lines, band=_band(arms)))
        panels += _alike([panel for panel in made if _finite_values(panel)])
    return panels


def _band(arms: Sequence[Arm]) -> str:
    """What a band is; arms that lost runs have fewer seeds than others."""
    counts = {len(arm.done) for arm in arms}
    seeds = f"{counts.pop()} seeds" if len(counts) == 1 else "seeds"
    return f"band: ± one standard deviation over {seeds}"


def _line(arm: Arm, metric: str, label: str) -> Line:
    """The mean over finished runs at each epoch, and the band of one std around it.

    A dot for each seed at the end; NaN where a run failed.
    """
    seen: dict[float, list[float]] = {}
    for run in arm.done:
        for i, entry in enumerate(run.history, 1):
            value = metric_of(metric).factor * number(entry.get(metric))
            seen.setdefault(number(entry.get("epoch", i)), []).append(value)
    last = max(seen, default=1.0)
    failed = [(_last_epoch(run), math.nan) for run in arm.runs if run not in arm.done]
    ends = [(last, value) for value in seen.get(last, ()) if len(seen) > 1]
    # A line for the legend, if nothing else.
    return _band_line(label, seen or {1.0: []}, [*ends, *failed])


def _band_line(
    label: str,
    values: Mapping[float, list[float]],
    dots: Sequence[tuple[float, float]],
) -> Line:
    """Through the mean of the values at each x, with a band of one std around it."""
    x = tuple(sorted(values))
    found = [mean_and_std(values[place]) for place in x]
    return Line(
        label,
        x,
        y=tuple(mean for mean, _ in found),
        low=tuple(mean - std for mean, std in found),
        high=tuple(mean + std for mean, std in found),
        dots=tuple(dots),
    )


def _last_epoch(run: RunRecord) -> float:
    return number(run.history[-1].get("epoch", 1)) if run.history else 1.0


def _alike(panels: Sequence[Curves]) -> list[Curves]:
    """The same scale in all panels of a metric, or they could not be compared.

    A margin keeps lines off the frame.
    """
    values = [v for panel in panels for v in _finite_values(panel)]
    if not values:
        return []
    lines = [line for panel in panels for line in panel.lines]
    ends = [v for line in lines for v in (*line.low, *line.high) if math.isfinite(v)]
    is_log = min(values) > 0 and max(values) / min(values) > LOG_SPAN
    if is_log:
        usable = [v for v in (*values, *ends) if v > 0]
        y_range = min(usable) / 1.2, max(usable) * 1.2
    else:
        low, high = min([*values, *ends]), max([*values, *ends])
        margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
        y_range = low - margin, high + margin
    scale = "log" if is_log else "linear"
    return [replace(panel, y_scale=scale, y_range=y_range) for panel in panels]


def _finite_values(panel: Curves) -> list[float]:
    return [v for line in panel.lines for v in line.y if math.isfinite(v)]


def _mean(arm: Arm | None, metric: Metric) -> float:
    return metric.factor * over_seeds(arm, metric.name).mean if arm else math.nan


def _surfaces(found: StudyRuns) -> list[Surface]:
    """One panel for each method, on the same axes and colours: they are compared."""
    axes = across, down = found.study.axes
    usable = [a for a in found.arms if all(_is_number(a.known.get(n)) for n in axes)]
    shown = shown_arms(usable, axes)
    x = sorted({float(arm.known[across]) for arm in shown})
    y = sorted({float(arm.known[down]) for arm in shown})
    about = metric_of(found.study.metrics[0])
    made: list[Surface] = []
    for title, group in _grouped(shown, axes).items():
        places = {(float(a.known[across]), float(a.known[down])): a for a in group}
        cells = [[places.get((right, high)) for right in x] for high in y]
        means = [[_mean(cell, about) for cell in row] for row in cells]
        runs = [[len(c.runs) if c else 0 for c in row] for row in cells]
        diverged = [[c.n_diverged if c else 0 for c in row] for row in cells]
        surface = Surface(
            found.study.name,
            title,
            across,
            down,
            about.label,
            tuple(x),
            tuple(y),
            tuple(map(tuple, means)),
            n_runs=tuple(map(tuple, runs)),
            n_diverged=tuple(map(tuple, diverged)),
            about=_about(found),
        )
        made.append(surface)
    ends = [v for s in made for row in s.values for v in row if math.isfinite(v)]
    return [replace(s, value_range=(min(ends), max(ends))) for s in made if ends]
