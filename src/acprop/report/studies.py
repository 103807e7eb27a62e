"""A study's runs as figures: the records that `figures.draw` draws.

Which arms are shown follows from the study's axes. Arms that differ in one of them are
all shown; of those that differ in anything else, the one that validation prefers, as
`statistics.best` says. What the test data say never decides.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from acprop.checks import UserError
from acprop.plain import canonical
from acprop.records import (
    Bar,
    Bars,
    Curves,
    Line,
    RunRecord,
    RunStatus,
    StudyRecord,
    Surface,
)
from acprop.report.metrics import is_share, label_of, shown_value
from acprop.report.statistics import (
    Arm,
    arms_of,
    best,
    describe,
    is_of_method,
    mean_and_std,
    number,
    over_seeds,
    selection_metric,
    spread,
    value_of,
    varying,
)
from acprop.report.style import LOG_SPAN, display
from acprop.report.variants import variant, without_rule

__all__ = [
    "StudyRuns",
    "arm_names",
    "contestant_labels",
    "contestant_names",
    "gather",
    "sensitivity_curves",
    "shown_arms",
    "study_figures",
]


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """A study, those of its runs that have a record, and the same runs as arms.

    trials: the runs by which settings were chosen; they are in no arm.
    """

    study: StudyRecord
    runs: tuple[RunRecord, ...]
    arms: tuple[Arm, ...]
    trials: tuple[RunRecord, ...] = ()


def gather(study: StudyRecord, runs: Iterable[RunRecord]) -> StudyRuns:
    """The runs that the study names, in its order, as far as there are records."""
    known = {run.run: run for run in runs}
    found = tuple(known[name] for name in dict.fromkeys(study.runs) if name in known)
    for metric in filter(is_share, study.metrics):
        for value in (value_of(run, metric) for run in found):
            if value > 1:
                raise UserError(
                    f"{metric} must be a share in [0, 1], got {value:.6g} in "
                    f"{study.name}; record no percent"
                )
    tried = [run for trial in study.tuning.get("trials", ()) for run in trial["runs"]]
    trials = tuple(known[name] for name in dict.fromkeys(tried) if name in known)
    return StudyRuns(study, found, tuple(arms_of(found)), trials)


def shown_arms(arms: Sequence[Arm], axes: Sequence[str]) -> list[Arm]:
    """One arm for each method, task and value of the axes: validation's choice."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        values = [arm.known.get(name) for name in axes]
        place = canonical([arm.method, values])
        groups.setdefault(place, []).append(arm)
    return [_preferred(group) for group in groups.values()]


def arm_names(
    found: StudyRuns, arms: Sequence[Arm], *, bare: bool = False
) -> list[str]:
    """Each arm in words that tell it from the others."""
    study = found.study
    if study.contestants:
        owners = contestant_names(found)
        return [", ".join([owners[a.runs[0].run], *a.losses]) for a in arms]
    told = dict.fromkeys([*study.axes, *_of_methods(arms)])
    return [_label(arm, [*told], bare) for arm in arms]


def _of_methods(arms: Sequence[Arm]) -> list[str]:
    """What tells methods and tasks apart, beside the optimizer's name."""
    return [name for name in varying(arms) if is_of_method(name)]


def contestant_names(found: StudyRuns) -> dict[str, str]:
    """For each run the contestant it is of, as a reader sees it."""
    labels = contestant_labels(found)
    owners = found.study.contestants.items()
    return {run: labels[name] for name, runs in owners for run in runs}


def contestant_labels(found: StudyRuns) -> dict[str, str]:
    """acprop convention=authors as ACProp (paper), authors' code.

    What a contestant ran is in its runs; where there is none, in its name.
    """
    tried = found.study.tuning.get("trials", ())
    runs = {name: list(some) for name, some in found.study.contestants.items()}
    for trial in tried:
        runs.setdefault(trial["contestant"], []).extend(trial["runs"])
    known = {run.run: run for run in (*found.runs, *found.trials)}
    labels: dict[str, str] = {}
    for name, some in runs.items():
        optimizer, *words = name.split(" ")
        settings = dict(word.split("=", 1) for word in words if "=" in word)
        first = next((known[run] for run in some if run in known), None)
        which = variant(optimizer, first.settings if first else settings)
        rest = without_rule(optimizer, settings).items()
        labels[name] = ", ".join([display(which), *(f"{k} = {v}" for k, v in rest)])
    return labels


def study_figures(found: StudyRuns) -> list[Curves | Surface | Bars]:
    """What the study shows; empty if no run has anything to show, or for a table.

    A line's band is mean ∓ std at each x; panels of one metric have the same range.
    """
    study = found.study
    if study.shows == "heatmap":
        return [*_surfaces(study, found.arms)]
    if study.shows == "table":
        return []
    is_paper = study.ruleset == "paper"
    shown = shown_arms(found.arms, study.axes) if is_paper else list(found.arms)
    bars = _bars(found, shown) if study.shows == "bars" else []
    return [*bars, *_curves(found, shown)]


def sensitivity_curves(found: StudyRuns) -> list[Curves]:
    """The metric at the end over each axis that is a number, one line per method.

    Of arms at the same place of the axis the one that validation prefers.
    """
    study = found.study
    tests = [name for name in study.metrics if name.startswith("test_")]
    metric = (tests or [*study.metrics, ""])[0]
    made: list[Curves] = []
    for axis in study.axes if metric else ():
        arms = [arm for arm in found.arms if _is_number(arm.known.get(axis))]
        if arms:
            shown = shown_arms(arms, [axis])
            made.append(_sensitivity(study, metric, axis, shown))
    return [
        panel
        for panel in made
        if _finite_values(panel) and any(len(line.x) > 2 for line in panel.lines)
    ]


def _sensitivity(
    study: StudyRecord, metric: str, axis: str, arms: Sequence[Arm]
) -> Curves:
    places = [float(arm.known[axis]) for arm in arms]
    is_log = min(places) > 0 and max(places) / min(places) >= LOG_SPAN
    told = [name for name in _of_methods(arms) if name != axis]
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(describe(arm, told), []).append(arm)
    return Curves(
        f"{study.name}-{axis}",
        f"{label_of(metric)} at the end",
        axis,
        label_of(metric),
        tuple(_line_over(axis, metric, name, group) for name, group in groups.items()),
        x_scale="log" if is_log else "linear",
        band="band: ± one standard deviation over seeds",
        about={"scale": study.scale, "note": study.note},
    )


def _line_over(axis: str, metric: str, label: str, arms: Sequence[Arm]) -> Line:
    ordered = sorted(arms, key=lambda arm: float(arm.known[axis]))
    x = tuple(float(arm.known[axis]) for arm in ordered)
    values = [_ends(arm, metric) for arm in ordered]
    spreads = [mean_and_std(some) for some in values]
    return Line(
        label,
        x,
        y=tuple(mean for mean, _ in spreads),
        low=tuple(mean - std for mean, std in spreads),
        high=tuple(mean + std for mean, std in spreads),
        dots=tuple(
            (place, value)
            for place, some in zip(x, values, strict=True)
            for value in some
        ),
    )


def _ends(arm: Arm, metric: str) -> list[float]:
    """The metric at the end of every run; NaN for one that failed."""
    return [
        shown_value(metric, value_of(run, metric)) if _is_done(run) else math.nan
        for run in arm.runs
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bars(found: StudyRuns, arms: Sequence[Arm]) -> list[Bars]:
    """The first metric at the end; an arm without a value has no bar, but a place."""
    study, metric = found.study, found.study.metrics[0]
    bars: list[Bar] = []
    for arm, name in zip(arms, arm_names(found, arms), strict=True):
        values = tuple(_ends(arm, metric))
        seen = spread(values)
        bars.append(Bar(name, seen.mean, seen.low, seen.high, values))
    about = {"scale": study.scale, "note": study.note}
    label = label_of(metric)
    has_values = any(math.isfinite(bar.mean) for bar in bars)
    return [Bars(study.name, label, label, tuple(bars), about)] if has_values else []


def _preferred(group: Sequence[Arm]) -> Arm:
    if len(group) == 1:
        return group[0]
    metric = selection_metric([run for arm in group for run in arm.runs])
    if metric is None and any(arm.done for arm in group):
        raise UserError(
            f"runs must have a validation metric, val_…, to choose among "
            f"{len(group)} settings of {group[0].optimizer}, got none; name the "
            "setting that tells them apart in the study's axes"
        )
    return group[0] if metric is None else best(group, metric)


def _curves(found: StudyRuns, arms: Sequence[Arm]) -> list[Curves]:
    """One panel for each metric; with axes, one for each optimizer too."""
    study = found.study
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
            _panel(found, metric, *part) for part in (apart if study.axes else together)
        ]
        panels += _alike([panel for panel in made if _finite_values(panel)])
    return panels


def _panel(
    found: StudyRuns, metric: str, title: str, arms: Sequence[Arm], bare: bool
) -> Curves:
    study = found.study
    names = arm_names(found, arms, bare=bare)
    lines = tuple(
        _line(arm, metric, name) for arm, name in zip(arms, names, strict=True)
    )
    about = {"scale": study.scale, "note": study.note}
    words = label_of(metric)
    return Curves(
        study.name, title, "epoch", words, lines, band=_band(arms), about=about
    )


def _band(arms: Sequence[Arm]) -> str:
    """What a band is; arms that lost runs have fewer seeds than others."""
    counts = {len(arm.done) for arm in arms}
    seeds = f"{counts.pop()} seeds" if len(counts) == 1 else "seeds"
    return f"band: ± one standard deviation over {seeds}"


def _label(arm: Arm, told: Sequence[str], bare: bool) -> str:
    words = describe(arm, told, bare=bare) or display(arm.optimizer)
    return ", ".join([words, *arm.losses])


def _line(arm: Arm, metric: str, label: str) -> Line:
    """The mean over finished runs at each epoch, and the band of one std around it.

    A dot for each seed at the end; NaN where a run failed.
    """
    seen: dict[float, list[float]] = {}
    for run in arm.done:
        for i, entry in enumerate(run.history):
            value = shown_value(metric, number(entry.get(metric)))
            seen.setdefault(float(entry.get("epoch", i + 1)), []).append(value)
    x = tuple(sorted(seen)) or (1.0,)  # a line for the legend, if nothing else
    spreads = [mean_and_std(seen.get(epoch, [])) for epoch in x]
    failed = [(_last_epoch(r), math.nan) for r in arm.runs if not _is_done(r)]
    ends = [(x[-1], value) for value in seen.get(x[-1], ()) if len(x) > 1]
    return Line(
        label,
        x,
        y=tuple(mean for mean, _ in spreads),
        low=tuple(mean - std for mean, std in spreads),
        high=tuple(mean + std for mean, std in spreads),
        dots=(*ends, *failed),
    )


def _is_done(run: RunRecord) -> bool:
    return run.status is RunStatus.DONE


def _last_epoch(run: RunRecord) -> float:
    return float(run.history[-1].get("epoch", 1)) if run.history else 1.0


def _alike(panels: Sequence[Curves]) -> list[Curves]:
    """The same scale in all panels of a metric, or they could not be compared."""
    values = [v for panel in panels for v in _finite_values(panel)]
    ends = [
        v
        for panel in panels
        for line in panel.lines
        for v in (*line.low, *line.high)
        if math.isfinite(v)
    ]
    if not values:
        return []
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > LOG_SPAN
    y_range = _with_margin([*values, *ends], is_log)
    scale = "log" if is_log else "linear"
    return [replace(panel, y_scale=scale, y_range=y_range) for panel in panels]


def _with_margin(values: Sequence[float], is_log: bool) -> tuple[float, float]:
    """Where an axis begins and ends, so that no line lies on the frame."""
    if is_log:
        usable = [v for v in values if v > 0]
        return min(usable) / 1.2, max(usable) * 1.2
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _finite_values(panel: Curves) -> list[float]:
    return [v for line in panel.lines for v in line.y if math.isfinite(v)]


def _surfaces(study: StudyRecord, arms: Sequence[Arm]) -> list[Surface]:
    """One panel for each optimizer, on the same axes and colours: they are compared."""
    if len(study.axes) != 2:
        raise UserError(
            f"axes must be two settings for a heat map, got {len(study.axes)} "
            f"in {study.name}"
        )
    metric = study.metrics[0]
    across, down = study.axes
    usable = [arm for arm in arms if {across, down} <= arm.known.keys()]
    shown = shown_arms(usable, study.axes)
    x = sorted({float(arm.known[across]) for arm in shown})
    y = sorted({float(arm.known[down]) for arm in shown})
    groups: dict[str, list[Arm]] = {}
    told = [name for name in _of_methods(shown) if name not in study.axes]
    for arm in shown:
        groups.setdefault(describe(arm, told), []).append(arm)
    made = [
        _surface(study, metric, title, group, x, y) for title, group in groups.items()
    ]
    ends = [v for s in made for row in s.values for v in row if math.isfinite(v)]
    if not ends:
        return []
    return [replace(s, value_range=(min(ends), max(ends))) for s in made]


def _surface(
    study: StudyRecord,
    metric: str,
    title: str,
    arms: Sequence[Arm],
    x: Sequence[float],
    y: Sequence[float],
) -> Surface:
    across, down = study.axes
    found = {(float(a.known[across]), float(a.known[down])): a for a in arms}
    cells = [[found.get((right, high)) for right in x] for high in y]
    return Surface(
        study.name,
        title,
        across,
        down,
        label_of(metric),
        tuple(x),
        tuple(y),
        values=tuple(tuple(_cell(c, metric) for c in row) for row in cells),
        n_runs=tuple(tuple(len(c.runs) if c else 0 for c in row) for row in cells),
        n_diverged=tuple(tuple(c.n_diverged if c else 0 for c in row) for row in cells),
        about={"scale": study.scale, "note": study.note},
    )


def _cell(arm: Arm | None, metric: str) -> float:
    return (
        math.nan if arm is None else shown_value(metric, over_seeds(arm, metric).mean)
    )
