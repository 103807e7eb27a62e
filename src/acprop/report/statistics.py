"""What runs with several seeds say together.

An arm is what a reader would call one method: an optimizer with all its settings, on
one task; its runs differ in the seed. Over n finished runs with values y_i:

    mean ± std      std² = Σ (y_i - mean)² / (n - 1)
    95 % interval   Student's below 8 values, the bootstrap's from 8 on; see
                    acprop.intervals

The same seed gives every arm the same weights and the same data, so two arms are
compared seed by seed; `comparisons` says how, and who is better.

A run that diverged has no final value. It is left out of the mean, and counted.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from acprop.intervals import interval
from acprop.plain import Plain, canonical
from acprop.records import BadRecordError, RunRecord, RunStatus
from acprop.report.style import display
from acprop.report.variants import variant, without_rule

LARGEST = 1e150  # beyond it a square, and so a deviation, is no float
UNCLEAN = "†"  # beside what came from code that no commit holds
# Chosen for a method, and no part of what it is: arms that differ in these alone are
# settings of one method.
CHOSEN = ("lr", "weight_decay", "decoupled", "eps", "beta1", "beta2", "epochs")


@dataclass(frozen=True, slots=True)
class Arm:
    """Runs that differ in nothing but the seed.

    optimizer   of ACProp which: see `variants`
    settings    all of the optimizer and of the schedule; runs are grouped by them
    written     those of them that the study wrote down, and that the optimizer's name
                does not stand for; they name the arm
    conditions  the settings of the task
    """

    optimizer: str
    settings: Plain
    written: Plain
    conditions: Plain
    runs: tuple[RunRecord, ...]

    @property
    def known(self) -> Plain:
        """Every setting there is, of task, optimizer and schedule."""
        return {**self.conditions, **self.settings}

    @property
    def method(self) -> str:
        """The same text for arms that differ in settings that are chosen, or in none.

        A line of a figure and a row of a table are of one method on one task.
        """
        kept = {k: v for k, v in self.written.items() if is_of_method(k)}
        return canonical([self.optimizer, self.conditions, kept])

    @property
    def mark(self) -> str:
        """Put beside its values if no commit holds the code of one of its runs."""
        return UNCLEAN if unclean(self.runs) else ""

    @property
    def done(self) -> tuple[RunRecord, ...]:
        """Those that came to their end."""
        return tuple(run for run in self.runs if run.status is RunStatus.DONE)

    @property
    def n_diverged(self) -> int:
        """How many ended in NaN or ∞."""
        return sum(run.status is RunStatus.DIVERGED for run in self.runs)

    @property
    def losses(self) -> list[str]:
        """How many runs have no value, in words."""
        stopped = sum(not run.status.is_result for run in self.runs)
        lost = [(self.n_diverged, "diverged"), (stopped, "stopped")]
        return [f"{k} of {len(self.runs)} {what}" for k, what in lost if k]


@dataclass(frozen=True, slots=True)
class Summary:
    """Values over seeds; what n is too small for is NaN."""

    n: int
    mean: float
    std: float
    low: float
    high: float


def arms_of(runs: Iterable[RunRecord]) -> list[Arm]:
    """Runs that differ in nothing but the seed belong together, in order of seed."""
    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        identity = [run.optimizer, _settings(run, run.settings), _conditions(run)]
        groups.setdefault(canonical(identity), []).append(run)
    return [_arm(members) for members in groups.values()]


def is_of_method(setting: str) -> bool:
    """Does a setting make another method, rather than another choice for one?"""
    return setting not in CHOSEN and not setting.startswith("schedule")


def unclean(runs: Sequence[RunRecord]) -> str:
    """The footnote on runs whose code no commit holds; empty if there is none."""
    dirty = sum(run.commit.endswith("-dirty") for run in runs)
    none = sum(not run.commit for run in runs)
    counts = [(dirty, "with changes not committed"), (none, "with no commit known")]
    parts = [f"{n} {what}" for n, what in counts if n]
    words = f"{', '.join(parts)}, of {len(runs)} runs"
    return f"{UNCLEAN} Code that no commit holds: {words}." if parts else ""


def value_of(run: RunRecord, metric: str) -> float:
    """A metric at the end of a run; NaN if the run has none."""
    value = run.final.get(metric)
    if value is None and run.history:
        value = run.history[-1].get(metric)
    return number(value)


def number(value: Any) -> float:
    """A number as it is; whatever else, and what is as good as ∞, as NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value) if abs(value) < LARGEST else math.nan


def summarize(values: Iterable[float]) -> Summary:
    """Mean, standard deviation and interval of the finite values."""
    known = [v for v in values if math.isfinite(v)]
    low, high = interval(known)
    return Summary(len(known), *mean_and_std(known), low, high)


def mean_and_std(values: Iterable[float]) -> tuple[float, float]:
    """Of the finite values; NaN where they are too few."""
    array = np.array([v for v in values if math.isfinite(v)], float)
    mean = float(array.mean()) if array.size else math.nan
    return mean, float(array.std(ddof=1)) if array.size > 1 else math.nan


def over_seeds(arm: Arm, metric: str) -> Summary:
    """A metric at the end of an arm's finished runs."""
    return summarize(value_of(run, metric) for run in arm.done)


def describe(arm: Arm, names: Iterable[str], *, bare: bool = False) -> str:
    """An arm in words: its optimizer and its settings of these names."""
    known = arm.known
    parts = [f"{name} = {brief(known[name])}" for name in names if name in known]
    return ", ".join(parts if bare else [display(arm.optimizer), *parts])


def varying(arms: Sequence[Arm]) -> list[str]:
    """Which written settings and conditions are not the same in all arms with them.

    Among arms of one optimizer, also those that only some of them have.
    """
    plain = [(arm.optimizer, {**arm.conditions, **arm.written}) for arm in arms]
    optimizers = {optimizer for optimizer, _ in plain}

    def differs(name: str) -> bool:
        has = {(optimizer, name in known) for optimizer, known in plain}
        values = [known[name] for _, known in plain if name in known]
        texts = {canonical(value) for value in values}
        return len(texts) > 1 or len(has) > len(optimizers)

    names = dict.fromkeys(name for _, known in plain for name in known)
    return [name for name in names if differs(name)]


def brief(value: Any) -> str:
    """A setting in few letters: 0.001, 1e-08, (0.9, 0.999)."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(brief, cast(list[Any], value)))})"
    return str(value)


def _arm(members: Sequence[RunRecord]) -> Arm:
    runs = sorted(members, key=lambda run: run.seed)
    for before, after in pairwise(runs):
        if before.seed == after.seed:
            raise BadRecordError(
                f"runs must have a seed once for each arm, got {before.seed} in "
                f"{before.run} and {after.run}; give the runs of one study and scale"
            )
    first = runs[0]
    written = without_rule(first.optimizer, first.study_settings)
    return Arm(
        variant(first.optimizer, first.settings),
        settings=_settings(first, first.settings),
        written=_settings(first, written),
        conditions=_conditions(first),
        runs=tuple(runs),
    )


def _settings(run: RunRecord, of_optimizer: Plain) -> Plain:
    """The optimizer's settings; of the rest of the spec, how long and on what lr."""
    settings = _without_seed(of_optimizer)
    betas = settings.pop("betas", ())  # a study that varies β1 says "beta1"
    named = {f"beta{i}": beta for i, beta in enumerate(betas, 1)}
    schedule = {k: run.spec[k] for k in ("epochs", "schedule") if k in run.spec}
    return {**settings, **named, **_flat(schedule)}


def _conditions(run: RunRecord) -> Plain:
    task = {"task": run.spec["task"]} if run.spec.get("task") is not None else {}
    return {**task, **_flat(_without_seed(run.spec.get("task_settings", {})))}


def _without_seed(plain: Plain) -> Plain:
    return {name: value for name, value in plain.items() if name != "seed"}


def _flat(plain: Plain) -> Plain:
    """{"schedule": {"kind": "constant"}} as {"schedule kind": "constant"}."""
    flat: Plain = {}
    for name, value in plain.items():
        if isinstance(value, dict):
            inner = _flat(cast(Plain, value))
            flat |= {f"{name} {key}": item for key, item in inner.items()}
        else:
            flat[name] = value
    return flat
