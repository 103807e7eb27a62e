"""Optimizers over several studies at once: performance profiles.

A metric of one study cannot be averaged with another's. Within a study every final
value y becomes a score between the worst and the best of the optimizers there:

    score = (y - worst) / (best - worst)      of their means over finished runs

A profile is the share of runs whose score is at least τ, the mean over studies, as a
function of τ (Agarwal et al. 2021). A failed run has no score, and is below every τ.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from acprop.metrics import metric_of
from acprop.records import Curves, Line
from acprop.report.statistics import Arm, value_of
from acprop.report.studies import StudyRuns, compared_metric, contestant_arms

__all__ = ["profile_curves", "scores", "study_profiles"]

Scores = Mapping[str, Sequence[float]]  # of one study, for each optimizer
TAUS = tuple(float(tau) for tau in np.linspace(-1, 1.5, 101))
_RESAMPLES = 500


def scores(arms: Mapping[str, Arm], metric: str) -> dict[str, list[float]]:
    """Of every run; empty if the optimizers do not differ."""
    sign = metric_of(metric).sign
    values = {
        name: [
            sign * value_of(run, metric) if run in arm.done else math.nan
            for run in arm.runs
        ]
        for name, arm in arms.items()
    }
    means = [
        float(np.nanmean(some)) for some in values.values() if np.isfinite(some).any()
    ]
    if len(means) < 2 or max(means) == min(means):
        return {}
    worst, best = min(means), max(means)
    return {
        name: [
            (v - worst) / (best - worst) if math.isfinite(v) else -math.inf
            for v in some
        ]
        for name, some in values.items()
    }


def study_profiles(studies: Iterable[StudyRuns]) -> list[Curves]:
    """One for each ruleset and scale with two studies or more; never mixed."""
    groups: dict[tuple[str, str], list[Scores]] = {}
    for found in studies:
        study, metric = found.study, compared_metric(found.study)
        made = scores(contestant_arms(found), metric) if metric else {}
        if made:
            groups.setdefault((study.ruleset, study.scale), []).append(made)
    curves = [
        profile_curves(
            some,
            f"profile-{ruleset}-{scale}",
            f"{len(some)} studies at {scale} scale, ruleset {ruleset}",
        )
        for (ruleset, scale), some in groups.items()
    ]
    return [found for found in curves if found is not None]


def profile_curves(studies: Sequence[Scores], name: str, title: str) -> Curves | None:
    """One line for each optimizer of all these studies; None if there is none.

    The band is a 95 % bootstrap interval: runs are drawn again within every study.
    """
    if len(studies) < 2:
        return None
    shared = [who for who in studies[0] if all(who in study for study in studies)]
    if not shared:
        return None
    lines = [_line(who, [study[who] for study in studies]) for who in shared]
    return Curves(
        name,
        title,
        "score τ: 0 is the worst optimizer's mean, 1 the best's",
        "share of runs with at least τ",
        tuple(lines),
        y_range=(-0.02, 1.02),
        band="band: 95 % bootstrap interval",
        about={"studies": len(studies)},
    )


def _line(who: str, studies: Sequence[Sequence[float]]) -> Line:
    rng = np.random.default_rng(0)
    runs = [np.asarray(some, float) for some in studies]
    again = [
        _profile([rng.choice(some, some.size) for some in runs])
        for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    y, low, high = (tuple(map(float, some)) for some in (_profile(runs), low, high))
    return Line(who, TAUS, y, low, high)


def _profile(studies: Sequence[np.ndarray]) -> np.ndarray:
    """The share of runs at or above each τ, the mean over studies."""
    taus = np.asarray(TAUS)
    shares = [(some[:, None] >= taus).mean(axis=0) for some in studies]
    return np.mean(shares, axis=0)
