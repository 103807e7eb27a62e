"""What pages and tables say: values, counts and times as text."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from acprop.metrics import metric_of
from acprop.records import StudyRecord
from acprop.report.statistics import Arm, Summary

NONE = "–"
NB = "\N{NO-BREAK SPACE}"


def summary_words(metric: str, seen: Summary) -> str:
    """93.10 ± 0.21 [92.58, 93.62]: mean, standard deviation, 95 % interval."""
    if not seen.n:
        return NONE
    values = (seen.mean, seen.std, seen.low, seen.high)
    mean, std, low, high = numbers(metric, values, seen.std)
    return f"{mean}{NB}±{NB}{std} [{low},{NB}{high}]" if seen.n > 1 else mean


def difference_words(seen: Summary, metric: str) -> str:
    """+1.20 [+0.40, +2.00]."""
    if not seen.n:
        return "no seed finished in both"
    ends = (seen.mean, seen.low, seen.high)
    texts = numbers(metric, ends, seen.std)
    signs = ["" if value < 0 else "+" for value in ends]
    mean, low, high = (a + b for a, b in zip(signs, texts, strict=True))
    interval = f" [{low},{NB}{high}]" if seen.n > 1 else ", one seed"
    return f"{mean}{interval}"


def p_words(p: float) -> str:
    """0.012, or that it is below 0.001."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def numbers(metric: str, values: Sequence[float], std: float) -> list[str]:
    """Numbers to the second digit of their spread; percent to 0.01."""
    known = metric_of(metric)
    form = ".2f"
    if known.unit != "%":
        size = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
        is_plain = 1e-3 <= size < 1e5 and std > 1e-6 * size
        places = 1 - math.floor(math.log10(std)) if is_plain else 0
        form = f".{max(0, places)}f" if is_plain else ".3g"
    return [
        f"{known.factor * v:{form}}".replace("-", "−") if math.isfinite(v) else NONE
        for v in values
    ]


def run_count(arm: Arm) -> str:
    """10, or 8 of 10 finished: 1 diverged, 1 error."""
    lost = Counter(str(run.status) for run in arm.runs if run not in arm.done)
    if not lost:
        return f"{len(arm.runs)}{arm.mark}"
    words = ", ".join(f"{n} {status}" for status, n in sorted(lost.items()))
    return f"{len(arm.done)} of {len(arm.runs)} finished: {words}{arm.mark}"


def study_command(study: StudyRecord) -> str:
    """What runs a study again."""
    rules = "" if study.ruleset == "paper" else f" --ruleset {study.ruleset}"
    return f"acprop bench study {study.name} --scale {study.scale}{rules}"


def plain_words(value: Any) -> str:
    """Plain values as a person would list them."""
    if isinstance(value, Mapping):
        items: list[tuple[Any, Any]] = [*value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return ", ".join(f"{k}: {plain_words(v)}" for k, v in items)
    if isinstance(value, list | tuple):
        return ", ".join(plain_words(v) for v in [*value])  # pyright: ignore[reportUnknownVariableType]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """A time a person can read."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
