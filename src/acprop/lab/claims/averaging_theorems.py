"""What is proven about averaging, after dividing and before it, against runs."""

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from acprop.lab.arrays import Array
from acprop.lab.averaging_bounds import (
    after,
    before,
    before_inside,
    mean_age,
    second_moment_limit,
)
from acprop.lab.bounds import natural_constants
from acprop.lab.claims.averaging import default
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.claims.momentum import fractions
from acprop.lab.claims.theorem41 import shares
from acprop.lab.descent import WalkSettings, walk
from acprop.lab.methods import METHODS, Method, advance
from acprop.lab.nonconvex import PROBLEMS
from acprop.reference import Settings, State
from acprop.rule import ACPROP, ACPROP_AFTER, GUARDED, PAPER, Convention

AFTER, FIRST = "averaging after dividing", "averaging before dividing"

HORIZON = 100
BEFORE = METHODS["acprop-before"]
CLIPPED = WalkSettings(1.0, steps=HORIZON, beta2=0.9, seeds=8, clip="t**0.25")


@claim("average-after-lemma", "ours", "proof step", AFTER)
def lemma() -> Finding:
    """Σ⟨a_t, u_t⟩ = Σ⟨a_t, d_t⟩ + λ·⟨a_T, M_T⟩ + λ·Σ_{t<T}⟨a_t - a_{t+1}, M_t⟩ with λ =
    b, and with λ = β1·b for the direction that looks ahead.
    """
    rng = random.Random(0)
    draw, wrong = fractions(rng), 0
    for trial in range(200):
        beta1 = Fraction(rng.randint(0, 98), 99)
        age = mean_age(beta1, nesterov=trial % 2 == 1)
        a, u = ([draw() for _ in range(10)] for _ in range(2))
        mean = left = right = Fraction(0)
        for t in range(10):
            mean = beta1 * mean + (1 - beta1) * u[t]
            d = beta1 * mean + (1 - beta1) * u[t] if trial % 2 else mean
            left += a[t] * u[t]
            right += a[t] * d + age * (a[t] - (a[t + 1] if t < 9 else 0)) * mean
        wrong += left != right
    return Finding.of(
        wrong == 0,
        f"in fractions, {wrong} of 200 random cases differ, half of them with "
        "look-ahead, where the age of a gradient is β1·b and not b",
        {"cases": 200, "wrong": wrong},
    )


@claim("average-after-theorem", "ours", "central", AFTER)
def after_dividing() -> Finding:
    """An average of u, cut to ±t^¼, with any denominator that knows only the past has
    Theorem 4.1's rate for every α0 and without AMSGrad, with look-ahead too.
    """
    found: list[float] = []
    plain = replace(ACPROP, nesterov=False)
    for rule in (ACPROP, plain, ACPROP_AFTER):
        m = Method("averaged", rule)
        found += shares(
            partial(after, nesterov=rule.nesterov),
            (
                (p, m, replace(CLIPPED, alpha0=alpha0, eta=eta, beta1=beta1))
                for p in PROBLEMS.values()
                for beta1 in (0.0, 0.5, 0.9)
                for eta, alpha0 in ((0.5, 0.1), (0.5, 5.0), (0.75, 0.5))
            ),
        )
    return Finding.of(
        max(found) <= 1,
        f"in {len(found)} settings (mean of 8 seeds plus three standard errors), also "
        f"far above α0 = C_l/(L·C_u²), the average is at most {max(found):.2f} of the "
        "right side",
        {"settings": len(found), "worst_share": max(found)},
    )


BETAS1 = np.array([0.0, 0.1, 0.5, 0.9, 0.99])[:, None]
BETAS2 = np.array([0.001, 0.1, 0.5, 0.9, 0.99, 0.999])


def _largest(convention: Convention, *, adverse: bool, steps: int) -> Array:
    """The largest √ŝ over its limit, for |g| ≤ 1; [β1, β2].

    adverse: silent for so long that M becomes huge, then always against M. Otherwise
    eight random streams, with silent stretches and with any size.
    """
    rng, eps = np.random.default_rng(0), 1e-30
    h = Settings(BETAS1[..., None], BETAS2[:, None], eps, axis=())
    shape = (len(BETAS1), len(BETAS2), 1 if adverse else 8)
    state, top, m = State(t=1, s=np.ones(shape)), np.zeros(shape), default()
    if convention.bias_correction:
        state = State()
    for t in range(1, steps + 1):
        if adverse and t <= steps // 4:
            g = np.zeros(shape)
        elif adverse:
            g = np.where(np.asarray(state.M) >= 0, -1.0, 1.0)
            g = -g if t == steps // 4 + 1 else g
        else:
            g = rng.uniform(-1, 1, shape) ** rng.choice([1, 9, 99], shape)
            g = np.where(rng.random(shape) < 0.5, np.sign(g), g)
            g = g * (np.sin(t / 40) + rng.uniform(-1, 1, shape) > 0)
        state, _ = advance(m, convention, state, g + np.zeros(shape), h)
        seen = 1 - BETAS2[:, None] ** t if convention.bias_correction else 1.0
        top = np.maximum(top, np.sqrt(np.asarray(state.s) / seen))
    limit = second_moment_limit(BETAS1[..., None], 1.0, eps)
    return np.max(top / limit, axis=-1)


@claim("default-s-is-bounded", "ours", "central", AFTER)
def bounded() -> Finding:
    """If |g| ≤ G then √ŝ ≤ q(G + ε)/(1 - q) with q² = (1 + β1)/2, for all betas; no
    smaller number will do.
    """
    random_ones = [_largest(c, adverse=False, steps=1500) for c in (PAPER, GUARDED)]
    adverse = [_largest(c, adverse=True, steps=4000) for c in (PAPER, GUARDED)]
    worst = float(np.max([*random_ones, *adverse]))
    free, guarded = (float(np.max(found)) for found in adverse)
    return Finding.of(
        worst <= 1 + 1e-9 and free > 0.99,
        f"over {BETAS1.size * BETAS2.size} pairs of betas √ŝ is at most {worst:.4f} of "
        f"the limit; gradients that work against M after a long silence reach "
        f"{free:.4f} of it, and {guarded:.2f} where u is cut to ±t^¼",
        {"worst": worst, "adverse": free, "adverse, guarded": guarded},
    )


@claim("average-before-theorem", "ours", "central", FIRST)
def before_dividing() -> Finding:
    """m/√s with a delay of 1 and without AMSGrad has the rate up to a neighbourhood of
    b·d·C_u·M_g²·2(β2^-½ - 1)/C_l, and O((1-β2)²) with ε inside the root.
    """
    found: list[float] = []
    for p in PROBLEMS.values():
        for beta1, beta2 in ((0.0, 0.5), (0.5, 0.9), (0.9, 0.9), (0.9, 0.999)):
            c = natural_constants(p, BEFORE, beta1=beta1)
            S = (2 * beta1 * p.M_g) ** 2
            c_in = replace(c, C_l=1 / np.sqrt(S + 1.0))
            for alpha0 in (0.1, 5.0):
                h = WalkSettings(alpha0, 0.5, HORIZON, 1.0, beta1, beta2, seeds=8)
                found.append(walk(p, BEFORE, h).above / before(c, h))
                inside = walk(p, BEFORE, h, PAPER).above
                found.append(inside / before_inside(c_in, h, S))
    return Finding.of(
        max(found) <= 1,
        f"in {len(found)} settings (mean of 8 seeds plus three standard errors) the "
        f"average is at most {max(found):.2f} of the right side",
        {"settings": len(found), "worst_share": max(found)},
    )
