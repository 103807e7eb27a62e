"""What our runs say about a table or a figure of the paper, at the scale that was run.

The paper reports an order: its ACProp ahead of others. Ours that is compared is the
paper's rule too if it was run, else the default; the page says which. Whether our runs
show the same order is decided by the paired comparison of `comparisons.compare_pairs`,
corrected for all pairs of a row, never by two means.
Numbers of the paper and ours stand in one row only under headings that say whose they
are, and of which metric, data and scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from acprop.metrics import metric_of
from acprop.records import FigureRecord, StudyRecord, Verdict
from acprop.report.captions import study_command, study_sentence
from acprop.report.comparisons import Comparison, compare_pairs
from acprop.report.paper import PaperEntry, PaperRow, PaperTable, PaperValue
from acprop.report.statistics import Arm
from acprop.report.studies import StudyRuns, compared_metric, shown_arms
from acprop.report.style import display
from acprop.report.variants import PAPER_FIRST, first_of
from acprop.report.words import difference_words, p_words

__all__ = ["EntryResult", "EntryStudy", "Pair", "entry_result", "paper_words"]

PAPERS = "acprop-paper"  # as which the paper's numbers stand in tables.toml
SEARCH = "search"  # the scale at which settings are looked for
Badge = Literal["holds", "fails", "undecided", "none"]
Word = Literal["same order", "opposite order", "no difference shown", "no runs"]


@dataclass(frozen=True, slots=True)
class Pair:
    """ACProp beside another optimizer; what the paper prints, and what ours says.

    who: which ACProp of ours; empty if there is none.
    """

    row: str
    who: str
    than: str
    paper: str
    ours: str
    word: Word


@dataclass(frozen=True, slots=True)
class EntryStudy:
    """A study at one scale. metric: of ours.

    is_lead: of all that is known of the study, what weighs most; it decides.
    sentence: data, scale and metric together with the values.
    """

    found: StudyRuns
    is_lead: bool
    metric: str
    sentence: str
    pairs: tuple[Pair, ...]

    @property
    def study(self) -> StudyRecord:
        """The study itself."""
        return self.found.study

    @property
    def command(self) -> str:
        """What runs it again."""
        return study_command(self.study)


@dataclass(frozen=True, slots=True)
class EntryResult:
    """Everything of ours that belongs to an entry.

    not_run: its studies, figures and claims without a record, in words.
    word: the verdict in one or two words.
    """

    entry: PaperEntry
    studies: tuple[EntryStudy, ...]
    figures: tuple[FigureRecord, ...]
    claims: tuple[Verdict, ...]
    not_run: tuple[str, ...]
    commands: tuple[str, ...]
    word: str
    verdict: str
    badge: Badge


def entry_result(
    entry: PaperEntry,
    studies: Mapping[str, Sequence[StudyRuns]],
    figures: Mapping[str, FigureRecord],
    verdicts: Mapping[str, Verdict],
) -> EntryResult:
    """Look for everything that the entry names.

    studies: by name, what weighs most first.
    """
    found = [
        _of_study(entry, runs, is_lead=i == 0)
        for name in entry.studies
        for i, runs in enumerate(filter(_is_result, studies.get(name, ())))
    ]
    claims = tuple(verdicts[name] for name in entry.claims if name in verdicts)
    shown = tuple(figures[name] for name in entry.figures if name in figures)
    with_runs = {one.study.name for one in found}
    not_run = [
        *(f"study {name}" for name in entry.studies if name not in with_runs),
        *(f"figure {name}" for name in entry.figures if name not in figures),
        *(f"claim {name}" for name in entry.claims if name not in verdicts),
    ]
    word, verdict, badge = _verdict(entry, found, claims)
    return EntryResult(
        entry,
        tuple(found),
        shown,
        claims,
        tuple(not_run),
        _commands(entry, found),
        word,
        verdict,
        badge,
    )


def _is_result(found: StudyRuns) -> bool:
    """By the paper's own rules, and not the search that found the settings."""
    study = found.study
    return bool(found.runs) and study.ruleset == "paper" and study.scale != SEARCH


def paper_words(value: PaperValue) -> str:
    """43.43 ± 4.38, with as many digits as are printed."""
    mean = f"{value.mean:.2f}"
    return mean if value.std is None else f"{mean} ± {value.std:g}"


def _of_study(entry: PaperEntry, found: StudyRuns, *, is_lead: bool) -> EntryStudy:
    metric = compared_metric(found.study) or ""
    return EntryStudy(
        found,
        is_lead,
        metric_of(metric).label if metric else "",
        study_sentence(found),
        tuple(_pairs(entry, found, metric)) if metric else (),
    )


def _pairs(entry: PaperEntry, found: StudyRuns, metric: str) -> list[Pair]:
    """The printed rows of this study, then orders without a number."""
    made: list[Pair] = []
    for table in entry.tables:
        for row in table.rows:
            if row.study == found.study.name:
                printed = {
                    other: _Printed.of(table, row, other)
                    for other in row.values
                    if other != PAPERS
                }
                made += _family(row.name, _arms(found, row.where), printed, metric)
    for order in entry.better:
        if order.study == found.study.name:
            ahead = _Printed(f"{display(PAPERS)} ahead, no number", True)
            printed = dict.fromkeys(order.than, ahead)
            made += _family("", _arms(found, {}), printed, metric)
    return made


@dataclass(frozen=True, slots=True)
class _Printed:
    """What the paper reports of a pair."""

    words: str
    is_ahead: bool

    @classmethod
    def of(cls, table: PaperTable, row: PaperRow, other: str) -> "_Printed":
        gap = row.values[PAPERS].mean - row.values[other].mean
        return cls(f"{gap:+.2f}".replace("-", "−"), (gap > 0) == table.higher_is_better)


def _arms(found: StudyRuns, where: Mapping[str, object]) -> dict[str, Arm]:
    """One arm for each optimizer: the setting that validation chose."""
    fit = [
        arm
        for arm in found.arms
        if all(arm.conditions.get(name) == value for name, value in where.items())
    ]
    return {arm.optimizer: arm for arm in shown_arms(fit, ())}


def _family(
    row: str, arms: Mapping[str, Arm], printed: Mapping[str, _Printed], metric: str
) -> list[Pair]:
    """Every pair of a row; their p values are corrected together."""
    first = first_of(arms, PAPER_FIRST)
    known = [name for name in printed if name in arms] if first else []
    ours = compare_pairs([(arms[first or ""], arms[name]) for name in known], metric)
    compared = dict(zip(known, ours, strict=True))
    return [
        Pair(
            row,
            display(first or ""),
            display(other),
            paper.words,
            *_ours(compared.get(other), paper.is_ahead, metric),
        )
        for other, paper in printed.items()
    ]


def _ours(found: Comparison | None, is_ahead: bool, metric: str) -> tuple[str, Word]:
    """ACProp minus the other, and whether that is the order that the paper reports."""
    if found is None:
        return "–", "no runs"
    words = difference_words(found.difference, metric)
    if found.words not in ("better", "worse"):
        return words, "no difference shown"
    is_same = (found.words == "better") == is_ahead
    p = p_words(found.p)
    words += f", p {p}" if p.startswith("<") else f", p = {p}"
    return words, "same order" if is_same else "opposite order"


def _verdict(
    entry: PaperEntry, found: Sequence[EntryStudy], claims: Sequence[Verdict]
) -> tuple[str, str, Badge]:
    """A word, a sentence, and their colour."""
    leads = [one for one in found if one.is_lead]
    pairs = [pair for one in leads for pair in one.pairs if pair.word != "no runs"]
    if pairs:
        return _of_pairs(pairs, list(dict.fromkeys(one.study.scale for one in leads)))
    words = [v.verdict for v in claims if v.owner == "paper"]
    if words:
        listed = ", ".join(f"{words.count(w)} {w}" for w in _CLAIM_WORDS if w in words)
        text = f"The paper's claims here: {listed}."
        if "fails" in words:
            return ("partly", text, "undecided") if "holds" in words else (
                "does not hold", text, "fails"
            )  # fmt: skip
        is_open = "undecided" in words
        return (
            ("not decided", text, "undecided") if is_open else ("holds", text, "holds")
        )
    if found:
        return "shown", "Run, and shown below; no order is reported here.", "none"
    if entry.ours:
        return "nothing to measure", "Nothing to measure.", "none"
    return "not run", "Not run: none of the records given belongs to it.", "none"


def _of_pairs(pairs: Sequence[Pair], scales: Sequence[str]) -> tuple[str, str, Badge]:
    counts = {word: sum(p.word == word for p in pairs) for word in _WORDS}
    listed = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    text = f"{len(pairs)} comparisons at {' and '.join(scales)} scale: {listed}."
    if all(scale == "smoke" for scale in scales):
        text += " Smoke scale shows that it runs, not who wins."
        return "not decided", text, "undecided"
    if counts["same order"] == len(pairs):
        return "same order", text, "holds"
    if counts["opposite order"] and not counts["same order"]:
        return "opposite order", text, "fails"
    return ("partly" if counts["same order"] else "not decided"), text, "undecided"


_CLAIM_WORDS = ("holds", "fails", "undecided")
_WORDS = ("same order", "opposite order", "no difference shown")


def _commands(entry: PaperEntry, found: Sequence[EntryStudy]) -> tuple[str, ...]:
    """As they were run; what was not run, at smoke scale."""
    known: dict[str, list[str]] = {}
    for one in found:
        known.setdefault(one.study.name, []).append(one.command)
    studies = [
        command
        for name in entry.studies
        for command in dict.fromkeys(
            known.get(name, [f"acprop bench study {name} --scale smoke"])
        )
    ]
    figures = [f"acprop lab figures {' '.join(entry.figures)}"] if entry.figures else []
    claims = [f"acprop lab verify {' '.join(entry.claims)}"] if entry.claims else []
    return (*entry.commands, *studies, *figures, *claims)
