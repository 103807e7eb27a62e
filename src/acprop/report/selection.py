"""Which settings of an optimizer are its best: by validation, and by nothing else.

Settings are compared by the mean of the validation metric over seeds, at the last
epoch. Of the trials of a search, each one point run on the seeds of tuning, one of
which a run failed has failed: it is counted and shown, and cannot win.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from acprop.checks import UserError
from acprop.metrics import metric_of, primary_metric
from acprop.plain import Plain
from acprop.records import RunRecord, RunStatus
from acprop.report.statistics import Arm, number, over_seeds

_FAILED = (RunStatus.DIVERGED, RunStatus.TIMEOUT, RunStatus.ERROR)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """value: NaN unless all its runs are done."""

    contestant: str
    number: int
    settings: Plain
    value: float
    has_failed: bool


def selection_metric(runs: Iterable[RunRecord]) -> str | None:
    """The validation metric by which settings of these runs are chosen."""
    names = {name for run in runs for name in run.final if name.startswith("val_")}
    return primary_metric(names, "val") if names else None


def best(arms: Sequence[Arm], metric: str) -> Arm:
    """The arm that validation prefers.

    An arm all of whose runs finished goes before one that lost some: a mean over the
    seeds that survived would reward diverging on the hard ones.
    """
    sign = _sign(metric)

    def rank(arm: Arm) -> tuple[float, float]:
        seen = over_seeds(arm, metric)
        return seen.n / len(arm.runs), sign * seen.mean if seen.n else -math.inf

    return max(arms, key=rank)  # the first of equals


def trial_results(
    trials: Iterable[Mapping[str, Any]], records: Mapping[str, RunRecord], metric: str
) -> list[TrialResult]:
    """What became of trials; one whose run has no record has failed."""
    _sign(metric)
    results: list[TrialResult] = []
    for trial in trials:
        runs = [records.get(name) for name in trial["runs"]]
        values = [
            number(run.history[-1].get(metric)) if run.history else math.nan
            for run in runs
            if run and run.status is RunStatus.DONE
        ]
        is_whole = len(values) == len(runs) > 0
        results.append(
            TrialResult(
                trial["contestant"],
                trial["number"],
                trial["settings"],
                float(np.mean(values)) if is_whole else math.nan,
                any(run is None or run.status in _FAILED for run in runs),
            )
        )
    return results


def winner(results: Iterable[TrialResult], metric: str) -> TrialResult | None:
    """The best that has a value; the first of equals."""
    sign = _sign(metric)
    able = [result for result in results if math.isfinite(result.value)]
    return max(able, key=lambda r: (sign * r.value, -r.number), default=None)


def _sign(metric: str) -> int:
    """Times a value, higher is better; anything but validation is refused."""
    if not metric.startswith("val_"):
        raise UserError(
            f"metric must be one of validation, val_…, got {metric}; selecting by "
            "another would make its own result look better than it is"
        )
    return metric_of(metric).sign
