"""Verdicts as the page of claims shows them: by owner, kind and verdict, typeset."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from acprop.records import APART, KINDS, Kind, Verdict
from acprop.report.mathml import block
from acprop.report.paper import formulas

__all__ = ["KIND_WORDS", "ClaimCard", "KindGroup", "Owner", "count_of", "group_claims"]

ORDER = ("fails", "undecided", "holds")
KIND_WORDS: dict[Kind, str] = {
    "central": "A result.",
    "proof step": "A step of a proof, or a reason given for a result.",
    "constant": "A number or a closed form.",
    "wording": "A remark or a slip on which no conclusion rests; counted apart.",
    "definition": "Follows from the definitions and cannot fail; counted apart.",
}
_TITLES = {"paper": "The paper’s claims", "ours": "Our own claims"}


@dataclass(frozen=True, slots=True)
class ClaimCard:
    """A verdict with its formulas, set; corrected: the claim that holds instead."""

    verdict: Verdict
    printed: Markup
    holds: Markup
    corrected: str


@dataclass(frozen=True, slots=True)
class KindGroup:
    """Claims of one owner and kind, those that fail first."""

    kind: Kind
    words: str
    claims: tuple[ClaimCard, ...]
    counts: Counter[str]

    @property
    def is_apart(self) -> bool:
        """Is it left out of the counts of its owner?"""
        return self.kind in APART


@dataclass(frozen=True, slots=True)
class Owner:
    """The paper, or we; counts: of the kinds that are not counted apart."""

    owner: str
    title: str
    counts: Counter[str]
    kinds: tuple[KindGroup, ...]


def group_claims(verdicts: Sequence[Verdict]) -> list[Owner]:
    """The paper's first; an owner or a kind without claims is left out."""
    known = {v.claim for v in verdicts}
    owners: list[Owner] = []
    for owner, title in _TITLES.items():
        of_owner = [v for v in verdicts if v.owner == owner]
        kinds = tuple(
            KindGroup(kind, KIND_WORDS[kind], tuple(claims), count_of(some))
            for kind in KINDS
            if (some := [v for v in of_owner if v.kind == kind])
            for claims in [[_claim(v, known) for v in _sorted(some)]]
        )
        if kinds:
            counted = [v for v in of_owner if v.kind not in APART]
            owners.append(Owner(owner, title, count_of(counted), kinds))
    return owners


def count_of(verdicts: Sequence[Verdict]) -> Counter[str]:
    """How many hold, fail, are undecided."""
    return Counter(v.verdict for v in verdicts)


def _sorted(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda v: ORDER.index(v.verdict))


def _claim(verdict: Verdict, known: set[str]) -> ClaimCard:
    formula = formulas().get(verdict.claim)
    corrected = f"{verdict.claim.removesuffix('-as-printed')}-corrected"
    return ClaimCard(
        verdict,
        printed=_set(formula.printed if formula else ""),
        holds=_set(formula.holds if formula else ""),
        corrected=corrected if corrected in known else "",
    )


def _set(latex: str) -> Markup:
    """Ours, and escaped by the translator; nothing of a record is in it."""
    return Markup(block(latex)) if latex else Markup("")
