"""A study's runs as tables of text, by one builder for every ruleset."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from acprop.metrics import metric_of
from acprop.report.comparisons import to_target
from acprop.report.results import ComparedArm, compared_arms
from acprop.report.selection import selection_metric, winner
from acprop.report.statistics import Arm, brief, describe, over_seeds, unclean
from acprop.report.studies import StudyRuns
from acprop.report.words import (
    NONE,
    difference_words,
    numbers,
    p_words,
    run_count,
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


def study_table(
    found: StudyRuns, compared: Sequence[ComparedArm] | None = None
) -> TextTable:
    """Final values with intervals, and who is better than the reference.

    One row for each arm shown. A heat map shows its axes; its table has the setting
    that validation chose. compared: what `compared_arms` says, if that is known.
    """
    compared = compared_arms(found) if compared is None else compared
    if not compared:
        return TextTable()
    metric, trials = found.metric, _trial_counts(found)
    arms, names = [one.arm for one in compared], [one.name for one in compared]
    # What is compared comes first, with its verdict.
    cells = {"optimizer": names} | _metric_cells(arms, metric)
    is_compared = _comparison_cells(compared, metric)
    cells |= is_compared
    cells["runs"] = [run_count(arm) for arm in arms]
    if trials:
        cells["trials"] = [trials.get(name, NONE) for name in names]
    for other in found.study.metrics:
        cells |= _metric_cells(arms, other)
    note = unclean([run for arm in arms for run in arm.runs])
    caption = _caption(found, arms, is_compared=bool(is_compared))
    return TextTable.of(cells, caption, note)


def settings_table(found: StudyRuns, *, every: bool = False) -> TextTable:
    """The settings of each arm shown, and how soon it reached the target.

    every: of each there is, with its results, which are not compared.
    """
    arms = list(found.arms) if every else found.rows
    columns = [] if found.study.contestants else found.columns
    if not arms or not (columns or found.study.target is not None):
        return TextTable()
    cells = {"optimizer": found.names(arms)}
    if columns:
        cells["settings"] = [describe(a, columns, bare=True) or NONE for a in arms]
    by_validation = selection_metric(found.runs)
    chosen = [by_validation] if by_validation and len(arms) < len(found.arms) else []
    if every:
        cells["runs"] = [run_count(arm) for arm in arms]
        chosen = [found.metric, *found.study.metrics]
    for metric in chosen:
        cells |= _metric_cells(arms, metric)
    if by_validation and found.study.target is not None:
        goal = numbers(by_validation, [found.study.target], 0.0)[0]
        cells[f"steps and seconds to {goal} {metric_of(by_validation).label}"] = [
            _speed_words(arm, by_validation, found.study.target) for arm in arms
        ]
    return TextTable.of(cells)


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


def _metric_cells(arms: Sequence[Arm], metric: str) -> dict[str, list[str]]:
    cells = [summary_words(metric, over_seeds(arm, metric)) for arm in arms]
    return {metric_of(metric).label: cells}


def _comparison_cells(
    compared: Sequence[ComparedArm], metric: str
) -> dict[str, list[str]]:
    """Every arm beside its reference; empty if nobody has another."""
    references = dict.fromkeys(one.reference for one in compared if one.comparison)
    if not references:
        return {}
    rows = [_comparison_words(one, metric) for one in compared]
    names = list(map(str, references))
    name = names[0] if len(names) == 1 else names[0].partition(", ")[0]
    heads = (f"difference to {name}", "verdict", "p (Holm)")
    return {head: [row[i] for row in rows] for i, head in enumerate(heads)}


def _comparison_words(one: ComparedArm, metric: str) -> tuple[str, str, str]:
    found = one.comparison
    if found is None:
        return "reference" if one.reference else NONE, NONE, NONE
    if not found.difference.n:
        return NONE, "no seed finished in both", NONE
    return difference_words(found.difference, metric), found.words, p_words(found.p)


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


def _caption(found: StudyRuns, arms: Sequence[Arm], *, is_compared: bool) -> str:
    """How settings came about, and what the numbers are; about.html has the rest."""
    by_validation = selection_metric(found.runs)
    chosen = CHOSEN[found.study.ruleset]
    if found.is_searched:
        chosen = "each optimizer at the settings that a search preferred"
    elif by_validation and len(arms) < len(found.arms):
        chosen = f"settings chosen by {metric_of(by_validation).words} alone"
    text = f"{chosen[0].upper()}{chosen[1:]}; mean ± standard deviation [95 % interval]"
    paired = ", differences paired by seed" if is_compared else ""
    return f"{text} over finished runs{paired}."
