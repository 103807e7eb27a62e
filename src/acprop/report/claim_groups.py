"""Verdicts as the page of claims shows them: by owner, kind and verdict, typeset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from acprop.records import APART, KINDS, Kind, Verdict
from acprop.report.mathml import block

__all__ = ["KIND_WORDS", "ClaimCard", "KindGroup", "Owner", "group_claims"]

ORDER = ("fails", "undecided", "holds")
KIND_WORDS: dict[Kind, str] = {
    "central": "A result.",
    "proof step": "A step of a proof, or a reason given for a result.",
    "constant": "A number or a closed form.",
    "wording": "A remark or a slip on which no conclusion rests; counted apart.",
    "definition": "Follows from the definitions and cannot fail; counted apart.",
    "empirical": "Seen in training, at the scale that was run; counted apart.",
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
    is_apart: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """The paper, or we; counts: of the kinds that are not counted apart."""

    owner: str
    title: str
    counts: Counter[str]
    kinds: tuple[KindGroup, ...]


def group_claims(verdicts: Sequence[Verdict]) -> list[Owner]:
    """The paper's first; an owner or a kind without claims is left out."""
    by_name = {v.claim: v for v in verdicts}
    owners: list[Owner] = []
    for owner, title in _TITLES.items():
        kinds: list[KindGroup] = []
        for kind in KINDS:
            some = [v for v in verdicts if (v.owner, v.kind) == (owner, kind)]
            some.sort(key=lambda v: ORDER.index(v.verdict))
            cards = tuple(_card(v, by_name) for v in some)
            counts = Counter[str](v.verdict for v in some)
            if cards:
                words = KIND_WORDS[kind]
                kinds.append(KindGroup(kind, words, cards, counts, kind in APART))
        if kinds:
            counted = (k.counts for k in kinds if not k.is_apart)
            owners.append(
                Owner(owner, title, sum(counted, Counter[str]()), tuple(kinds))
            )
    return owners


def _card(verdict: Verdict, by_name: Mapping[str, Verdict]) -> ClaimCard:
    name = f"{verdict.claim.removesuffix('-as-printed')}-corrected"
    instead = by_name.get(name)
    holds = verdict.formula or (instead.formula if instead else "")
    return ClaimCard(
        verdict, _set(verdict.printed), _set(holds), corrected=name if instead else ""
    )


def _set(latex: str) -> Markup:
    """As MathML, whose words are escaped; LaTeX that we cannot translate as it is."""
    try:
        return Markup(block(latex) if latex else "")
    except ValueError:
        return Markup("<code>{}</code>").format(latex)
