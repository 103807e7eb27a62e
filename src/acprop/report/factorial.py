"""What each factor of a factorial design is worth: effects with intervals.

The design is that of docs/evidence.md: seven factors of two levels, 32 of 128 corners,
F = ABCD and G = ABCE. With contrasts x = ±1 the model is

    y = b_0 + Σ b_i·x_i + Σ b_ij·x_i·x_j + noise

over all factors and all pairs that are clear of others: those among D, E, F and G are
not, since DE = FG there. An effect is 2·b, the mean over + minus that over −; its
interval is that of least squares. p is corrected by Holm over the seven factors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from acprop.metrics import metric_of
from acprop.records import ArmBar, Bars
from acprop.report.comparisons import LEVEL, holm
from acprop.report.results import ResultLine
from acprop.report.statistics import Arm, over_seeds
from acprop.report.studies import StudyRuns
from acprop.report.tables import TextTable
from acprop.report.words import p_words


class Factor(NamedTuple):
    """plus: the values of a setting that are its + level."""

    letter: str
    label: str
    setting: str
    plus: tuple[Any, ...]


FACTORS = (
    Factor("A", "centering", "centered", (True,)),
    Factor("B", "delay", "delay", (1,)),
    Factor("C", "average, after dividing", "average", ("after",)),
    Factor("D", "look-ahead", "nesterov", (True,)),
    # From 0.95 to 0.99 and from 0.999 to 0.9999; from 0.95 to 0.999 and 0.99 to 0.9999.
    Factor("E", "larger β2, by a little", "beta2", (0.99, 0.9999)),
    Factor("F", "larger β2, by much", "beta2", (0.999, 0.9999)),
    Factor("G", "start from g²", "start", ("first",)),
)
_ALIASED = frozenset("DEFG")  # whose pairs stand for each other


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """In the unit in which the metric is shown. p: Holm's, of a pair its own."""

    name: str
    mean: float
    low: float
    high: float
    p: float
    is_pair: bool

    @property
    def is_shown(self) -> bool:
        """Of a factor: is its interval clear of 0, and p small after correction?"""
        is_clear = self.low > 0 or self.high < 0
        return not self.is_pair and is_clear and self.p < LEVEL

    @property
    def words(self) -> str:
        """+2.5 [+1.53, +3.48]."""
        text = f"{self.mean:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"
        return text.replace("-", "−")


def factor_effects(found: StudyRuns) -> list[FactorEffect]:
    """The factors, then the clear pairs, the surest first; none without all corners."""
    columns = {
        factor.letter: np.array([_contrast(factor, a.settings) for a in found.arms])
        for factor in FACTORS
    }
    labels = {factor.letter: factor.label for factor in FACTORS}
    for a, b in combinations(tuple(columns), 2):
        if not {a, b} <= _ALIASED:
            columns[a + b] = columns[a] * columns[b]
            labels[a + b] = f"{labels[a]} × {labels[b]}"
    x = np.column_stack([np.ones(len(found.arms)), *columns.values()])
    spare = len(found.arms) - x.shape[1]
    if spare < 1 or np.linalg.matrix_rank(x) < x.shape[1] or not found.n_done:
        return []
    y = np.array(_values(found))
    inverse = np.linalg.inv(x.T @ x)
    b = inverse @ x.T @ y
    deviation = np.sqrt(np.sum((y - x @ b) ** 2) / spare)
    means, errors = 2 * b[1:], 2 * deviation * np.sqrt(np.diag(inverse))[1:]
    reach = float(stats.t.ppf(0.975, spare))  # pyright: ignore
    p: list[float] = (2 * stats.t.sf(abs(means / errors), spare)).tolist()  # pyright: ignore
    p[: len(FACTORS)] = holm(p[: len(FACTORS)])
    made = [
        FactorEffect(
            labels[name],
            float(mean),
            float(mean - reach * error),
            float(mean + reach * error),
            p[i],
            len(name) > 1,
        )
        for i, (name, mean, error) in enumerate(
            zip(columns, means, errors, strict=True)
        )
    ]
    pairs = sorted((e for e in made if e.is_pair), key=lambda effect: effect.p)
    return [*(e for e in made if not e.is_pair), *pairs]


def main_effects(found: StudyRuns) -> list[FactorEffect]:
    """Those of the factors themselves."""
    return [effect for effect in factor_effects(found) if not effect.is_pair]


def _values(found: StudyRuns) -> list[float]:
    """The mean over seeds of each corner; of one that failed, the worst of all."""
    metric = metric_of(found.metric)

    def value(arm: Arm) -> float:
        return metric.factor * over_seeds(arm, metric.name).mean

    known = [value(arm) for arm in found.arms if arm.done]
    worst = min(known, key=lambda v: metric.sign * v)
    return [value(arm) if arm.done else worst for arm in found.arms]


def _contrast(factor: Factor, settings: Mapping[str, Any]) -> float:
    return 1.0 if settings.get(factor.setting) in factor.plus else -1.0


def effect_bars(found: StudyRuns) -> list[Bars]:
    """The factors' effects, with their intervals."""
    made = main_effects(found)
    metric = metric_of(found.metric)
    bars = tuple(ArmBar(e.name, e.mean, e.low, e.high, ()) for e in made)
    title = f"{found.study.title}: effect of each factor"
    label = f"{metric.label}, {metric.better} is better"
    return [Bars(found.study.name, title, label, bars, better=metric.better)] * bool(
        made
    )


def effect_line(found: StudyRuns) -> ResultLine:
    """Which factors matter, and which were not shown to."""
    made = main_effects(found)
    if not made:
        return ResultLine("no result", "none", "Not all corners have a result.")
    shown = [f"{e.name} {e.words}" for e in made if e.is_shown]
    hidden = [e.name for e in made if not e.is_shown]
    parts = [
        f"Of {len(made)} factors, an effect on {metric_of(found.metric).words} is "
        f"shown of {len(shown)}{': ' * bool(shown)}{'; '.join(shown)}.",
        f"Not shown: {'; '.join(hidden)}." if hidden else "",
    ]
    word = "effects shown" if shown else "no effect shown"
    return ResultLine(word, "none", " ".join(filter(None, parts)))


def effect_table(found: StudyRuns, n_pairs: int = 4) -> TextTable:
    """All factors, and the surest pairs."""
    made = factor_effects(found)
    shown = [e for e in made if not e.is_pair]
    shown += [e for e in made if e.is_pair][:n_pairs]
    label = metric_of(found.metric).label
    return TextTable.of(
        {
            "factor": [e.name for e in shown],
            f"effect on {label}": [e.words for e in shown],
            "p (Holm)": [
                f"{p_words(e.p)}{', not corrected' if e.is_pair else ''}" for e in shown
            ],
            "": ["shown" if e.is_shown else "" for e in shown],
        }
    )
