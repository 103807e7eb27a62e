"""What our runs say about a table or a figure of the paper, at the scale that was run.

The paper reports an order: ACProp ahead of others. Whether our runs show the same
order is decided by the paired interval of `statistics.compare`, never by two means.
Numbers of the paper and ours stand in one row only under headings that say whose they
are, and of which metric, data and scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from acprop.records import FigureRecord, Verdict
from acprop.report.metrics import label_of
from acprop.report.paper import Entry, PaperTable, PaperValue
from acprop.report.statistics import Arm, compare
from acprop.report.studies import StudyRuns, shown_arms
from acprop.report.style import display
from acprop.report.tables import compared_metric, difference_words, study_sentence

__all__ = ["Answer", "Pair", "StudyAnswer", "answer", "paper_words"]

OURS = "acprop"
Word = Literal["same order", "opposite order", "no difference shown", "no runs"]


@dataclass(frozen=True, slots=True)
class Pair:
    """ACProp beside another optimizer; what the paper prints, and what ours says."""

    row: str
    than: str
    paper: str
    ours: str
    word: Word


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """One study at one scale. metric: of ours; key: of the study's page.

    sentence: data, scale and metric together with the values.
    """

    study: str
    key: str
    title: str
    scale: str
    metric: str
    sentence: str
    pairs: tuple[Pair, ...]
    command: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything of ours that belongs to an entry.

    not_run: its studies, figures and claims without a record, in words.
    """

    entry: Entry
    studies: tuple[StudyAnswer, ...]
    figures: tuple[FigureRecord, ...]
    claims: tuple[Verdict, ...]
    not_run: tuple[str, ...]
    commands: tuple[str, ...]
    verdict: str
    badge: Literal["holds", "fails", "undecided", "none"]


def answer(
    entry: Entry,
    studies: Mapping[str, Sequence[tuple[str, StudyRuns]]],
    figures: Mapping[str, FigureRecord],
    verdicts: Mapping[str, Verdict],
) -> Answer:
    """Look for everything that the entry names.

    studies: by name, each with the key of its page; several have several scales.
    """
    found = [
        _of_study(entry, key, runs)
        for name in entry.studies
        for key, runs in studies.get(name, ())
        if runs.runs
    ]
    claims = tuple(verdicts[name] for name in entry.claims if name in verdicts)
    shown = tuple(figures[name] for name in entry.figures if name in figures)
    with_runs = {study.study for study in found}
    not_run = [
        *(f"study {name}" for name in entry.studies if name not in with_runs),
        *(f"figure {name}" for name in entry.figures if name not in figures),
        *(f"claim {name}" for name in entry.claims if name not in verdicts),
    ]
    verdict, badge = _verdict(entry, found, claims)
    return Answer(
        entry,
        tuple(found),
        shown,
        claims,
        tuple(not_run),
        _commands(entry, found),
        verdict,
        badge,
    )


def paper_words(value: PaperValue) -> str:
    """43.43 ± 4.38, with as many digits as are printed."""
    mean = f"{value.mean:.2f}"
    return mean if value.std is None else f"{mean} ± {value.std:g}"


def _of_study(entry: Entry, key: str, found: StudyRuns) -> StudyAnswer:
    study = found.study
    metric = compared_metric(study) or ""
    return StudyAnswer(
        study.name,
        key,
        study.title,
        study.scale,
        label_of(metric) if metric else "",
        study_sentence(found),
        tuple(_pairs(entry, found, metric)) if metric else (),
        f"acprop bench study {study.name} --scale {study.scale}",
    )


def _pairs(entry: Entry, found: StudyRuns, metric: str) -> list[Pair]:
    """The printed rows of this study, then the orders that are only told."""
    made: list[Pair] = []
    for table in entry.tables:
        for row in table.rows:
            if row.study == found.study.name:
                arms = _arms(found, row.where)
                made += [
                    _pair(row.name, arms, other, metric, (table, row.values))
                    for other in row.values
                    if other != OURS
                ]
    for order in entry.better:
        if order.study == found.study.name:
            arms = _arms(found, {})
            made += [_pair("", arms, other, metric, None) for other in order.than]
    return made


def _arms(found: StudyRuns, where: Mapping[str, object]) -> dict[str, Arm]:
    """One arm for each optimizer: the setting that validation chose."""
    fit = [
        arm
        for arm in found.arms
        if all(arm.conditions.get(name) == value for name, value in where.items())
    ]
    return {arm.optimizer: arm for arm in shown_arms(fit, ())}


def _pair(
    row: str,
    arms: Mapping[str, Arm],
    other: str,
    metric: str,
    printed: tuple[PaperTable, Mapping[str, PaperValue]] | None,
) -> Pair:
    is_ahead, paper = True, "ACProp ahead, no number"
    if printed is not None:
        table, values = printed
        gap = values[OURS].mean - values[other].mean
        is_ahead = (gap > 0) == table.higher_is_better
        paper = f"{gap:+.2f}".replace("-", "−")
    if OURS not in arms or other not in arms:
        return Pair(row, display(other), paper, "–", "no runs")
    found = compare(arms[OURS], arms[other], metric)
    words = difference_words(found, metric)
    if found.words == "no difference shown":
        return Pair(row, display(other), paper, words, "no difference shown")
    is_same = (found.words == "better") == is_ahead
    word: Word = "same order" if is_same else "opposite order"
    return Pair(row, display(other), paper, words, word)


def _verdict(
    entry: Entry, found: Sequence[StudyAnswer], claims: Sequence[Verdict]
) -> tuple[str, Literal["holds", "fails", "undecided", "none"]]:
    """One sentence, and its colour."""
    pairs = [pair for study in found for pair in study.pairs if pair.word != "no runs"]
    if pairs:
        scales = " and ".join(dict.fromkeys(study.scale for study in found))
        counts = {word: sum(p.word == word for p in pairs) for word in _WORDS}
        listed = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        same, opposite = counts["same order"], counts["opposite order"]
        text = f"{len(pairs)} comparisons at {scales} scale: {listed}."
        if all(study.scale == "smoke" for study in found):
            return f"{text} Smoke scale shows that it runs, not who wins.", "undecided"
        if opposite and not same:
            return text, "fails"
        return text, "holds" if same == len(pairs) else "undecided"
    of_paper = [v for v in claims if v.owner == "paper"]
    if of_paper:
        words = [v.verdict for v in of_paper]
        listed = ", ".join(
            f"{words.count(w)} {w}" for w in ("holds", "fails", "undecided") if w in words
        )
        worst = next(w for w in ("fails", "undecided", "holds") if w in words)
        return f"The paper's claims here: {listed}.", worst
    if found:
        return "Run, and shown below; the paper reports no order here.", "none"
    if entry.ours:
        return "Nothing to measure.", "none"
    return "Not run: none of the records given belongs to it.", "none"


_WORDS = ("same order", "opposite order", "no difference shown")


def _commands(entry: Entry, found: Sequence[StudyAnswer]) -> tuple[str, ...]:
    """As they were run; what was not run, at smoke scale."""
    known = {study.study: [] for study in found}
    for study in found:
        known[study.study].append(study.command)
    studies = [
        command
        for name in entry.studies
        for command in known.get(name, [f"acprop bench study {name} --scale smoke"])
    ]
    figures = [f"acprop lab figures {' '.join(entry.figures)}"] if entry.figures else []
    claims = [f"acprop lab verify {' '.join(entry.claims)}"] if entry.claims else []
    return (*entry.commands, *studies, *figures, *claims)

