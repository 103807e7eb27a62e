"""A claim: a sentence of the paper, or of ours, with the function that decides it.

@claim(name, owner, kind, place)            kind: see `acprop.records.Verdict`
@formula(holds, printed=…)                  LaTeX, for the pages; where there is one
def decide() -> Finding:
    '''The statement.

    How it is decided.
    '''
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acprop.records import Kind, Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw: the verdict, one sentence of evidence, and its numbers."""

    verdict: Literal["holds", "fails", "undecided"]
    evidence: str
    numbers: Mapping[Any, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, ok: object, evidence: str, numbers: Mapping[Any, Any]) -> "Finding":
        """The claim holds if `ok` is true, and fails otherwise."""
        return cls("holds" if ok else "fails", evidence, numbers)


Check = Callable[[], Finding]


@dataclass(frozen=True, slots=True)
class Claim:
    """name: how the command line finds it. place: where the paper says it."""

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
        holds, printed = _FORMULAS.get(self.check, ("", ""))
        return Verdict(
            claim=self.name,
            owner=self.owner,
            kind=self.kind,
            place=self.place,
            statement=self.statement,
            verdict=found.verdict,
            evidence=found.evidence,
            numbers={str(key): value for key, value in found.numbers.items()},
            wall_seconds=time.perf_counter() - start,
            formula=holds,
            printed=printed,
        )


REGISTERED: list[Claim] = []
_FORMULAS: dict[Check, tuple[str, str]] = {}


def claim(
    name: str,
    owner: Literal["paper", "ours"],
    kind: Kind,
    place: str,
    statement: str | None = None,
) -> Callable[[Check], Check]:
    """Register the function below, whose docstring begins with the statement."""

    def register(check: Check) -> Check:
        text = statement or (check.__doc__ or "").split("\n\n")[0]
        words = " ".join(text.split())
        REGISTERED.append(Claim(name, owner, kind, place, words, check))
        return check

    return register


def formula(holds: str = "", *, printed: str = "") -> Callable[[Check], Check]:
    """The claim's formula as it holds, and as the paper prints it if that differs."""

    def keep(check: Check) -> Check:
        _FORMULAS[check] = holds, printed
        return check

    return keep


def listed(values: Mapping[Any, Any], spec: str = "", *, between: str = ", ") -> str:
    """Names and numbers for a sentence: "a 1.0 %, b 2.0 %"."""
    return between.join(f"{key} {value:{spec}}" for key, value in values.items())
