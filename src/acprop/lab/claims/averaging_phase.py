"""When asynchrony survives averaging first: borders on the dense problem, exactly."""

import numpy as np

from acprop.lab.claims.claim import Finding, claim
from acprop.lab.claims.grids import drifts
from acprop.lab.methods import METHODS
from acprop.lab.phase import (
    UNCENTERED,
    band_end,
    critical_beta1,
    scaled_border,
    threshold,
)
from acprop.rule import ACPROP_BEFORE, Rule

PLACE = "Lemma 3.3"

BETA1 = (0.6, 0.7, 0.8, 0.9)
LARGE = 1000
METHODS_BY_LABEL = {
    "centered, delay 1": METHODS["acprop-before"],
    "uncentered, delay 1": UNCENTERED,
    "AdaBelief": METHODS["adabelief"],
    "Adam": METHODS["adam"],
}


@claim("averaging-first-threshold", "ours", "central", PLACE)
def near_one() -> Finding:
    """For m/√s on the dense problem (1 - β2*)·P² tends to 4(1+β1+β1²)/(2β1³+2β1²-1)
    with a delay of 1 and to 4/(1 - (1-β1)/(1+β1+β1²)) without (AdaBelief); uncentered
    to 4/(2β1-1) and to 4 (Adam).

    (1 - β2*)·P² at P and 2P; what is left falls as 1/P, so it is extrapolated.
    """
    rows: dict[str, dict[str, list[float]]] = {}
    worst = 0.0
    for label, method in METHODS_BY_LABEL.items():
        rows[label] = {}
        for beta1 in BETA1:
            assert isinstance(method.rule, Rule)
            once, twice = (scaled_border(method, beta1, P) for P in (LARGE, 2 * LARGE))
            limit = threshold(method.rule, beta1)
            worst = max(worst, abs(2 * twice - once - limit) / limit)
            rows[label][str(beta1)] = [once, 2 * twice - once, limit]
    first = rows["centered, delay 1"]
    listed = ", ".join(
        f"{once:.2f} at β1 = {beta1} ({limit:.2f} in the limit)"
        for beta1, (once, _, limit) in first.items()
    )
    return Finding.of(
        worst < 2e-3,
        f"at P = {LARGE} (1 - β2*)·P² is {listed}; extrapolated from P and 2P, four "
        f"rules and {len(BETA1)} β1 differ from their formulas by at most {worst:.0e}",
        {"borders": rows, "worst": worst},
    )


PERIODS = (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


def wrong_cells(beta1: float) -> int:
    """Of 14 periods and 120 β2, how many drift away from x*."""
    beta2 = 1 - np.geomspace(0.99, 1e-8, 120)
    return int(np.sum(drifts("dense", "acprop-before", PERIODS, beta1, beta2) <= 0))


@claim("averaging-first-critical-beta1", "ours", "central", PLACE)
def protected() -> Finding:
    """Averaging first keeps Lemma 3.3 for 2β1³ + 2β1² ≤ 1, β1 ≤ 0.5652, and loses it
    above.
    """
    critical = critical_beta1(ACPROP_BEFORE)
    below = {b: wrong_cells(b) for b in (0.1, 0.3, 0.5, critical - 0.001)}
    above = {b: wrong_cells(b) for b in (critical + 0.02, 0.7, 0.9)}
    root = 2 * critical**3 + 2 * critical**2
    holds = not any(below.values()) and all(above.values()) and abs(root - 1) < 1e-12
    listed = ", ".join(f"{n} at {b:.4g}" for b, n in above.items())
    return Finding.of(
        holds,
        f"2β1³ + 2β1² = 1 at β1 = {critical:.4f}; of {len(PERIODS) * 120} cells "
        f"{sum(below.values())} are wrong for β1 from 0.1 to just below it, above it "
        f"{listed}",
        {"critical": critical, "below": list(below.values()), "above": listed},
    )


@claim("averaging-first-band", "ours", "central", PLACE)
def band() -> Finding:
    """Above the critical β1 the drift is wrong in a band c*/P² < 1 - β2 < a*/P."""
    P, rows = 4 * LARGE, dict[str, list[float]]()
    worst = 0.0
    for beta1 in BETA1:
        a = band_end(ACPROP_BEFORE, beta1)
        gap = a / P * np.linspace(0.9, 1.1, 401)
        (found,) = drifts("dense", "acprop-before", [P], beta1, 1 - gap)
        last = float(gap[found < 0].max()) * P
        rows[str(beta1)] = [last, a]
        worst = max(worst, abs(last / a - 1))
    listed = ", ".join(f"{last:.2f} ({a:.2f})" for last, a in rows.values())
    return Finding.of(
        worst < 0.02,
        f"at P = {P} and β1 = 0.6, 0.7, 0.8, 0.9 the drift is right again from "
        f"(1 - β2)·P = {listed} on; in brackets the limit",
        {"ends": rows, "worst": worst},
    )
