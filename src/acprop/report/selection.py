"""Which trial of an optimizer is its best: by validation, and by nothing else.

A trial is one point of a search space, run on the seeds of tuning. Its value is the
mean of the validation metric over these seeds, at its last epoch. A trial of which one
run failed has failed: it is counted and shown, and cannot win.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acprop.checks import UserError
from acprop.metrics import metric_of
from acprop.plain import Plain
from acprop.records import RunRecord, RunStatus
from acprop.report.statistics import number

__all__ = ["TrialResult", "check_metric", "leaders", "trial_results", "winner"]

_FAILED = (RunStatus.DIVERGED, RunStatus.TIMEOUT, RunStatus.ERROR)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """value: NaN if a run failed, or has not come so far.

    epochs: how far every one of its runs has come. failures: in words, one for a run.
    """

    contestant: str
    number: int
    settings: Plain
    runs: tuple[RunRecord, ...]
    value: float
    epochs: int
    is_finished: bool
    failures: tuple[str, ...]


def check_metric(metric: str) -> None:
    """Refuse to select by anything but validation."""
    if not metric.startswith("val_"):
        raise UserError(
            f"metric must be one of validation, val_…, got {metric}; selecting by "
            "another would make its own result look better than it is"
        )


def trial_results(
    trials: Iterable[Mapping[str, Any]],
    records: Mapping[str, RunRecord],
    metric: str,
    *,
    epoch: int | None = None,
) -> list[TrialResult]:
    """What became of trials. epoch: look at this one, for a run that is paused."""
    check_metric(metric)
    return [_result(trial, records, metric, epoch) for trial in trials]


def winner(results: Sequence[TrialResult], metric: str) -> TrialResult | None:
    """The best of those that came to their end; the first of equals."""
    able = [result for result in results if result.is_finished]
    ranked = leaders(able, metric, len(able))
    return ranked[0] if ranked else None


def leaders(results: Sequence[TrialResult], metric: str, n: int) -> list[TrialResult]:
    """The n best that have a value, the best first."""
    check_metric(metric)
    sign = metric_of(metric).sign
    able = [result for result in results if math.isfinite(result.value)]
    return sorted(able, key=lambda r: (-sign * r.value, r.number))[:n]


def _result(
    trial: Mapping[str, Any],
    records: Mapping[str, RunRecord],
    metric: str,
    epoch: int | None,
) -> TrialResult:
    runs = [records[name] for name in trial["runs"] if name in records]
    lost = len(trial["runs"]) - len(runs)
    failures = [
        f"{run.status}: {run.message or run.status.message}"
        for run in runs
        if run.status in _FAILED
    ]
    failures += ["no record"] * lost
    epochs = min((len(run.history) for run in runs), default=0)
    is_there = runs and not failures and epochs >= (epoch or 1)
    values = [_value(run, metric, epoch) for run in runs]
    return TrialResult(
        trial["contestant"],
        trial["number"],
        trial["settings"],
        tuple(runs),
        value=float(np.mean(values)) if is_there else math.nan,
        epochs=epochs,
        is_finished=not lost and all(run.status is RunStatus.DONE for run in runs),
        failures=tuple(failures),
    )


def _value(run: RunRecord, metric: str, epoch: int | None) -> float:
    if not run.history:
        return math.nan
    entry = run.history[-1 if epoch is None else min(epoch, len(run.history)) - 1]
    return number(entry.get(metric))
