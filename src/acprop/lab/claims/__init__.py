"""Every lemma, theorem and toy figure of the paper as something that is checked."""

from collections.abc import Sequence

from acprop.checks import UserError
from acprop.lab.claims import (
    averaging,
    averaging_phase,
    averaging_plateau,
    averaging_theorems,
    calibration,
    clip,
    dense,
    dense_figures,
    family,
    forms,
    numerics,
    rates,
    sparse,
    sparse_criterion,
    sparse_figures,
    training,
    weaker,
)
from acprop.lab.claims.claim import Claim
from acprop.records import Verdict

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for part in (
        family,
        dense,
        dense_figures,
        sparse_criterion,
        sparse,
        sparse_figures,
        weaker,
        clip,
        calibration,
        averaging,
        averaging_phase,
        averaging_theorems,
        averaging_plateau,
        forms,
        rates,
        numerics,
        training,
    )
    for claim in part.CLAIMS
}


def find(names: Sequence[str]) -> list[str]:
    """The names of the claims meant; none named is all."""
    for name in names:
        if name not in CLAIMS:
            known = ", ".join(CLAIMS)
            raise UserError(f"claim must be one of {known}, got {name}")
    return list(names or CLAIMS)


def verify(name: str) -> Verdict:
    """Check one claim."""
    return CLAIMS[name].verify()
