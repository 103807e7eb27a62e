"""How long the default's steps are beside Adam's: does a learning rate carry over?

In pure noise of variance σ², with d the settled denominator, M_{t-1} has the variance
(1 - β1)/(1 + β1)·σ²/d², so without the limit of one E r² = 2/(1 + β1)·σ² and E s = σ².
The limit cuts off what exceeds ±1. With a standard normal z and w = √((1-β1)/(1+β1))

    d² = (1 + β1)/2·(σ² + d²·E clip(w·σ/d·z, ±1)²)
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize, stats  # pyright: ignore[reportMissingTypeStubs]

from acprop import rule as rules
from acprop.lab.arrays import Floats
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.methods import METHODS, Method
from acprop.lab.steps import feed
from acprop.reference import Settings
from acprop.rule import GUARDED, TORCH, Convention

BETA1 = (0.9, 0.5, 0.0)
BETA2 = 0.99
LANES, STEPS, SKIPPED = 2000, 1200, 500
PLAIN = Method("plain", replace(rules.ACPROP, nesterov=False))


def clipped_square(width: float) -> float:
    """E clip(width·z, ±1)² of a standard normal z."""
    edge = 1 / width if width > 0 else math.inf
    if edge == math.inf:
        return 0.0
    tail = 2 * float(stats.norm.sf(edge))  # pyright: ignore
    inner = 1 - tail - 2 * edge * float(stats.norm.pdf(edge))  # pyright: ignore
    return width**2 * inner + tail


def settled_denominator(beta1: float) -> float:
    """d/σ of the formula above."""
    w = math.sqrt((1 - beta1) / (1 + beta1))

    def gap(d: float) -> float:
        return (1 + beta1) / 2 * (1 + d**2 * clipped_square(w / d)) - d**2

    solve: Any = optimize.brentq  # pyright: ignore
    return float(solve(gap, 0.1, 2.0))


@cache
def rms_step(method: Method, convention: Convention, beta1: float) -> float:
    """√mean(d²) over lanes of standard normal gradients, once settled."""
    rng = np.random.default_rng(0)
    gradients = (rng.standard_normal(LANES) for _ in range(STEPS))
    h = Settings(beta1=beta1, beta2=BETA2)
    squares = [
        _mean_square(step.d)
        for step in feed(method, convention, h, gradients)
        if step.t > SKIPPED
    ]
    return math.sqrt(sum(squares) / len(squares))


def _mean_square(d: Floats) -> float:
    return float(np.mean(d**2))


@claim("default-step-size", "ours", "constant", "docs/guard.md")
def steps_beside_adam() -> Finding:
    """at the same learning rate the default's steps in pure noise are as long as
    Adam's, but for the look ahead and for small β1
    """
    rows: dict[str, dict[str, float]] = {}
    for beta1 in BETA1:
        adam = rms_step(METHODS["adam"], TORCH, beta1)
        rows[str(beta1)] = {
            "without look ahead": rms_step(PLAIN, GUARDED, beta1) / adam,
            "with": rms_step(METHODS["acprop"], GUARDED, beta1) / adam,
            "predicted without": 1 / settled_denominator(beta1),
        }
    gaps = [
        abs(r["without look ahead"] / r["predicted without"] - 1) for r in rows.values()
    ]
    listed = "; ".join(
        f"β1 = {beta1}: {r['without look ahead']:.2f} (predicted "
        f"{r['predicted without']:.2f}), with look ahead {r['with']:.2f}"
        for beta1, r in rows.items()
    )
    carries = all(0.9 < r["without look ahead"] < 1.25 for r in rows.values())
    return Finding.of(
        carries and max(gaps) < 0.02,
        f"root mean square of a step over Adam's in pure noise, {listed}; above 1 at "
        "small β1 because the limit of one cuts off what M would predict",
        {"ratios": rows, "gap": max(gaps)},
    )
