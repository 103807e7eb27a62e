"""A study in one sentence, and how to read its figures."""

from collections.abc import Sequence

from acprop.metrics import metric_of
from acprop.records import Bars, Curves, Record, StudyRecord, Surface
from acprop.report.statistics import describe, over_seeds, unclean
from acprop.report.studies import StudyRuns, column_settings, compared_metric
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
    """How to read the figure that shows these records."""
    first = records[0]
    if isinstance(first, Surface):
        return (
            "Means over the finished runs of each cell; div.: diverged. A large field "
            "of one colour is a robust optimizer."
        )
    if isinstance(first, Bars):
        return (
            "Bars are means over the finished runs at the end, dots single seeds, "
            "lines 95 % intervals; a × at the edge is a run that failed."
        )
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
    return (
        "Lines are means over finished runs, bands one standard deviation over seeds, "
        "dots the seeds at the end. Which differences are shown, the table says."
    )
