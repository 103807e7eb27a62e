"""A study in one sentence, and what to see in its figures: words from its runs."""

import math
from collections.abc import Sequence

from acprop.metrics import metric_of
from acprop.records import Bars, Curves, Record, StudyRecord, Surface
from acprop.report.statistics import describe, over_seeds, unclean
from acprop.report.studies import StudyRuns, arm_names, column_settings, compared_metric
from acprop.report.style import display
from acprop.report.words import run_count, scale_words, summary_words

__all__ = ["caption_of", "study_command", "study_sentence"]


def study_command(study: StudyRecord) -> str:
    """What runs a study again."""
    rules = "" if study.ruleset == "paper" else f" --ruleset {study.ruleset}"
    return f"acprop bench study {study.name} --scale {study.scale}{rules}"


def study_sentence(found: StudyRuns) -> str:
    """The result in one sentence that also says how it differs from the paper's.

    One value for each optimizer and task, at the setting that validation chose.
    """
    study = found.study
    metric = compared_metric(study)
    shown = found.methods
    if metric is None or not shown:
        return ""
    names = column_settings(found)
    parts: list[str] = []
    for arm in shown:
        seen = over_seeds(arm, metric)
        # "3 runs" tells nothing new; that some were lost does.
        lost = [run_count(arm)] if len(arm.done) < len(arm.runs) else []
        known = [text for text in [describe(arm, names, bare=True), *lost] if text]
        which = f" ({'; '.join(known)})" if known else ""
        value = summary_words(metric, seen).partition(" [")[0] if seen.n else "no value"
        parts.append(f"{display(arm.optimizer)}{which} {value}{arm.mark}")
    how = "mean ± standard deviation over seeds"
    if len(shown) < len(found.arms):
        how += ", at the setting that validation chose"
    what = f"ruleset {study.ruleset}, final {metric_of(metric).label} ({how})"
    note = unclean([run for arm in shown for run in arm.runs])
    return f"At {scale_words(study)}, {what}: {'; '.join(parts)}. {note}".rstrip()


def caption_of(found: StudyRuns, records: Sequence[Record]) -> str:
    """How to read the figure that shows these records, and what stands out in it."""
    first = records[0]
    if isinstance(first, Surface):
        return _heatmap(found, [r for r in records if isinstance(r, Surface)])
    if isinstance(first, Bars):
        how = (
            "Bars are means over the finished runs at the end, dots single seeds, "
            "lines 95 % intervals; a × at the edge is a run that failed."
        )
        return f"{how} {_ends(found)}".rstrip()
    if isinstance(first, Curves) and first.drawn == "points":
        return (
            "Every trial of the search: the mean over the seeds of tuning at the last "
            "epoch. A wide hill is easy to find, a narrow one needs luck."
        )
    if isinstance(first, Curves) and first.x_label in found.study.axes:
        axes = " and ".join(r.x_label for r in records if isinstance(r, Curves))
        return (
            f"The end of training over {axes}: a flat line does not care, a peak must "
            "be found. Of runs that share a place, the setting that validation "
            "prefers; dots are single seeds."
        )
    how = (
        "Lines are means over finished runs, bands one standard deviation over seeds, "
        "dots the seeds at the end."
    )
    return f"{how} {_ends(found)}".rstrip()


def _ends(found: StudyRuns) -> str:
    """Who has the best mean and who the worst, and that this alone says little."""
    metric = compared_metric(found.study)
    if metric is None:
        return ""
    arms = found.lines
    names = arm_names(found, arms)
    values = [over_seeds(arm, metric) for arm in arms]
    known = [
        (s.mean, name)
        for s, name in zip(values, names, strict=True)
        if math.isfinite(s.mean)
    ]
    if len(known) < 2:
        return ""
    about = metric_of(metric)
    ordered = sorted(known, key=lambda k: k[0], reverse=about.better == "higher")
    texts = [f"{about.factor * mean:.4g}" for mean, _ in ordered]
    by = about.words
    if texts[0] == texts[-1]:
        return f"By {by} at the end all tie ({texts[0]})."
    best, worst = (
        _listed([name for (_, name), t in zip(ordered, texts, strict=True) if t == end])
        for end in (texts[0], texts[-1])
    )
    few = max(s.n for s in values) < 2
    chance = (
        "one seed each says nothing about chance"
        if few
        else "the table says which differences are more than chance"
    )
    return (
        f"By {by} at the end the best mean is that of {best} ({texts[0]}), the worst "
        f"that of {worst} ({texts[-1]}); {chance}."
    )


def _listed(names: Sequence[str]) -> str:
    """A; A and B; A, B and C, in a tie."""
    *others, last = names
    return f"{', '.join(others)} and {last}, in a tie" if others else last


def _heatmap(found: StudyRuns, records: Sequence[Surface]) -> str:
    metric = found.study.metrics[0]
    pick = max if metric_of(metric).better == "higher" else min
    best: list[str] = []
    for record in records:
        cells = [
            (value, x, y)
            for y, row in zip(record.y, record.values, strict=True)
            for x, value in zip(record.x, row, strict=True)
            if math.isfinite(value)
        ]
        if cells:
            value, x, y = pick(cells)
            place = f"{record.x_label} {x:g}, {record.y_label} {y:g}"
            alike = sum(f"{v:.4g}" == f"{value:.4g}" for v, _, _ in cells) - 1
            tie = f" and {alike} more, in a tie" if alike else ""
            best.append(f"{record.title} {value:.4g} at {place}{tie}")
    return (
        "Means over the finished runs of each cell; div.: diverged. A large field of "
        f"one colour is a robust optimizer. Best cells: {'; '.join(best)}."
    )
