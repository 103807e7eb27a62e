"""A study's runs as tables of text, by one builder for every ruleset.

Who is better is taken from `comparisons.compare_pairs`, which sees all comparisons of a
table at once. They are with ACProp (default), else another ACProp, else the first; seed
by seed, on the same task and at the same place of the study's axes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from acprop.metrics import metric_of
from acprop.records import StudyRecord
from acprop.report.comparisons import Comparison, compare_pairs, to_target
from acprop.report.selection import selection_metric, winner
from acprop.report.statistics import Arm, brief, describe, over_seeds, unclean
from acprop.report.studies import StudyRuns
from acprop.report.variants import first_of
from acprop.report.words import (
    NONE,
    difference_words,
    numbers,
    p_words,
    run_count,
    scale_words,
    summary_words,
)

# How settings came about, by ruleset.
CHOSEN = {
    "paper": "each optimizer at the settings that the study wrote down",
    "default": "each optimizer as its library makes it if told nothing, one shot",
    "tuned": "each optimizer at the winner of equally many trials, run again on "
    "fresh seeds, the same for all",
}


@dataclass(frozen=True, slots=True)
class TextTable:
    """caption: what it shows, and which of its runs are of code no commit holds."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: str = ""

    @classmethod
    def of(cls, cells: dict[str, list[str]], *caption: str) -> Self:
        """From the cells below each heading."""
        rows = tuple(zip(*cells.values(), strict=True))
        return cls(tuple(cells), rows, " ".join(filter(None, caption)))


def study_table(found: StudyRuns, *, every: bool = False) -> TextTable:
    """Final values with intervals, and who is better than the reference.

    One row for each arm shown; with every, one for each there is, not compared. A heat
    map shows its axes; its table has the setting that validation chose.
    """
    study, metric = found.study, found.metric
    arms = list(found.arms) if every else found.rows
    if not arms:
        return TextTable()
    names, trials = found.names(arms), _trial_counts(found)
    cells = {"optimizer": names}
    for name in [] if study.contestants else found.columns:
        texts = [describe(arm, [name], bare=True).partition(" = ")[2] for arm in arms]
        cells[name] = [text or NONE for text in texts]
    if trials:
        cells["trials"] = [trials.get(name, NONE) for name in names]
    cells["runs"] = [run_count(arm) for arm in arms]
    # What is compared comes first, with its verdict: a wide table is cut at its right.
    cells |= _metric_cells(arms, metric)
    compared = {} if every else _comparison_cells(found, arms, metric)
    cells |= compared
    by_validation = selection_metric(found.runs)
    chosen_by = by_validation if len(arms) < len(found.arms) else None
    for other in (*study.metrics, *filter(None, [chosen_by])):
        cells |= _metric_cells(arms, other)
    if by_validation and study.target is not None:
        goal = f"{numbers(by_validation, [study.target], 0.0)[0]} "
        goal += metric_of(by_validation).label
        cells[f"steps and seconds to {goal}"] = [
            _speed_words(arm, by_validation, study.target) for arm in arms
        ]
    caption = _caption(study, chosen_by, is_compared=bool(compared))
    note = unclean([run for arm in arms for run in arm.runs])
    return TextTable.of(cells, caption, note)


def trial_table(found: StudyRuns) -> TextTable:
    """What each contestant's search found."""
    tuning, trials = found.study.tuning, found.trial_results
    metric = tuning.get("metric")
    if not trials or metric is None:
        return TextTable()
    names = list(dict.fromkeys(trial.contestant for trial in trials))
    winners = [
        winner([t for t in trials if t.contestant == name], metric) for name in names
    ]
    cells = {"optimizer": [found.labels[name] for name in names]}
    cells["trials"] = list(_trial_counts(found).values())
    for key in dict.fromkeys(key for trial in trials for key in trial.settings):
        cells[key] = [
            brief(best.settings[key]) if best and key in best.settings else NONE
            for best in winners
        ]
    cells[f"winner's {metric_of(metric).label} in tuning"] = [
        numbers(metric, [best.value], 0.0)[0] if best else "no trial finished"
        for best in winners
    ]
    where = (
        f"scrambled Sobol points in studies/spaces/{tuning['space']}.toml"
        if "space" in tuning
        else "the values that the study's file lists"
    )
    caption = (
        f"{tuning.get('n_trials')} trials for each, {where}. The winner is the "
        f"trial with the best mean {metric_of(metric).words} at the last epoch over "
        f"the seeds of tuning ({', '.join(map(str, tuning.get('seeds', ())))}), which "
        "are used for nothing else. A trial of which one run failed cannot win."
    )
    return TextTable.of(cells, caption, unclean(found.trials))


def markdown(table: TextTable) -> str:
    """The table for a README."""
    rows = [table.columns, ("---",) * len(table.columns), *table.rows]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in r] for r in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _references(found: StudyRuns, arms: Sequence[Arm]) -> list[Arm | None]:
    """With which arm each is compared; a reference is so with itself."""
    first = first_of(arm.optimizer for arm in arms) or arms[0].optimizer
    axes = () if found.study.shows == "heatmap" else found.study.axes

    def place(arm: Arm) -> tuple[object, ...]:
        return arm.conditions, [arm.known.get(name) for name in axes]

    def reference(arm: Arm) -> Arm | None:
        alike = [a for a in arms if a.optimizer == first and place(a) == place(arm)]
        is_clear = len(alike) == 1 or bool(found.study.contestants and alike)
        return alike[0] if is_clear else None

    return [reference(arm) for arm in arms]


def _metric_cells(arms: Sequence[Arm], metric: str) -> dict[str, list[str]]:
    cells = [summary_words(metric, over_seeds(arm, metric)) for arm in arms]
    return {metric_of(metric).label: cells}


def _comparison_cells(
    found: StudyRuns, arms: Sequence[Arm], metric: str
) -> dict[str, list[str]]:
    """Every arm beside its reference, as one family; empty if nobody has another."""
    references = _references(found, arms)
    beside = list(zip(arms, references, strict=True))
    pairs = [(a, r) for a, r in beside if r is not None and r is not a]
    if not pairs:
        return {}
    made = iter(compare_pairs(pairs, metric))
    rows: list[tuple[str, str, str]] = []
    for arm, reference in beside:
        if reference is None or reference is arm:
            rows.append(("reference" if reference else NONE, NONE, NONE))
        else:
            rows.append(_comparison_words(next(made), metric))
    (name,) = found.names([pairs[0][1]])
    difference = f"{metric_of(metric).label}: difference to {name}"
    heads = (difference, "p (Holm)", "verdict")
    return {head: [row[i] for row in rows] for i, head in enumerate(heads)}


def _comparison_words(found: Comparison, metric: str) -> tuple[str, str, str]:
    if not found.difference.n:
        return NONE, NONE, "no seed finished in both"
    return difference_words(found.difference, metric), p_words(found.p), found.words


def _speed_words(arm: Arm, metric: str, target: float) -> str:
    """420 steps, 8.31 s (9 of 10 runs): medians over all of them."""
    steps, seconds, n = to_target(arm, metric, target)
    when = f"{steps:.0f} steps, {seconds:.2f} s" if math.isfinite(steps) else "never"
    return f"{when} ({n} of {len(arm.runs)} runs)"


def _trial_counts(found: StudyRuns) -> dict[str, str]:
    """For each contestant, by the name that a reader sees: 8, or 8, 1 failed."""
    labels = found.labels
    failed: dict[str, list[bool]] = {}
    for trial in found.trial_results:
        failed.setdefault(labels[trial.contestant], []).append(trial.has_failed)
    return {
        name: f"{len(some)}, {sum(some)} failed" if any(some) else str(len(some))
        for name, some in failed.items()
    }


def _caption(study: StudyRecord, chosen_by: str | None, *, is_compared: bool) -> str:
    scale = scale_words(study)
    chosen = CHOSEN[study.ruleset]
    if chosen_by:
        chosen = f"settings chosen by {metric_of(chosen_by).words} alone"
    text = (
        f"{scale[0].upper()}{scale[1:]}, ruleset {study.ruleset}: {chosen}. At the "
        "end of training, mean ± standard deviation [95 % interval: Student's below 8 "
        "seeds, bootstrap from 8] over finished runs; failed runs are counted and "
        "never dropped"
    )
    if is_compared:
        text += (
            "; differences are paired by seed, and called better or worse only if the "
            "interval leaves out zero, Holm's p over all of them is below 0.05, and "
            "there are five seeds or more"
        )
    return f"{text} (docs/protocol.md)."
