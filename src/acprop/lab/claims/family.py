"""The family's members: what turns into what, what scaling changes, how long steps are.

Does a learning rate carry over from Adam to the default? In pure noise of variance σ²,
with d the settled denominator, M_{t-1} has the variance (1 - β1)/(1 + β1)·σ²/d², so
without the limit of one E r² = 2/(1 + β1)·σ² and E s = σ². The limit cuts off what
exceeds ±1. With a standard normal z and w = √((1-β1)/(1+β1))

    d² = (1 + β1)/2·(σ² + d²·E clip(w·σ/d·z, ±1)²)
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from acprop import rule as rules
from acprop.lab.arrays import Floats
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.methods import METHODS, Method, method
from acprop.lab.steps import feed
from acprop.reference import Settings
from acprop.rule import GUARDED, PAPER, TORCH, Convention

FAMILY = ("adam", "rmsprop", "adabelief", "adashift", "acprop-paper")
GRADIENTS = np.random.default_rng(0).normal(0.3, 1.0, size=(200, 7))
PLAIN = Method("plain", replace(rules.ACPROP, nesterov=False))


def directions(name: str, gradients: Floats, h: Settings) -> Floats:
    """d_t for a sequence of gradients, from the second step on."""
    steps = feed(method(name), PAPER, h, gradients, takes_first_step=False)
    return np.array([step.d for step in steps][1:])


@claim("adam-without-momentum", "paper", "definition", "Section 2.2, Adam")
def adam_without_momentum() -> Finding:
    """“When β1 = 0, Adam reduces to RMSProp”"""
    gaps: dict[float, float] = {}
    for beta1 in (0.0, 0.5):
        h = Settings(beta1, 0.99, 1e-8)
        adam, rmsprop = (directions(n, GRADIENTS, h) for n in ("adam", "rmsprop"))
        gaps[beta1] = float(np.max(np.abs(adam - rmsprop)))
    return Finding.of(
        gaps[0.0] == 0 and gaps[0.5] > 0.1,
        f"200 steps of 7 elements: the directions of Adam and RMSProp differ by "
        f"{gaps[0.0]:g} at β1 = 0 and by up to {gaps[0.5]:.2f} at β1 = 0.5",
        gaps,
    )


def _scaling(name: str) -> float:
    """By how much the directions grow with gradients 100 times as large."""
    plain, scaled = (
        directions(name, factor * GRADIENTS, Settings(0.9, 0.99, 1e-30))
        for factor in (1.0, 100.0)
    )
    return float(np.linalg.norm(scaled) / np.linalg.norm(plain))


@claim("avagrad-is-not-scale-invariant", "paper", "wording", "Section 5, remark")
def avagrad_scales() -> Finding:
    """“Unlike other adaptive optimizers, AVAGrad is not scale-invariant”"""
    grown = {name: _scaling(name) for name in (*FAMILY, "avagrad")}
    still = max(abs(grown[name] - 1) for name in FAMILY)
    return Finding.of(
        still < 1e-9 and abs(grown["avagrad"] / 100 - 1) < 1e-9,
        f"with gradients 100 times as large and ε = 1e-30 AVAGrad's steps are "
        f"{grown['avagrad']:.1f} times as large, those of {', '.join(FAMILY)} are the "
        f"same up to {still:.0e}",
        grown,
    )


def settled_denominator(beta1: float) -> float:
    """d/σ of the formula above."""
    w = math.sqrt((1 - beta1) / (1 + beta1))

    def gap(d: float) -> float:
        edge = d / w
        tail = math.erfc(edge / math.sqrt(2))
        density = math.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
        clipped = (1 - tail - 2 * edge * density) / edge**2 + tail
        return (1 + beta1) / 2 * (1 + d**2 * clipped) - d**2

    solve: Any = optimize.brentq  # pyright: ignore
    return float(solve(gap, 0.1, 2.0))


def rms_step(m: Method, convention: Convention, beta1: float) -> float:
    """√mean(d²) over 2000 lanes of standard normal gradients, once settled."""
    rng = np.random.default_rng(0)
    draws = (rng.standard_normal(2000) for _ in range(1200))
    steps = feed(m, convention, Settings(beta1=beta1, beta2=0.99), draws)
    squares = [float(np.mean(step.d**2)) for step in steps if step.t > 500]  # pyright: ignore
    return math.sqrt(sum(squares) / len(squares))


@claim("default-step-size", "ours", "constant", "docs/guard.md")
def steps_beside_adam() -> Finding:
    """at the same learning rate the default's steps in pure noise are as long as
    Adam's, but for the look ahead and for small β1
    """
    rows: dict[str, dict[str, float]] = {}
    for beta1 in (0.9, 0.5, 0.0):
        adam = rms_step(METHODS["adam"], TORCH, beta1)
        rows[str(beta1)] = {
            "without look ahead": rms_step(PLAIN, GUARDED, beta1) / adam,
            "with": rms_step(METHODS["acprop"], GUARDED, beta1) / adam,
            "predicted without": 1 / settled_denominator(beta1),
        }
    plain = [r["without look ahead"] for r in rows.values()]
    gap = max(
        abs(r["without look ahead"] / r["predicted without"] - 1) for r in rows.values()
    )
    text = "; ".join(
        f"β1 = {beta1}: {r['without look ahead']:.2f} (predicted "
        f"{r['predicted without']:.2f}), with look ahead {r['with']:.2f}"
        for beta1, r in rows.items()
    )
    return Finding.of(
        min(plain) > 0.9 and max(plain) < 1.25 and gap < 0.02,
        f"root mean square of a step over Adam's in pure noise, {text}; above 1 at "
        "small β1 because the limit of one cuts off what M would predict",
        {"ratios": rows, "gap": gap},
    )
