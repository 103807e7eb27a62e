"""Sentences about training, decided from records by rules written beforehand.

docs/evidence.md has the rules; it was committed before the runs. Each sentence is a
function in `sentences` (the paper's) or `questions` (ours) that looks at studies of
scale "small" and returns a `Decision`. What "outperforms" means is
`comparisons.compare_all`, with Holm's correction over all comparisons of the study. A
sentence whose runs are not there is undecided.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from acprop.metrics import metric_of
from acprop.plain import Plain
from acprop.records import Verdict
from acprop.report.comparisons import Comparison, compare_all
from acprop.report.statistics import Arm, describe
from acprop.report.studies import StudyRuns
from acprop.report.words import difference_words, study_command

SCALE = "small"
# The code of the published curves; it stands for "ACProp" in the paper's sentences.
PUBLISHED = "acprop-authors"
OURS = "acprop"  # the default
Answer = Literal["holds", "fails", "undecided"]


class NotRunError(LookupError):
    """A study, or an arm of it, has no records yet."""


class Decision(NamedTuple):
    """words: what was seen, with numbers. numbers: the same for a program."""

    answer: Answer
    words: str
    numbers: Plain = {}  # noqa: RUF012 - never written to


@dataclass(frozen=True, slots=True)
class Evidence:
    """Studies by name and ruleset, at the scale that decides."""

    studies: Mapping[tuple[str, str], StudyRuns]

    def study(self, name: str, ruleset: str = "paper") -> "Arena":
        """One study, as far as it was run to its end."""
        found = self.studies.get((name, ruleset))
        if found is None or not found.n_done:
            rules = "" if ruleset == "paper" else f" --ruleset {ruleset}"
            command = f"acprop bench study {name} --scale {SCALE}{rules}"
            raise NotRunError(f"not run yet: {command}")
        if found.study.missing or found.n_done < len(found.study.runs):
            raise NotRunError(f"not finished yet: {study_command(found.study)}")
        return Arena(found)


def evidence_of(studies: Iterable[StudyRuns]) -> Evidence:
    """Of all that is known, what is of the scale that decides."""
    return Evidence(
        {
            (found.study.name, found.study.ruleset): found
            for found in studies
            if found.study.scale == SCALE and not found.is_here
        }
    )


@dataclass(frozen=True, slots=True)
class Arena:
    """One study, in which one method is compared with others."""

    found: StudyRuns
    metric: str = ""

    def by(self, metric: str) -> "Arena":
        """The same, compared by another metric."""
        return Arena(self.found, metric)

    @property
    def measure(self) -> str:
        """The metric that decides."""
        return self.metric or self.found.metric

    def arm(self, optimizer: str, **settings: Any) -> Arm:
        """The one arm of this variant with these settings."""
        some = self.arms(optimizer, **settings)
        if len(some) != 1:
            raise NotRunError(f"{len(some)} arms of {optimizer} in {self.name}")
        return some[0]

    def arms(self, optimizer: str, **settings: Any) -> list[Arm]:
        """All arms of this variant with these settings."""
        return [
            arm
            for arm in self.found.arms
            if arm.optimizer == optimizer
            and all(arm.known.get(k) == v for k, v in settings.items())
        ]

    @property
    def name(self) -> str:
        """Of the study."""
        return self.found.study.name

    def versus(self, reference: Arm) -> dict[int, Comparison]:
        """Every other arm minus the reference, by the arm's place in the study."""
        made = compare_all(self.found.arms, reference, self.measure)
        return {i: c for i, c in enumerate(made) if c is not None}

    def comparison(self, arm: Arm, reference: Arm) -> Comparison:
        """An arm minus the reference, corrected for all comparisons of the study."""
        place = next(i for i, one in enumerate(self.found.arms) if one is arm)
        return self.versus(reference)[place]

    def words(self, arm: Arm, reference: Arm) -> str:
        """Adam +0.3 [−0.1, +0.7]."""
        seen = self.comparison(arm, reference).difference
        return f"{self.named(arm)} {difference_words(seen, self.measure)}"

    def named(self, arm: Arm) -> str:
        """The method; of one with several arms, also which."""
        is_one = len(self.arms(arm.optimizer)) == 1
        return describe(arm, () if is_one else self.found.study.axes)


def outperforms(arena: Arena, winner: Arm, others: Sequence[Arm]) -> Decision:
    """Each of them worse: holds. One of them better: fails. Else undecided.

    What our default does stands last in the words, and decides nothing.
    """
    answers = [
        {"worse": "holds", "better": "fails"}.get(arena.comparison(o, winner).words)
        for o in others
    ]
    seen = _by_outcome(arena, winner, others)
    ours = [a for a in arena.arms(OURS) if a is not winner and a not in others]
    if ours:
        seen += f". Beside them {_by_outcome(arena, winner, ours)}"
    label = metric_of(arena.measure).label
    than = arena.named(winner)
    return Decision(
        combined(answers), f"{arena.name}, {label}, difference to {than}: {seen}"
    )


def _by_outcome(arena: Arena, winner: Arm, others: Sequence[Arm]) -> str:
    """Better: Adam +0.3 [+0.1, +0.5]; worse: SGD −1 [−2, −0.5], RAdam −2 [−3, −1]."""
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for other in others:
        word = arena.comparison(other, winner).words
        found.setdefault(word, []).append(arena.words(other, winner))
    return "; ".join(f"{word}: {', '.join(w)}" for word, w in found.items() if w)


def comparable(arena: Arena, one: Arm, other: Arm, band: float) -> Decision:
    """The interval of differences within ±band: holds. All of it outside: fails."""
    seen = arena.comparison(one, other).difference
    answer: Answer = "undecided"
    if -band <= seen.low and seen.high <= band:
        answer = "holds"
    elif seen.low > band or seen.high < -band:
        answer = "fails"
    return Decision(answer, f"{arena.name}: {arena.words(one, other)}")


def combined(answers: Iterable[str | None]) -> Answer:
    """All hold: holds. One fails: fails. Anything else, None included: undecided."""
    known = list(answers)
    if "fails" in known:
        return "fails"
    return "holds" if known and all(a == "holds" for a in known) else "undecided"


def attempt(decide: Callable[..., Decision], *arguments: Any) -> Decision:
    """A part of a sentence, which may not have been run while another has."""
    try:
        return decide(*arguments)
    except NotRunError as error:
        return Decision("undecided", str(error))


def together(parts: Iterable[Decision]) -> Decision:
    """Several findings that a sentence needs all of."""
    known = list(parts)
    answer = combined(part.answer for part in known)
    # Once each: what has not been run is the same for several parts.
    return Decision(answer, ". ".join(dict.fromkeys(part.words for part in known)))


Decide = Callable[[Evidence], Decision]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A statement about training, and what decides it. owner: whose it is."""

    owner: Literal["paper", "ours"]
    name: str
    place: str
    words: str
    decide: Decide

    def verdict(self, evidence: Evidence) -> Verdict:
        """What the records say."""
        found = attempt(self.decide, evidence)
        return Verdict(
            claim=self.name,
            owner=self.owner,
            kind="empirical",
            place=self.place,
            statement=self.words,
            verdict=found.answer,
            evidence=f"at {SCALE} scale: {found.words}",
            numbers=found.numbers,
            wall_seconds=0.0,
        )


@dataclass(slots=True)
class Register:
    """All sentences of one owner, in the order in which they are written."""

    owner: Literal["paper", "ours"]
    sentences: list[Sentence] = field(default_factory=list[Sentence])

    def __call__(self, name: str, place: str, words: str) -> Callable[[Decide], Decide]:
        """Register the function below as what decides this sentence."""

        def keep(decide: Decide) -> Decide:
            self.sentences.append(Sentence(self.owner, name, place, words, decide))
            return decide

        return keep
