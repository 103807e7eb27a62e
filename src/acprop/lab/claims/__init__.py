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
    momentum,
    momentum_steps,
    numerics,
    numerics_absolute,
    numerics_centering,
    numerics_constants,
    numerics_harmonic,
    numerics_stochastic,
    oracle,
    preconditioner,
    rates,
    sparse,
    sparse_criterion,
    sparse_figures,
    theorem41,
    training,
    weaker,
)
from acprop.lab.claims.claim import REGISTERED, Claim
from acprop.records import Verdict

# The order of the records and of the pages; within a file it is that of the functions.
PARTS = (
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
    preconditioner,
    theorem41,
    oracle,
    rates,
    momentum,
    momentum_steps,
    numerics,
    numerics_absolute,
    numerics_constants,
    numerics_centering,
    numerics_harmonic,
    numerics_stochastic,
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
        if name not in CLAIMS:
            known = ", ".join(CLAIMS)
            raise UserError(f"claim must be one of {known}, got {name}")
    return list(names or CLAIMS)


def verify(name: str) -> Verdict:
    """Check one claim."""
    return CLAIMS[name].verify()
