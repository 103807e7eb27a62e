"""What pages and tables say: values and counts as text, a study in one sentence."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from acprop.metrics import metric_of
from acprop.records import StudyRecord
from acprop.report.statistics import Arm, Summary, describe, over_seeds, unclean
from acprop.report.studies import StudyRuns
from acprop.report.style import display

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


def scale_words(study: StudyRecord) -> str:
    """smoke scale (2 of 200 epochs)."""
    note = study.note.strip().rstrip(".")
    return f"{study.scale} scale ({note})" if note else f"{study.scale} scale"


def study_command(study: StudyRecord) -> str:
    """What runs a study again."""
    rules = "" if study.ruleset == "paper" else f" --ruleset {study.ruleset}"
    return f"acprop bench study {study.name} --scale {study.scale}{rules}"


def study_sentence(found: StudyRuns) -> str:
    """The result in one sentence that also says how it differs from the paper's.

    One value for each optimizer and task, at the setting that validation chose.
    """
    study, metric, shown = found.study, found.metric, found.methods
    if not shown:
        return ""
    parts: list[str] = []
    for arm in shown:
        seen = over_seeds(arm, metric)
        # "3 runs" tells nothing new; that some were lost does.
        lost = [run_count(arm)] if len(arm.done) < len(arm.runs) else []
        settings = describe(arm, found.columns, bare=True)
        known = [text for text in [settings, *lost] if text]
        which = f" ({'; '.join(known)})" if known else ""
        value = summary_words(metric, seen).partition(" [")[0] if seen.n else "no value"
        parts.append(f"{display(arm.optimizer)}{which} {value}{arm.mark}")
    how = "mean ± standard deviation over seeds"
    if len(shown) < len(found.arms):
        how += ", at the setting that validation chose"
    what = f"ruleset {study.ruleset}, final {metric_of(metric).label} ({how})"
    note = unclean([run for arm in shown for run in arm.runs])
    return f"At {scale_words(study)}, {what}: {'; '.join(parts)}. {note}".rstrip()


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
