"""A study's runs as a table of text: final metrics with their spread, and differences.

Differences are taken seed by seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from acprop.records import StudyRecord
from acprop.report.comparisons import Comparison, compare_pairs
from acprop.report.metrics import is_share, label_of, shown_value
from acprop.report.statistics import (
    Arm,
    Spread,
    describe,
    over_seeds,
    selection_metric,
    unclean,
    varying,
)
from acprop.report.studies import StudyRuns, shown_arms
from acprop.report.style import display
from acprop.report.variants import first_of

__all__ = [
    "Table",
    "compared_metric",
    "difference_words",
    "markdown",
    "numbers",
    "spread_words",
    "study_command",
    "study_sentence",
    "study_table",
]

NONE = "–"
NB = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Table:
    """reference: the arm that others are compared with; empty if there is none.

    chosen_by: the validation metric by which settings were chosen, if any were.
    caption: what it shows; empty is what the page says of every study's table.
    note: which of its runs are of code that no commit holds; see `Arm.mark`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reference: str = ""
    chosen_by: str = ""
    caption: str = ""
    note: str = ""


def study_table(found: StudyRuns, *, every: bool = False) -> Table:
    """One row for each arm shown; with every, one for each there is.

    A heat map shows its axes; its table has the setting that validation chose.
    """
    study, arms = found.study, found.arms
    axes = () if study.shows == "heatmap" else study.axes
    shown = arms if every else shown_arms(arms, axes)
    names = _told(study, arms)
    metrics, chosen_by = list(study.metrics), ""
    if len(shown) < len(arms):
        chosen_by = selection_metric(found.runs) or ""
        metrics = list(dict.fromkeys([*metrics, chosen_by])) if chosen_by else metrics
    compared = None if every else compared_metric(study)
    first = first_of(arm.optimizer for arm in shown) or ""
    references = [_reference(arm, shown, axes, first) for arm in shown]
    has_reference = compared is not None and any(references)
    columns = ["optimizer", *names, "runs", *(label_of(m) for m in metrics)]
    if has_reference and compared:
        columns.append(f"{label_of(compared)}: difference to {display(first)}")
    pairs = [(a, r) for a, r in zip(shown, references, strict=True) if r]
    found_of = iter(compare_pairs(pairs, compared) if compared else ())
    rows: list[tuple[str, ...]] = []
    for arm, reference in zip(shown, references, strict=True):
        known = [describe(arm, [n], bare=True).partition(" = ")[2] for n in names]
        row = [display(arm.optimizer), *(text or NONE for text in known), _count(arm)]
        row += [_metric(arm, metric) for metric in metrics]
        if has_reference and compared:
            alone = "reference" if arm.optimizer == first else NONE
            made = next(found_of) if reference else None
            row.append(_difference(made, compared) if made else alone)
        rows.append(tuple(row))
    named = display(first) if has_reference else ""
    note = unclean([run for arm in shown for run in arm.runs])
    return Table(tuple(columns), tuple(rows), named, chosen_by, note=note)


def markdown(table: Table) -> str:
    """The table for a README."""
    rows = [table.columns, ("---",) * len(table.columns), *table.rows]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in r] for r in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def study_command(study: StudyRecord) -> str:
    """What runs a study again."""
    command = f"acprop bench study {study.name} --scale {study.scale}"
    return (
        command if study.ruleset == "paper" else f"{command} --ruleset {study.ruleset}"
    )


def study_sentence(found: StudyRuns) -> str:
    """The result in one sentence that also says how it differs from the paper's.

    One value for each optimizer and task, at the setting that validation chose.
    """
    study, arms = found.study, found.arms
    metric = compared_metric(study)
    shown = shown_arms(arms, ()) if study.ruleset == "paper" else list(arms)
    if metric is None or not shown:
        return ""
    names = _told(study, arms)
    parts: list[str] = []
    for arm in shown:
        seen = over_seeds(arm, metric)
        # "3 runs" tells nothing new; that some were lost does.
        lost = [_count(arm)] if len(arm.done) < len(arm.runs) else []
        known = [text for text in [describe(arm, names, bare=True), *lost] if text]
        which = f" ({'; '.join(known)})" if known else ""
        value = spread_words(metric, seen).partition(" [")[0] if seen.n else "no value"
        parts.append(f"{display(arm.optimizer)}{which} {value}{arm.mark}")
    how = "mean ± standard deviation over seeds"
    if len(shown) < len(arms):
        how += ", at the setting that validation chose"
    note = study.note.strip().rstrip(".")
    scale = f"At {study.scale} scale" + (f" ({note})" if note else "")
    what = f"ruleset {study.ruleset}, final {label_of(metric)} ({how})"
    note = unclean([run for arm in shown for run in arm.runs])
    return f"{scale}, {what}: {'; '.join(parts)}. {note}".rstrip()


def spread_words(metric: str, seen: Spread) -> str:
    """93.10 ± 0.21 [92.58, 93.62]: mean, standard deviation, 95 % interval."""
    if not seen.n:
        return NONE
    values = (seen.mean, seen.std, seen.low, seen.high)
    mean, std, low, high = numbers(metric, values, seen.std)
    return f"{mean}{NB}±{NB}{std} [{low},{NB}{high}]" if seen.n > 1 else mean


def _told(study: StudyRecord, arms: Sequence[Arm]) -> list[str]:
    """Settings worth a column: those that differ, and the axes in any case."""
    known = {name for arm in arms for name in (*arm.settings, *arm.conditions)}
    names = [*(n for n in study.axes if n in known), *varying(arms)]
    return list(dict.fromkeys(names))


def compared_metric(study: StudyRecord) -> str | None:
    """The metric to compare by: of the test if there is one, else the first."""
    tests = [name for name in study.metrics if name.startswith("test_")]
    return (tests or [*study.metrics, None])[0]


def _reference(
    arm: Arm, shown: Sequence[Arm], axes: Sequence[str], first: str
) -> Arm | None:
    """The first ACProp on the same task, at the same place of the axes."""
    if arm.optimizer == first:
        return None

    def place(other: Arm) -> tuple[object, list[object]]:
        return other.conditions, [other.known.get(name) for name in axes]

    alike = [a for a in shown if a.optimizer == first and place(a) == place(arm)]
    return alike[0] if len(alike) == 1 else None


def _count(arm: Arm) -> str:
    n = len(arm.runs)
    if not arm.losses:
        return f"{n}{arm.mark}"
    return "; ".join([f"{len(arm.done)} of {n} finished", *arm.losses]) + arm.mark


def _metric(arm: Arm, metric: str) -> str:
    return spread_words(metric, over_seeds(arm, metric))


def _difference(found: Comparison, metric: str) -> str:
    words = difference_words(found.spread, metric)
    return f"{words}: {found.words}" if found.spread.n else words


def difference_words(seen: Spread, metric: str) -> str:
    """+1.20 [+0.40, +2.00]."""
    if not seen.n:
        return "no seed finished in both"
    ends = (seen.mean, seen.low, seen.high)
    texts = numbers(metric, ends, seen.std)
    signs = ["" if value < 0 else "+" for value in ends]
    mean, low, high = (a + b for a, b in zip(signs, texts, strict=True))
    interval = f" [{low},{NB}{high}]" if seen.n > 1 else ", one seed"
    return f"{mean}{interval}"


def numbers(metric: str, values: Sequence[float], std: float) -> list[str]:
    """Numbers to the second digit of their spread; accuracies to 0.01 %."""
    form = ".2f"
    if not is_share(metric):
        size = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
        is_plain = 1e-3 <= size < 1e5 and std > 1e-6 * size
        places = 1 - math.floor(math.log10(std)) if is_plain else 0
        form = f".{max(0, places)}f" if is_plain else ".3g"
    return [
        f"{shown_value(metric, v):{form}}".replace("-", "−")
        if math.isfinite(v)
        else NONE
        for v in values
    ]
