"""Section 3's conclusion: ACProp against the other methods, problem by problem."""

import numpy as np

from acprop.lab.claims.claim import Finding, claim
from acprop.lab.claims.grids import CELLS, right


@claim("weaker-than-sync", "paper", "central", "Section 3, opening")
def weaker_than_others() -> Finding:
    """“Therefore, ACProp has weaker convergence conditions than AdaShift and other
    sync-optimizers”: than the latter on problem 1, than AdaShift on problem 2
    """
    ours = right("dense", "acprop-paper"), right("sparse", "acprop-paper")
    others = {
        "RMSProp": (0, right("dense", "rmsprop")),
        "Adam": (0, right("dense", "adam")),
        "AdaBelief": (0, right("dense", "adabelief")),
        "AdaShift": (1, right("sparse", "adashift")),
    }
    wins = {k: int(np.sum(ours[i] & ~theirs)) for k, (i, theirs) in others.items()}
    lost = {k: int(np.sum(theirs & ~ours[i])) for k, (i, theirs) in others.items()}
    listed = ", ".join(f"{k} {n}" for k, n in wins.items())
    return Finding.of(
        min(wins.values()) > 0 and not any(lost.values()),
        "cells in which ACProp alone drifts rightly, against each on the problem on "
        f"which the paper compares them: {listed}; the other way round "
        f"{sum(lost.values())}",
        {"ACProp alone": wins, "the other alone": lost},
    )


@claim("weaker-than-its-twin", "ours", "central", "Section 3, opening")
def against_its_twin() -> Finding:
    """against centered RMSProp, which differs in the delay only, ACProp gains on
    problem 1 and is no different on problem 2
    """
    pairs = {
        f"problem {i}": (right(kind, "acprop-paper"), right(kind, "rmsprop-centered"))
        for i, kind in enumerate(("dense", "sparse"), 1)
    }
    shares = {k: (float(a.mean()), float(b.mean())) for k, (a, b) in pairs.items()}
    alone = {
        k: (int(np.sum(a & ~b)), int(np.sum(b & ~a))) for k, (a, b) in pairs.items()
    }
    (whole, part), (ours, theirs) = shares.values()
    ok = whole == 1 and part < 0.5 and abs(ours - theirs) < 0.005
    listed = "; ".join(
        f"{k}: {a:.1%} and {b:.1%}, alone in {alone[k][0]} and {alone[k][1]} cells"
        for k, (a, b) in shares.items()
    )
    return Finding.of(
        ok,
        f"right drift of ACProp and of centered RMSProp, {listed}",
        {"shares": shares, "alone": alone},
    )


@claim("sparse-sync-with-momentum", "ours", "central", "Section 3, opening")
def sync_with_momentum_on_sparse() -> Finding:
    """on problem 2, where the paper does not compare them, Adam, AdaBelief and AMSGrad
    converge on more cells than ACProp
    """
    names = ("acprop-paper", "adashift", "rmsprop", "adam", "adabelief", "amsgrad")
    shares = {name: float(np.mean(right("sparse", name))) for name in names}
    least = min(shares[k] for k in ("adam", "adabelief", "amsgrad"))
    listed = ", ".join(f"{k} {v:.1%}" for k, v in shares.items())
    return Finding.of(
        least > shares["acprop-paper"],
        f"right drift on {CELLS} cells of problem 2: {listed}",
        shares,
    )
