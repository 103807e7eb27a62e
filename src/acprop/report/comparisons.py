"""Is one arm better than another, when several are compared and some runs fail?

Over seeds that both have finished, d_i = y_i - reference_i:

    interval   of the mean of d, as in `acprop.intervals`
    p          of Student's test that the mean of d is 0
    Holm       p_(1) ≤ … ≤ p_(m) of the m comparisons of a study become
               max over j ≤ i of min(1, (m - j + 1)·p_(j))
    better     0 is outside the interval, Holm's p is below 0.05, and there are five
               pairs or more; anything else is "no difference shown"

A run that failed (diverged, an error, out of time or memory) has no value. It is shown,
and it counts: an arm of which more runs failed is never called better, and such a run
never reaches a target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from acprop.metrics import metric_of
from acprop.records import RunRecord
from acprop.report.statistics import Arm, Summary, number, summarize, value_of

LEVEL = 0.05
FEWEST = 5  # pairs of seeds; with fewer, nobody is called better
NOTHING = "no difference shown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm minus its reference. p: corrected for all comparisons of its study."""

    difference: Summary
    p: float
    words: str


def compare_all(
    arms: Sequence[Arm], reference: Arm, metric: str
) -> list[Comparison | None]:
    """Every arm with the reference, as one family; None for the reference itself."""
    others = [(arm, reference) for arm in arms if arm is not reference]
    made = iter(compare_pairs(others, metric))
    return [None if arm is reference else next(made) for arm in arms]


def compare_pairs(pairs: Sequence[tuple[Arm, Arm]], metric: str) -> list[Comparison]:
    """Every arm with the reference beside it, as one family."""
    differences = [_differences(arm, reference, metric) for arm, reference in pairs]
    corrected = holm([paired_p(some) for some in differences])
    made: list[Comparison] = []
    for (arm, other), some, p in zip(pairs, differences, corrected, strict=True):
        seen = summarize(some)
        words = _words(seen, metric, p, _failed(arm) - _failed(other))
        made.append(Comparison(seen, p, words))
    return made


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction; a comparison that has no p counts as one with p = 1."""
    known = [1.0 if math.isnan(p) else p for p in p_values]
    corrected = [1.0] * len(known)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        highest = max(highest, min(1.0, (len(known) - rank) * known[i]))
        corrected[i] = highest
    return corrected


def paired_p(differences: Sequence[float]) -> float:
    """Student's test of a mean of 0; NaN for fewer than two differences."""
    if len(differences) < 2:
        return math.nan
    if np.ptp(differences) == 0:  # no spread: a difference without a doubt, or none
        return 1.0 if differences[0] == 0 else 0.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)  # pyright: ignore


def to_target(arm: Arm, metric: str, target: float) -> tuple[float, float, int]:
    """Steps and seconds of training until a target is first reached, and by how many.

    Medians over all runs; ∞ if most never reach it.
    """
    found = [_first(run, metric, target) for run in arm.runs]
    steps, seconds = np.median(found, axis=0)
    return float(steps), float(seconds), int(np.isfinite(found).all(axis=1).sum())


def _words(seen: Summary, metric: str, p: float, more_failed: int) -> str:
    """The one place that calls an arm better or worse."""
    if not (seen.low > 0 or seen.high < 0):  # of one pair both are NaN
        return NOTHING
    if seen.n < FEWEST:
        return f"{NOTHING}: fewer than {FEWEST} seeds"
    if not p < LEVEL:
        return f"{NOTHING} after correction"
    is_better = metric_of(metric).sign * seen.mean > 0
    if more_failed and is_better == (more_failed > 0):
        return f"{NOTHING}: of the better one more runs failed"
    return "better" if is_better else "worse"


def _failed(arm: Arm) -> int:
    return len(arm.runs) - len(arm.done)


def _differences(arm: Arm, reference: Arm, metric: str) -> list[float]:
    known = {run.seed: value_of(run, metric) for run in reference.done}
    pairs = [
        value_of(run, metric) - known[run.seed] for run in arm.done if run.seed in known
    ]
    return [pair for pair in pairs if math.isfinite(pair)]


def _first(run: RunRecord, metric: str, target: float) -> tuple[float, float]:
    """Only of a run that came to its end: one that fails later has not arrived."""
    if run.status != "done":
        return math.inf, math.inf
    seconds = 0.0
    for entry in run.history:
        seconds += number(entry.get("wall_seconds"))
        gap = metric_of(metric).sign * (number(entry.get(metric)) - target)
        if gap >= 0:
            return number(entry.get("step")), seconds
    return math.inf, math.inf
