"""Every lemma, theorem and toy figure of the paper as something that is checked."""

from collections.abc import Sequence

from acprop.checks import one_of
from acprop.lab.claims import (
    averaging,
    averaging_first,
    averaging_theorems,
    clip,
    constants,
    dense,
    dense_figures,
    family,
    forms,
    harmonic,
    lemma34,
    momentum,
    numerics,
    preconditioner,
    rates,
    sparse,
    sparse_figures,
    stochastic,
    theorem41,
    training,
)
from acprop.lab.claims.claim import REGISTERED, Claim
from acprop.records import Verdict

# The order of the records and of the pages; within a file it is that of the functions.
PARTS = (
    family,
    dense,
    dense_figures,
    lemma34,
    sparse,
    sparse_figures,
    clip,
    averaging,
    averaging_first,
    averaging_theorems,
    forms,
    preconditioner,
    theorem41,
    rates,
    momentum,
    numerics,
    constants,
    harmonic,
    stochastic,
    training,
)
CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for part in PARTS
    for claim in REGISTERED
    if claim.check.__module__ == part.__name__
}


def find(names: Sequence[str]) -> list[str]:
    """The names of the claims meant; none named is all."""
    for name in names:
        one_of("claim", name, CLAIMS)
    return list(names or CLAIMS)


def verify(name: str) -> Verdict:
    """Check one claim."""
    return CLAIMS[name].verify()
