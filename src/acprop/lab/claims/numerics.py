"""Appendix C.1: when s_t is 0 or small, what a step is then, and how long on |x|.

A claim of the paper that fails has one of ours beside it, named <its name>-corrected.
"""

from functools import cache
from typing import Any

import numpy as np

from acprop.lab.absolute import X0, descend, largest_step
from acprop.lab.arrays import Floats
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.descent import SECTION_4
from acprop.lab.gaussian import constant
from acprop.lab.methods import method
from acprop.lab.simulate import Trajectory
from acprop.lab.steps import feed
from acprop.reference import Settings
from acprop.rule import GUARDED, PAPER, Convention

NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"
_DENSE = "Appendix A.1, last sentence of the proof of Lemma 3.3"
CENTERED = ("acprop-paper", "adabelief")
SMALL_BETAS: dict[str, Any] = {"beta1": 0.5, "beta2": 0.25}


def _longest_direction(name: str, beta1: float) -> float:
    """The largest |d_t/g_t| of 1000 steps after the first: x²/2 with noise N(0, 1)."""
    rng = np.random.default_rng(0)
    gradients = [0.99**t + rng.normal() for t in range(1001)]
    steps = feed(method(name), PAPER, Settings(beta1, 0.999, axis=()), gradients)
    return max([abs(float(step.d) / float(step.g)) for step in steps][1:])


@claim("zero-second-moment", "paper", "proof step", NUMERICS)
@formula(
    printed=r"s_t=0\ \text{only if}\ \|\nabla f_{t+1}(x)-\nabla f_t(x)\|^2=0\ "
    r"\forall t,\ \text{without noise}"
)
def _only_case() -> Finding:
    """“The only possible case where centering second momentum causes numerical issue”
    is a linear loss whose gradients are observed without noise
    """
    # Two more cases, and the uncentered method beside each. Not the first step:
    # AdaShift's v_0 = 0 makes the same one, by its delay.
    leap, usual = (
        float(descend(name, **SMALL_BETAS, steps=200).step_sizes.max())
        for name in ("acprop-paper", "adashift")
    )
    frozen, noisy = (
        _longest_direction(name, 0.0) for name in ("acprop-paper", "adashift")
    )
    by_centering = leap > X0 / 100 > usual or frozen > 1e6 > noisy
    return Finding.of(
        not by_centering,
        f"|x| from 100, whose gradient turns at 0: at betas (0.5, 0.25) a step of "
        f"ACProp is {leap:.0f} long, none of AdaShift is longer than {usual:.2f}; "
        f"x²/2 with noise N(0, 1) at β1 = 0, where s ≡ 0: {frozen:.0e}·α·g, and "
        f"{noisy:.0f}·α·g at most by AdaShift",
        {"|x|, ACProp and AdaShift": [leap, usual], "β1 = 0": [frozen, noisy]},
    )


@claim("zero-second-moment-corrected", "ours", "proof step", NUMERICS)
@formula(r"s_t=(1-\beta_2)\,g^2\sum_{i=1}^{t}\beta_2^{\,t-i}\beta_1^{2i}")
def _zero() -> Finding:
    """Equal gradients give s_t/g² = (1 - β2)·Σ β2^(t-i)·β1^(2i), small for as long as a
    stretch of them is long, and 0 for β1 = 0 only
    """
    off = max(
        abs(float(step.after.s) / (9 * constant(beta1, beta2, step.t)) - 1)
        for beta1, beta2 in ((0.9, 0.999), (0.5, 0.9), (0.9, 0.5))
        for step in feed(
            method("acprop-paper"), PAPER, Settings(beta1, beta2, axis=()), [3.0] * 30
        )
    )
    late = constant(0.9, 0.999, 10_000)
    return Finding.of(
        off < 1e-9 and late > 0,
        f"30 equal gradients follow the formula up to {off:.0e}; after 10⁴ at betas "
        f"(0.9, 0.999) s/g² is still {late:.1e}",
        {"largest_relative_error": off, "after_10000": late},
    )


@claim("first-step-leaps", "ours", "proof step", "Algorithm 2, first step")
def _first_step() -> Finding:
    """The first step α·g/√ε is due to the delay, s_0 = 0, not to centering: AdaShift
    takes it too, synchronous methods do not
    """
    first = {
        name: abs(float(step.d) / 0.5)
        for name in ("acprop-paper", "adashift", "adabelief", "adam")
        for step in feed(method(name), PAPER, Settings(0.9, 0.999, axis=()), [0.5])
    }
    leaps = min(first["acprop-paper"], first["adashift"])
    others = max(first["adabelief"], first["adam"])
    return Finding.of(
        leaps > 1e7 and others < 1e3,
        f"g_1 = 0.5, ε = 1e-16: the first step is at least {leaps:.0e}·α·g by ACProp "
        f"and AdaShift, and at most {others:.0f}·α·g by AdaBelief and Adam",
        first,
    )


def _direction(
    beta2: float, eps: float, steps: int, convention: Convention = PAPER
) -> tuple[float, float]:
    """d_t/g_t after equal gradients, and once more when the gradient turns."""
    h, gradients = Settings(0.9, beta2, eps, axis=()), [*[2.0] * steps, -2.0]
    *_, last, turned = feed(method("acprop-paper"), convention, h, gradients)
    return float(last.d) / 2, float(turned.d) / -2


@claim("linear-step-size", "paper", "wording", NUMERICS)
def _one_over_eps() -> Finding:
    """with constant noise-free gradients “ACProp reduces to SGD with stepsize 1/ε”"""
    # ε outside the root, where Section 4 and Appendix A have it.
    rates = {eps: _direction(0.9, eps, 2000, SECTION_4)[0] for eps in (1e-2, 1e-8)}
    off = max(abs(rate * eps - 1) for eps, rate in rates.items())
    inside, _ = _direction(0.9, 1e-4, 2000)
    return Finding.of(
        off < 1e-3,
        f"with ε outside the root, as in Section 4, the step after 2000 equal "
        f"gradients is α·g/ε up to {off:.0e}; with ε inside, as in Algorithm 2, α·g/√ε "
        f"({inside:.0f}·α·g at ε = 1e-4)",
        {**rates, "inside": inside},
    )


@claim("beta2-of-one", "paper", "wording", _DENSE)
def _frozen_as_printed() -> Finding:
    """“When β2 = 1, the denominator won't update, and ACProp reduces to SGD (with
    momentum)”
    """
    # SGD with momentum would still walk on after the gradient has turned.
    rate, turned = _direction(1.0, 1e-4, 50)
    return Finding.of(
        turned < rate,
        f"at β2 = 1 50 gradients g give steps {rate:.0f}·α·g, and the first -g one of "
        f"{turned:.0f}·α·(-g): no momentum, and a denominator that stays √ε",
        {"rate": rate, "after_turning": turned},
    )


@claim("beta2-of-one-corrected", "ours", "wording", _DENSE)
@formula(r"x_t-x_{t-1}=-\frac{\alpha}{\sqrt\epsilon}\,g_t")
def _frozen() -> Finding:
    """At β2 = 1 it is SGD without momentum, and with step size α/√ε"""
    off = max(
        abs(rate * eps**0.5 - 1)
        for eps in (1e-4, 1e-16)
        for rate in _direction(1.0, eps, 50)
    )
    return Finding.of(
        off < 1e-12,
        f"at β2 = 1 every step is α·g_t/√ε up to {off:.0e}, 1e8·α·g_t at ε = 1e-16",
        {"largest_relative_error": off},
    )


@cache
def _descent(name: str) -> Trajectory:
    """On |x| from 100 at both learning rates, by the authors' code."""
    return descend(name)


@claim("absolute-no-extreme-step", "paper", "central", NUMERICS)
def _no_extreme_step() -> Finding:
    """on |x| from 100 ACProp and AdaBelief do “not take any extremely large stepsizes”,
    at lr = 0.01 or 0.00001
    """
    # By the authors' code, which made the figures; extreme: as far as the valley.
    largest = {k: _descent(k).step_sizes.max(axis=0).tolist() for k in CENTERED}
    worst = max(map(max, largest.values()))
    return Finding.of(
        worst < X0 / 100,
        f"at betas (0.9, 0.999) and lr = 1e-5 or 1e-2 no step of the authors' code is "
        f"longer than {worst:.2f}; the valley is 100 away",
        largest,
    )


@claim("absolute-small-betas", "ours", "constant", NUMERICS)
def _small_betas() -> Finding:
    """That rests on β2 = 0.999: small betas break it, and a bound on the step restores
    it
    """
    # 3000 steps, where the bound is 7.4; at lr = 1e-2 the valley is reached long before
    guard = descend("acprop-paper", convention=GUARDED, steps=3000).step_sizes
    wild = float(descend("acprop-paper", **SMALL_BETAS, steps=200).step_sizes.max())
    guarded = float((guard.max(axis=0) / (1e-5, 1e-2)).max())
    return Finding.of(
        wild > X0 and guarded < 7.41,
        f"at betas (0.5, 0.25) the authors' code takes a step of {wild:.0f}, farther "
        f"than the valley is; no guarded step is longer than {guarded:.1f}·lr",
        {"small betas": wild, "guarded over lr": guarded},
    )


@claim("absolute-large-initial-steps", "paper", "proof step", NUMERICS)
def _large_at_the_start() -> Finding:
    """“ACProp and AdaBelief take a large step at the initial phase, because a constant
    gradient is observed”: before x crosses 0
    """
    # Before x crosses 0: longer than Adam's steps, and than those after it.
    grown: list[float] = []
    shrunk: list[float] = []
    adam = _descent("adam").step_sizes.max(axis=0)
    for name in CENTERED:
        run = _descent(name)
        for column, crossed in enumerate((run.x <= 0).T):
            if not crossed.any():
                return Finding("fails", f"{name} does not reach the valley")
            crossing = int(np.argmax(crossed)) + 1
            sizes = run.step_sizes[:, column]
            grown.append(float(sizes[: crossing + 1].max() / adam[column]))
            shrunk.append(float(sizes[crossing + 100 :].max() / sizes.max()))
    return Finding.of(
        min(grown) > 5 and max(shrunk) < 1,
        f"until x crosses 0 the longest step is at least {min(grown):.0f} times "
        f"Adam's; from 100 steps after that on, at most {max(shrunk):.0%} of it",
        {"over adam": grown, "afterwards": shrunk},
    )


@claim("absolute-longest-step", "ours", "constant", NUMERICS)
@formula(r"x_0\,\big(1-\max(\sqrt{\beta_2},\beta_1)\big)")
def _large_at_the_valley() -> Finding:
    """Steps grow until the valley; the longest is x_0·(1 - √β2), for every small lr"""
    rates = (3e-6, 1e-5)
    run = descend("acprop-paper", learning_rates=rates)
    longest = (run.step_sizes.max(axis=0) / largest_step(0.9, 0.999)).tolist()
    found = dict(zip(rates, longest, strict=True))
    return Finding.of(
        all(0.99 < share < 1.02 for share in longest),
        "the largest step over 100·(1 - √0.999) is "
        + " and ".join(f"{share:.3f} (lr = {lr:g})" for lr, share in found.items()),
        found,
    )


@claim("absolute-steps-decrease", "paper", "central", NUMERICS)
def _steps_decrease() -> Finding:
    """ACProp and AdaBelief decrease their steps by themselves near the optimum"""
    runs = [_descent(name).step_sizes for name in CENTERED]
    left = [(sizes[-100:].max(axis=0) / sizes.max(axis=0)).tolist() for sizes in runs]
    worst = max(map(max, left))
    return Finding.of(
        worst < 0.1,
        f"the last 100 steps are at most {worst:.1%} of the longest",
        {"shares": left},
    )


def _slope(x: Floats) -> Floats:
    """The gradient of √(1 + x²): strictly monotone, so nowhere constant."""
    return x / np.sqrt(1 + x**2)


def _longest(name: str, beta1: float, beta2: float) -> float:
    """On √(1 + x²) from 100 at lr = 1e-2, by the authors' code."""
    h: dict[str, Any] = {"beta1": beta1, "beta2": beta2, "slope": _slope}
    run = descend(name, learning_rates=(1e-2,), steps=3000, **h)
    return float(run.step_sizes.max())


@claim("never-if-not-piecewise-linear", "paper", "proof step", NUMERICS)
def _smooth() -> Finding:
    """“If the function is not piecewise linear, or the gradient does not remain
    constant within any connected set …, the numerical issue will never happen”
    """
    # The first step of the authors' code is SGD's, so it is none of the issue.
    largest, uncentered = (
        _longest(name, 0.5, 0.25) for name in ("acprop-paper", "adashift")
    )
    return Finding.of(
        largest < X0 / 100,
        f"√(1 + x²) from 100, whose gradient is nowhere constant, by the authors' code "
        f"at betas (0.5, 0.25) and lr = 1e-2: one step is {largest:.0f} long, nearly "
        f"the way to the valley; the longest of AdaShift is {uncentered:.2f}",
        {"largest_step": largest, "adashift": uncentered},
    )


@claim("never-if-not-piecewise-linear-corrected", "ours", "proof step", NUMERICS)
@formula(
    r"s_t\approx\Bigl(\frac{\beta_1}{1-\beta_1}\Bigr)^2\,\|\nabla f(x_t)-"
    r"\nabla f(x_{t-1})\|^2\quad\text{(small is enough)}"
)
def _smooth_corrected() -> Finding:
    """A gradient that is nowhere constant does not protect: one that changes little for
    longer than s remembers makes a step as long as the way to the valley
    """
    small, large = (_longest("acprop-paper", *b) for b in ((0.5, 0.25), (0.9, 0.999)))
    change = float(_slope(np.array(X0)) - _slope(np.array(X0 - 1)))
    return Finding.of(
        small > X0 / 2 and large < X0 / 100,
        f"at x = 100 the gradient of √(1 + x²) changes by {change:.0e} over a way of "
        f"1, next to constant: the longest step is {small:.0f} at betas (0.5, 0.25) "
        f"and {large:.2f} at (0.9, 0.999)",
        {"(0.5, 0.25)": small, "(0.9, 0.999)": large, "change": change},
    )
