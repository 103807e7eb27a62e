"""A study's runs as tables of text, by one builder for every ruleset.

Who is better is taken from `comparisons.compare_pairs`, which sees all comparisons of a
table at once. They are with ACProp (default), else another ACProp, else the first; seed
by seed, on the same task and at the same place of the study's axes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acprop.metrics import metric_of
from acprop.records import StudyRecord
from acprop.report.comparisons import (
    Comparison,
    compare_pairs,
    to_target,
)
from acprop.report.selection import selection_metric, winner
from acprop.report.statistics import (
    Arm,
    brief,
    describe,
    over_seeds,
    unclean,
)
from acprop.report.studies import (
    StudyRuns,
    column_settings,
    compared_metric,
    contestant_labels,
    contestant_names,
    trials_of,
)
from acprop.report.style import display
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

__all__ = [
    "TextTable",
    "markdown",
    "study_table",
    "trial_table",
]

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


@dataclass(frozen=True, slots=True)
class _Compared:
    """Arms as the rows of a table, each with its comparison, if it has one.

    reference: as it is named in the table. references: those of `arms` that are one.
    """

    names: list[str]
    arms: list[Arm]
    comparisons: list[Comparison | None]
    reference: str
    references: list[Arm]
    metric: str

    @property
    def rows(self) -> Iterable[tuple[str, Arm, Comparison | None]]:
        return zip(self.names, self.arms, self.comparisons, strict=True)


def _compared(found: StudyRuns, arms: Sequence[Arm], metric: str) -> _Compared:
    """Every arm beside its reference, as one family."""
    owners = contestant_names(found)
    names = [owners.get(arm.runs[0].run, display(arm.optimizer)) for arm in arms]
    first = first_of(arm.optimizer for arm in arms) or arms[0].optimizer
    axes = () if found.study.shows == "heatmap" else found.study.axes

    def reference_of(arm: Arm) -> Arm | None:
        def place(other: Arm) -> tuple[object, list[object]]:
            return other.conditions, [other.known.get(name) for name in axes]

        alike = [a for a in arms if a.optimizer == first and place(a) == place(arm)]
        is_clear = len(alike) == 1 or bool(owners and alike)
        return alike[0] if is_clear and alike[0] is not arm else None

    pairs = [(arm, reference_of(arm)) for arm in arms]
    made = iter(compare_pairs([(a, r) for a, r in pairs if r], metric))
    comparisons = [next(made) if reference else None for _, reference in pairs]
    used = [names[arms.index(r)] for _, r in pairs if r]
    ours = [arm for arm in arms if arm.optimizer == first]
    return _Compared(names, list(arms), comparisons, next(iter(used), ""), ours, metric)


def study_table(found: StudyRuns, *, every: bool = False) -> TextTable:
    """Final values with intervals, and who is better than the reference.

    One row for each arm shown; with every, one for each there is, not compared. A heat
    map shows its axes; its table has the setting that validation chose.
    """
    study = found.study
    arms = list(found.arms) if every else found.rows
    metric = compared_metric(study)
    if metric is None or not arms:
        return TextTable()
    settings = [] if study.contestants else column_settings(found)
    has_choice = len(arms) < len(found.arms)
    chosen_by = selection_metric(found.runs) if has_choice else None
    # What is compared comes first, with its verdict: a wide table is cut at its right.
    others = [*study.metrics, *filter(None, [chosen_by])]
    others = [name for name in dict.fromkeys(others) if name != metric]
    compared = _compared(found, arms, metric)
    is_compared = bool(compared.reference) and not every
    trials = _trial_counts(found)
    columns = ["optimizer", *settings, *(["trials"] if trials else []), "runs"]
    columns.append(metric_of(metric).label)
    if is_compared:
        columns += [f"{columns[-1]}: difference to {compared.reference}"]
        columns += ["p (Holm)", "verdict"]
    columns += [metric_of(name).label for name in others]
    goal, target = selection_metric(found.runs), study.target
    if goal and target is not None:
        words = f"{numbers(goal, [target], 0.0)[0]} {metric_of(goal).label}"
        columns.append(f"steps and seconds to {words}")
    rows: list[tuple[str, ...]] = []
    for name, arm, comparison in compared.rows:
        values = [describe(arm, [n], bare=True).partition(" = ")[2] for n in settings]
        row = [name, *(text or NONE for text in values)]
        row += [trials[name]] if trials else []
        row += [run_count(arm), summary_words(metric, over_seeds(arm, metric))]
        if is_compared:
            is_reference = any(arm is one for one in compared.references)
            row += _comparison_cells(comparison, metric, is_reference=is_reference)
        row += [summary_words(m, over_seeds(arm, m)) for m in others]
        if goal and target is not None:
            row.append(_speed_words(arm, goal, target))
        rows.append(tuple(row))
    caption = _caption(study, chosen_by, is_compared)
    note = unclean([run for arm in arms for run in arm.runs])
    return TextTable(tuple(columns), tuple(rows), f"{caption} {note}".rstrip())


def trial_table(found: StudyRuns) -> TextTable:
    """What each contestant's search found."""
    tuning, trials = found.study.tuning, trials_of(found)
    metric = tuning.get("metric")
    if not trials or metric is None:
        return TextTable()
    labels = contestant_labels(found)
    searched = list(dict.fromkeys(key for trial in trials for key in trial.settings))
    columns = ["optimizer", "trials", "failed", *searched]
    columns.append(f"winner's {metric_of(metric).label} in tuning")
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(trial.contestant for trial in trials):
        own = [trial for trial in trials if trial.contestant == name]
        best = winner(own, metric)
        failed = sum(bool(trial.failures) for trial in own)
        settings = {} if best is None else best.settings
        row = [labels[name], str(len(own)), str(failed)]
        row += [brief(settings[k]) if k in settings else NONE for k in searched]
        row.append(
            numbers(metric, [best.value], 0.0)[0] if best else "no trial finished"
        )
        rows.append(tuple(row))
    caption = (
        f"{tuning.get('n_trials')} trials for each, scrambled Sobol points in "
        f"studies/spaces/{tuning.get('space')}.toml. The winner is the trial with the "
        f"best mean {metric_of(metric).words} at the last epoch over the seeds of "
        f"tuning ({', '.join(map(str, tuning.get('seeds', ())))}), which are used for "
        "nothing else. A trial of which one run failed cannot win."
    )
    note = unclean(found.trials)
    return TextTable(tuple(columns), tuple(rows), f"{caption} {note}".rstrip())


def markdown(table: TextTable) -> str:
    """The table for a README."""
    rows = [table.columns, ("---",) * len(table.columns), *table.rows]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in r] for r in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _comparison_cells(
    found: Comparison | None, metric: str, *, is_reference: bool
) -> list[str]:
    if found is None:
        return ["reference" if is_reference else NONE, NONE, NONE]
    if not found.difference.n:
        return [NONE, NONE, "no seed finished in both"]
    return [difference_words(found.difference, metric), p_words(found.p), found.words]


def _speed_words(arm: Arm, metric: str, target: float) -> str:
    """420 steps, 8.31 s (9 of 10 runs): medians over all of them."""
    steps, seconds, n = to_target(arm, metric, target)
    when = f"{steps:.0f} steps, {seconds:.2f} s" if math.isfinite(steps) else "never"
    return f"{when} ({n} of {len(arm.runs)} runs)"


def _trial_counts(found: StudyRuns) -> dict[str, str]:
    """For each contestant, by the name that a reader sees: 8, or 8, 1 failed."""
    labels = contestant_labels(found)
    counts: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for trial in trials_of(found):
        counts[labels[trial.contestant]] += 1
        failures[labels[trial.contestant]] += bool(trial.failures)
    return {
        name: f"{n}, {failures[name]} failed" if failures[name] else str(n)
        for name, n in counts.items()
    }


def _caption(study: StudyRecord, chosen_by: str | None, is_compared: bool) -> str:
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
