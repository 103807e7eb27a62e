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
from typing import NamedTuple

from acprop.metrics import metric_of
from acprop.records import FigureRecord, StudyRecord, Verdict, verdict_counts
from acprop.report.comparisons import Comparison, compare_pairs
from acprop.report.paper import PaperEntry
from acprop.report.results import Badge
from acprop.report.studies import SEARCH, StudyRuns
from acprop.report.style import display
from acprop.report.variants import PAPER_FIRST, first_of
from acprop.report.words import (
    NONE,
    difference_words,
    p_words,
    study_command,
)

PAPERS = "acprop-paper"  # as which the paper's numbers stand in tables.toml
_ORDERS = ("same order", "opposite order", "no difference shown")


class EntryOutcome(NamedTuple):
    """In one or two words, in a sentence, and as a colour."""

    word: str
    verdict: str
    badge: Badge


class Pair(NamedTuple):
    """ACProp beside another optimizer; what the paper prints, and what ours says.

    who: which ACProp of ours; empty if there is none.
    word: "same order", "opposite order", "no difference shown" or "no runs"
    """

    row: str
    who: str
    than: str
    paper: str
    ours: str
    word: str


@dataclass(frozen=True, slots=True)
class EntryStudy:
    """A study at one scale. metric: of ours.

    is_lead: of all that is known of the study, what weighs most; it decides.
    """

    found: StudyRuns
    is_lead: bool
    metric: str
    pairs: tuple[Pair, ...]

    @property
    def study(self) -> StudyRecord:
        """The study itself."""
        return self.found.study


@dataclass(frozen=True, slots=True)
class EntryResult:
    """Everything of ours that belongs to an entry.

    not_run: its studies, figures and claims without a record, in words.
    """

    entry: PaperEntry
    studies: tuple[EntryStudy, ...]
    figures: tuple[FigureRecord, ...]
    claims: tuple[Verdict, ...]
    not_run: tuple[str, ...]
    commands: tuple[str, ...]
    outcome: EntryOutcome


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
        EntryStudy(
            runs,
            i == 0,
            metric_of(runs.metric).label,
            tuple(_pairs(entry, runs)),
        )
        for name in entry.studies
        for i, runs in enumerate(filter(_is_result, studies.get(name, ())))
    ]
    named = (*entry.sentences, *entry.claims)
    claims = tuple(verdicts[name] for name in named if name in verdicts)
    with_runs = {one.study.name for one in found}
    return EntryResult(
        entry,
        tuple(found),
        figures=tuple(figures[name] for name in entry.figures if name in figures),
        claims=claims,
        not_run=(
            *(f"study {name}" for name in entry.studies if name not in with_runs),
            *(f"figure {name}" for name in entry.figures if name not in figures),
            *(f"claim {name}" for name in entry.claims if name not in verdicts),
        ),
        commands=_commands(entry, found),
        outcome=_outcome(entry, [one for one in found if one.is_lead], claims),
    )


def _is_result(found: StudyRuns) -> bool:
    """Not the search that found the settings, nor everyone at the library's own."""
    study = found.study
    return bool(found.runs) and study.ruleset != "default" and study.scale != SEARCH


def _pairs(entry: PaperEntry, found: StudyRuns) -> list[Pair]:
    """The printed rows of this study, then orders without a number."""
    made: list[Pair] = []
    for table in entry.tables:
        for row in table.rows:
            if row.study == found.study.name:
                means = table.means(row)
                papers = means.pop(PAPERS)
                gaps = {name: papers - mean for name, mean in means.items()}
                printed = {
                    name: (
                        f"{gap:+.2f}".replace("-", "−"),
                        (gap > 0) == (table.better == "higher"),
                    )
                    for name, gap in gaps.items()
                }
                made += _family(row.name, found, row.where, printed)
    for order in entry.better:
        if order.study == found.study.name:
            ahead = f"{display(PAPERS)} ahead, no number", True
            made += _family("", found, {}, dict.fromkeys(order.than, ahead))
    return made


def _family(
    row: str,
    found: StudyRuns,
    where: Mapping[str, object],
    printed: Mapping[str, tuple[str, bool]],
) -> list[Pair]:
    """Every pair of a row; their p values are corrected together.

    where: the conditions of the row. printed: the gap to each optimizer in words, and
    whether the paper's ACProp is ahead. Ours is the setting that validation or a
    search chose.
    """
    fit = [arm for arm in found.methods if where.items() <= arm.conditions.items()]
    arms = {arm.optimizer: arm for arm in fit}
    first = first_of(arms, PAPER_FIRST) or ""
    known = [name for name in printed if name in arms] if first else []
    ours = compare_pairs([(arms[first], arms[name]) for name in known], found.metric)
    compared = dict(zip(known, ours, strict=True))
    return [
        Pair(
            row,
            display(first),
            display(other),
            words,
            *_ours(compared.get(other), is_ahead, found.metric),
        )
        for other, (words, is_ahead) in printed.items()
    ]


def _ours(found: Comparison | None, is_ahead: bool, metric: str) -> tuple[str, str]:
    """ACProp minus the other, and whether that is the order that the paper reports."""
    if found is None:
        return NONE, "no runs"
    words = difference_words(found.difference, metric)
    if found.words not in ("better", "worse"):
        return words, "no difference shown"
    is_same = (found.words == "better") == is_ahead
    p = p_words(found.p)
    words += f", p {p}" if p.startswith("<") else f", p = {p}"
    return words, "same order" if is_same else "opposite order"


def _outcome(
    entry: PaperEntry, leads: Sequence[EntryStudy], claims: Sequence[Verdict]
) -> EntryOutcome:
    pairs = [pair for one in leads for pair in one.pairs if pair.word != "no runs"]
    if pairs:
        return _of_pairs(pairs, list(dict.fromkeys(one.study.scale for one in leads)))
    papers = [v for v in claims if v.owner == "paper"]
    words = [v.verdict for v in papers]
    if words:
        text = f"The paper's claims here: {verdict_counts(papers)}."
        if "fails" in words and "holds" in words:
            return EntryOutcome("partly", text, "undecided")
        if "fails" in words:
            return EntryOutcome("does not hold", text, "fails")
        if "undecided" in words:
            return EntryOutcome("not decided", text, "undecided")
        return EntryOutcome("holds", text, "holds")
    if leads:
        text = "Run, and shown below; no order is reported here."
        return EntryOutcome("shown", text, "none")
    if entry.ours:
        return EntryOutcome("nothing to measure", "Nothing to measure.", "none")
    text = "Not run: none of the records given belongs to it."
    return EntryOutcome("not run", text, "none")


def _of_pairs(pairs: Sequence[Pair], scales: Sequence[str]) -> EntryOutcome:
    counts = {word: sum(p.word == word for p in pairs) for word in _ORDERS}
    listed = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    count = f"{len(pairs)} comparison{'s' if len(pairs) > 1 else ''}"
    text = f"{count} at {' and '.join(scales)} scale: {listed}."
    if all(scale == "smoke" for scale in scales):
        text += " Smoke scale shows that it runs, not who wins."
        return EntryOutcome("not decided", text, "undecided")
    if counts["same order"] == len(pairs):
        return EntryOutcome("same order", text, "holds")
    if counts["opposite order"] and not counts["same order"]:
        return EntryOutcome("opposite order", text, "fails")
    word = "partly" if counts["same order"] else "not decided"
    return EntryOutcome(word, text, "undecided")


def _commands(entry: PaperEntry, found: Sequence[EntryStudy]) -> tuple[str, ...]:
    """As they were run; what was not run, at smoke scale."""
    known: dict[str, list[str]] = {}
    for one in found:
        known.setdefault(one.study.name, []).append(study_command(one.study))
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
