"""A claim: a sentence of the paper, or of ours, with the function that decides it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from acprop.records import Kind, Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw: the verdict, one sentence of evidence, and its numbers."""

    verdict: Literal["holds", "fails", "undecided"]
    evidence: str
    numbers: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, ok: object, evidence: str, numbers: dict[str, Any]) -> "Finding":
        """The claim holds if `ok` is true, and fails otherwise."""
        return cls("holds" if ok else "fails", evidence, numbers)


Check = Callable[[], Finding]


@dataclass(frozen=True, slots=True)
class Claim:
    """name: how the command line finds it. place: where the paper says it.

    kind: see `acprop.records.Verdict`.
    """

    name: str
    owner: Literal["paper", "ours"]
    kind: Kind
    place: str
    statement: str
    check: Check

    def verify(self) -> Verdict:
        """Run the check."""
        start = time.perf_counter()
        found = self.check()
        return Verdict(
            claim=self.name,
            owner=self.owner,
            kind=self.kind,
            place=self.place,
            statement=self.statement,
            verdict=found.verdict,
            evidence=found.evidence,
            numbers=found.numbers,
            wall_seconds=time.perf_counter() - start,
        )


REGISTERED: list[Claim] = []


def claim(
    name: str,
    owner: Literal["paper", "ours"],
    kind: Kind,
    place: str,
    statement: str | None = None,
) -> Callable[[Check], Check]:
    """Register the function below, which decides the claim.

    The first paragraph of its docstring is the statement, unless one is given here;
    what follows says how it is decided.
    """

    def register(check: Check) -> Check:
        text = statement or (check.__doc__ or "").split("\n\n")[0]
        words = " ".join(text.split())
        REGISTERED.append(Claim(name, owner, kind, place, words, check))
        return check

    return register
