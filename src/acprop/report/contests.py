"""A study by the ruleset "default" or "tuned": tables, and how settings matter.

Every contestant has a row. Differences are to ACProp (default), else to another ACProp,
else to the first, and are corrected for all of them.
"""

import math
from collections import Counter
from collections.abc import Sequence

from acprop.plain import Plain
from acprop.records import Curves, Line
from acprop.report.comparisons import (
    Comparison,
    Reached,
    best_epoch,
    compare_all,
    interquartile_mean,
    to_target,
)
from acprop.report.metrics import label_of, shown_value
from acprop.report.selection import TrialResult, trial_results, winner
from acprop.report.statistics import (
    Arm,
    brief,
    over_seeds,
    selection_metric,
    spread,
    unclean,
)
from acprop.report.studies import StudyRuns, contestant_labels, contestant_names
from acprop.report.tables import (
    NONE,
    Table,
    compared_metric,
    difference_words,
    numbers,
    spread_words,
)
from acprop.report.variants import first_of

__all__ = [
    "comparison_table",
    "contestant_arms",
    "detail_table",
    "sensitivity",
    "trial_table",
    "trials_of",
]


def contestant_arms(found: StudyRuns) -> dict[str, Arm]:
    """Each contestant that has a record, by the name that a reader sees."""
    owner = contestant_names(found)
    return {
        owner[arm.runs[0].run]: arm for arm in found.arms if arm.runs[0].run in owner
    }


def trials_of(found: StudyRuns) -> list[TrialResult]:
    """Every trial of the search, with its runs."""
    tuning = found.study.tuning
    if not tuning:
        return []
    records = {run.run: run for run in found.trials}
    return trial_results(tuning["trials"], records, tuning["metric"])


def comparison_table(found: StudyRuns) -> Table:
    """Final values with intervals, and who is better than the reference."""
    study, arms = found.study, contestant_arms(found)
    metric = compared_metric(study)
    if metric is None or not arms:
        return Table((), ())
    shown = list(dict.fromkeys([metric, *study.metrics]))
    reference = _reference(arms)
    compared = compare_all(list(arms.values()), arms[reference], metric)
    trials = trials_of(found)
    names = {run: name for name, runs in study.contestants.items() for run in runs}
    columns = ["optimizer", *(["trials"] if trials else []), "runs"]
    columns += [label_of(name) for name in shown]
    columns += [f"{label_of(metric)}: difference to {reference}", "p (Holm)", "verdict"]
    rows: list[tuple[str, ...]] = []
    for (name, arm), comparison in zip(arms.items(), compared, strict=True):
        row = [name]
        if trials:
            row.append(_trial_count(names[arm.runs[0].run], trials))
        row += [_run_count(arm)]
        row += [spread_words(m, over_seeds(arm, m)) for m in shown]
        rows.append((*row, *_comparison(comparison, metric)))
    caption, note = _caption(found), unclean(found.runs)
    return Table(tuple(columns), tuple(rows), reference, caption=caption, note=note)


def detail_table(found: StudyRuns) -> Table:
    """The measures that do not lean on a mean, and what the paper would report."""
    study, arms = found.study, contestant_arms(found)
    metric = compared_metric(study)
    if metric is None or not arms:
        return Table((), ())
    reference = _reference(arms)
    compared = compare_all(list(arms.values()), arms[reference], metric)
    by_validation = selection_metric(found.runs)
    columns = [
        "optimizer",
        f"{label_of(metric)}: interquartile mean",
        f"P(better than {reference})",
        f"{label_of(metric)}, best test epoch (as the paper reports)",
    ]
    target = study.target
    if target is not None and by_validation is not None:
        words = numbers(by_validation, [target], 0.0)[0]
        goal = f"{words} {label_of(by_validation)}"
        columns += [f"steps to {goal}", f"seconds to {goal}", "reached"]
    rows: list[tuple[str, ...]] = []
    for (name, arm), comparison in zip(arms.items(), compared, strict=True):
        best = [best_epoch(run, metric) for run in arm.done]
        middle = interquartile_mean(arm, metric)
        row = [
            name,
            numbers(metric, [middle], over_seeds(arm, metric).std)[0],
            NONE if comparison is None else f"{comparison.probability:.2f}",
            spread_words(metric, spread(best)).partition(" [")[0],
        ]
        if target is not None and by_validation is not None:
            row += _reached(to_target(arm, by_validation, target))
        rows.append(tuple(row))
    caption = (
        "The interquartile mean leaves out the best and the worst quarter; "
        "P(better) is over all pairs of runs. A failed run counts as the worst. "
        "The best test epoch is chosen by the test data: for comparison with the "
        "paper only. Steps and seconds are medians over all runs."
    )
    return Table(tuple(columns), tuple(rows), reference, caption=caption)


def trial_table(found: StudyRuns) -> Table:
    """What each contestant's search found."""
    tuning, trials = found.study.tuning, trials_of(found)
    if not trials:
        return Table((), ())
    metric = tuning["metric"]
    labels = contestant_labels(found)
    names = list(dict.fromkeys(trial.contestant for trial in trials))
    searched = list(dict.fromkeys(key for trial in trials for key in trial.settings))
    columns = ["optimizer", "trials", "failed", "stopped early", *searched]
    columns.append(f"winner's {label_of(metric)} in tuning")
    rows: list[tuple[str, ...]] = []
    for name in names:
        own = [trial for trial in trials if trial.contestant == name]
        best = winner(own, metric)
        failed = sum(bool(trial.failures) for trial in own)
        early = sum(not (trial.failures or trial.is_finished) for trial in own)
        row = [labels[name], str(len(own)), str(failed), str(early)]
        settings: Plain = {} if best is None else best.settings
        row += [brief(settings[k]) if k in settings else NONE for k in searched]
        value = math.nan if best is None else best.value
        row.append(numbers(metric, [value], 0.0)[0] if best else "no trial finished")
        rows.append(tuple(row))
    caption = (
        f"{_search_words(tuning)}. The winner is the trial with the best mean "
        f"{label_of(metric).removesuffix(', %')} at the last epoch over the seeds of "
        f"tuning ({', '.join(map(str, tuning['seeds']))}), which are used for nothing "
        "else. A trial of which one run failed cannot win."
    )
    note = unclean(found.trials)
    return Table(tuple(columns), tuple(rows), caption=caption, note=note)


def sensitivity(found: StudyRuns) -> list[Curves]:
    """Validation over the learning rate, a point for each trial; NaN if it failed."""
    trials, labels = trials_of(found), contestant_labels(found)
    metric = found.study.tuning.get("metric", "")
    lines: list[Line] = []
    for name in dict.fromkeys(trial.contestant for trial in trials):
        own = [trial for trial in trials if trial.contestant == name]
        able = sorted(
            (t.settings["lr"], shown_value(metric, t.value))
            for t in own
            if "lr" in t.settings and t.is_finished and math.isfinite(t.value)
        )
        lost = len(own) - len(able)
        note = f", {lost} of {len(own)} without a value" if lost else ""
        x, y = ([pair[i] for pair in able] or [math.nan] for i in (0, 1))
        failed = [t.settings["lr"] for t in own if t.failures and "lr" in t.settings]
        dots = tuple((lr, math.nan) for lr in failed)
        lines.append(Line(labels[name] + note, tuple(x), tuple(y), dots=dots))
    if not any(math.isfinite(x) for line in lines for x in line.x):
        return []
    return [
        Curves(
            found.study.name,
            "every trial: other settings vary too",
            "lr",
            label_of(metric),
            tuple(lines),
            x_scale="log",
            drawn="points",
            about={"scale": found.study.scale, "ruleset": found.study.ruleset},
        )
    ]


def _reference(arms: dict[str, Arm]) -> str:
    first = first_of(arm.optimizer for arm in arms.values())
    ours = [name for name, arm in arms.items() if arm.optimizer == first]
    return [*ours, *arms][0]


def _trial_count(name: str, trials: Sequence[TrialResult]) -> str:
    own = [trial for trial in trials if trial.contestant == name]
    failed = sum(bool(trial.failures) for trial in own)
    return f"{len(own)}, {failed} failed" if failed else str(len(own))


def _run_count(arm: Arm) -> str:
    """10, or 8 of 10 finished: 1 diverged, 1 error."""
    lost = Counter(str(run.status) for run in arm.runs if run not in arm.done)
    if not lost:
        return f"{len(arm.runs)}{arm.mark}"
    words = ", ".join(f"{n} {status}" for status, n in sorted(lost.items()))
    return f"{len(arm.done)} of {len(arm.runs)} finished: {words}{arm.mark}"


def _comparison(found: Comparison | None, metric: str) -> tuple[str, str, str]:
    if found is None:
        return "reference", NONE, NONE
    seen = found.spread
    if not seen.n:
        return NONE, NONE, "no seed finished in both"
    p = "< 0.001" if found.p < 0.001 else f"{found.p:.3f}"
    return difference_words(seen, metric), p, found.words


def _reached(found: Reached) -> list[str]:
    steps, seconds = (
        f"{value:.{places}f}" if math.isfinite(value) else "never"
        for value, places in ((found.steps, 0), (found.seconds, 2))
    )
    return [steps, seconds, f"{found.n} of {found.of}"]


def _search_words(tuning: Plain) -> str:
    points = {
        "sobol": "scrambled Sobol points",
        "tpe": "points that Optuna's TPE chose",
    }
    return (
        f"{tuning['n_trials']} trials for each, {points[tuning['search']]} in "
        f"studies/spaces/{tuning['space']}.toml"
    )


def _caption(found: StudyRuns) -> str:
    study = found.study
    how = {
        "default": "each optimizer as its library makes it if told nothing, one shot",
        "tuned": "each optimizer at the winner of equally many trials, run again on "
        "fresh seeds, the same for all",
    }
    note = study.note.rstrip(".")
    return (
        f"{study.scale.capitalize()} scale ({note}), ruleset {study.ruleset}: "
        f"{how.get(study.ruleset, '')}. At the last step, mean ± standard deviation "
        "[95 % interval: Student's below 8 seeds, bootstrap from 8] over finished "
        "runs; differences are paired by seed, p is Holm's over all of them; better "
        "or worse needs five seeds; failed runs are counted and never dropped "
        "(docs/protocol.md)."
    )
