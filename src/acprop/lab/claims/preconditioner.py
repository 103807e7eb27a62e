"""What Section 4 says about A_t: its expectation, its bounds, what centering gains."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from acprop.lab.bounds import natural_constants
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.constants import CONSTANTS
from acprop.lab.descent import SECTION_4, WalkSettings, walk
from acprop.lab.methods import Method, advance, method
from acprop.lab.nonconvex import PROBLEMS, NonConvex
from acprop.lab.rates import ASYNC
from acprop.lab.steps import feed, final_state
from acprop.reference import Settings

SECTION = "Section 4"
NATURAL = "Section 4, after Theorem 4.1"


def _curvature(name: str) -> float:
    """How far the mean direction is from the direction of the mean gradient.

    Both after the same 20 gradients; g_t is -1 or 2 with equal probability.
    """
    rng, h = np.random.default_rng(0), Settings(eps=0.1, beta2=0.9)
    state = final_state(method(name), SECTION_4, h, rng.normal(size=20))
    low, middle, high = (
        float(advance(method(name), SECTION_4, state, g, h)[1]) for g in (-1, 0.5, 2)
    )
    return abs((low + high) / 2 - middle)


@claim("async-step-is-unbiased", "paper", "central", SECTION)
@formula(r"\mathbb E[A_tg_t\mid\mathcal F_t]=A_t\,\nabla f(x_t)")
def async_is_unbiased() -> Finding:
    """For asynchronous methods E[A_t·g_t | g_0 … g_{t-1}] = A_t·E[g_t]."""
    gaps = {name: _curvature(name) for name in (*ASYNC, "acprop-before")}
    return Finding.of(
        max(gaps.values()) < 1e-14,
        f"for g_t = -1 or 2 the mean step differs from the step of the mean by at most "
        f"{max(gaps.values()):.0e} (ACProp, AdaShift, ACProp with momentum)",
        gaps,
    )


@claim("sync-step-is-biased", "paper", "central", SECTION)
def sync_is_biased() -> Finding:
    """For synchronous methods that does not hold, as A_t uses g_t."""
    names = ("rmsprop", "rmsprop-centered", "adam", "adabelief")
    gaps = {name: _curvature(name) for name in names}
    return Finding.of(
        min(gaps.values()) > 1e-3,
        f"for g_t = -1 or 2 the mean step differs from the step of the mean by at "
        f"least {min(gaps.values()):.3f} (RMSProp, centered RMSProp, Adam, AdaBelief)",
        gaps,
    )


# "ε is a small number to avoid division by 0" (Section 2.1).
SMALL = (1e-8, 1e-4, 0.01)


def _least(
    all_eps: tuple[float, ...],
) -> Iterator[tuple[NonConvex, Method, float, float]]:
    """Problem, method, ε, and the least A_t of runs of 100 steps."""
    methods = method("acprop-paper"), method("adashift")
    for p, m, eps in product(PROBLEMS.values(), methods, all_eps):
        h = WalkSettings(eps**2, steps=100, eps=eps, beta2=0.5)
        yield p, m, eps, walk(p, m, h).A_min


@claim("natural-lower-constant", "paper", "constant", NATURAL)
def lower_constant() -> Finding:
    """C_l ≥ 1/(2·M_g)."""
    shares = [2 * p.M_g * least for p, _, _, least in _least(SMALL)]
    worst = max((2 * 0.9 * p.M_g + max(SMALL)) / (2 * p.M_g) for p in PROBLEMS.values())
    return Finding.of(
        min(shares) >= 1 and worst <= 1,
        f"in {len(shares)} settings with ε up to {max(SMALL)} the least A_t is at "
        f"least {min(shares):.2f} of 1/(2·M_g); an ε above 2·(1 - β1)·M_g would "
        "break it",
        {"least": min(shares), "worst case": worst},
    )


@claim("natural-lower-constant-sharp", "ours", "constant", NATURAL)
@formula(
    r"C_l=\frac{1}{2\beta_1M_g+\epsilon}\ \text{(centered)},\qquad C_l=\frac{1}{M_g+"
    r"\epsilon}\ \text{(uncentered)},\qquad C_u=\frac1\epsilon"
)
def lower_constant_sharp() -> Finding:
    """C_l ≥ 1/(2·β1·M_g + ε), and no larger constant will do."""
    margins = [
        least / natural_constants(p, m, eps=eps).C_l
        for p, m, eps, least in _least((0.01, 1.0, 10.0))
    ]
    # β2 = 0, a long stay at g = -1 and one g = 1: the least A there can be.
    stay = [*[-1.0] * 400, 1.0, 1.0]
    *_, last = feed(method("acprop-paper"), SECTION_4, Settings(0.9, 0.0, 1.0), stay)
    reached = float(last.d) * (2 * 0.9 + 1.0)
    return Finding.of(
        min(margins) >= 1 - 1e-12 and abs(reached - 1) < 1e-12,
        f"in {len(margins)} settings the least A_t is at least {min(margins):.3f} of "
        f"1/(2·β1·M_g + ε) (AdaShift: 1/(M_g + ε)), and g = -1, …, -1, 1 with β2 = 0 "
        f"reaches {reached:.12f} of it",
        {"least": min(margins), "reached": reached},
    )


@claim("natural-upper-constant", "paper", "definition", NATURAL)
def upper_constant() -> Finding:
    """C_u ≤ 1/ε."""
    tops = [
        eps * walk(p, method(name), WalkSettings(eps**2, steps=50, eps=eps)).A_max
        for p in PROBLEMS.values()
        for name in ("acprop-paper", "adashift")
        for eps in (0.01, 1.0)
    ]
    return Finding.of(
        max(tops) <= 1 + 1e-12,
        f"in {len(tops)} settings the largest A_t is between {min(tops):.3f} and "
        f"{max(tops):.3f} of 1/ε: A_1 is 1/ε itself",
        {"least": min(tops), "largest": max(tops)},
    )


def _gain(mu: float) -> float:
    """√(max v)/√(max s) over 6000 stationary gradients μ ± 1, β = (0.9, 0.999)."""
    rng, h = np.random.default_rng(0), Settings(eps=1e-8)
    gradients = mu + np.where(rng.random(6000) < 0.5, -1.0, 1.0)
    v, s = (
        max(float(step.after.s) for step in feed(method(name), SECTION_4, h, gradients))
        for name in ("adashift", "acprop-paper")
    )
    return math.sqrt(v / s)


def _gain_cap(beta1: float, beta2: float) -> float:
    """1/√max_t s_t for g = 1: s_t = (1-β2)·β1²·(β2^t - β1^2t)/(β2 - β1²)."""
    t = np.arange(1, 2000)
    s = (1 - beta2) * beta1**2 * (beta2**t - beta1 ** (2 * t)) / (beta2 - beta1**2)
    return 1 / math.sqrt(float(np.max(s)))


@claim("centering-gain-is-capped", "ours", "constant", CONSTANTS)
@formula(
    r"s_t=(1-\beta_2)\,\beta_1^2\,\frac{\beta_2^t-\beta_1^{2t}}{\beta_2-\beta_1^2}\,"
    r"\mu^2"
)
def centering_gain_is_capped() -> Finding:
    """Between the bounds K_u over all steps the factor is at most 1/√max_t
    (1-β2)·β1²·(β2^t - β1^2t)/(β2 - β1²), however large μ/σ is.
    """
    cap = _gain_cap(0.9, 0.999)
    seen = {mu: _gain(mu) for mu in (3.0, 1e2, 1e4)}
    return Finding.of(
        max(seen.values()) <= cap and seen[1e4] / cap > 0.99,
        f"the cap is {cap:.2f} for β = (0.9, 0.999); seen are "
        + ", ".join(f"{v:.2f} at μ = {mu:g}·σ" for mu, v in seen.items()),
        {"cap": cap, **seen},
    )
