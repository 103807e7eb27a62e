"""Appendix C on |x|: how long the steps are, and when."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from acprop.lab.absolute import X0, descend, largest_step
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.numerics import NUMERICS
from acprop.lab.simulate import Trajectory
from acprop.rule import CONVENTIONS, GUARDED


@cache
def _descent(name: str, convention: str) -> Trajectory:
    return descend(name, convention=CONVENTIONS[convention])


@claim("absolute-no-extreme-step", "paper", "central", NUMERICS)
def _no_extreme_step() -> Finding:
    """on |x| from 100 ACProp and AdaBelief do “not take any extremely large stepsizes”,
    at lr = 0.01 or 0.00001

    By the authors' code, which made the figures; extreme: as far as the valley.
    """
    largest = {
        name: _descent(name, "authors").step_sizes.max(axis=0).tolist()
        for name in ("acprop-paper", "adabelief")
    }
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
    guard = descend("acprop-paper", convention=GUARDED, steps=3000).step_sizes.max(
        axis=0
    )
    wild = descend("acprop-paper", beta1=0.5, beta2=0.25, steps=200).step_sizes.max()
    guarded = float((guard / (1e-5, 1e-2)).max())
    return Finding.of(
        wild > X0 and guarded < 7.41,
        f"at betas (0.5, 0.25) the authors' code takes a step of {wild:.0f}, farther "
        f"than the valley is; no guarded step is longer than {guarded:.1f}·lr",
        {"small betas": float(wild), "guarded": guard.tolist()},
    )


@claim("absolute-large-initial-steps", "paper", "proof step", NUMERICS)
def _large_at_the_start() -> Finding:
    """“ACProp and AdaBelief take a large step at the initial phase, because a constant
    gradient is observed”: before x crosses 0

    Before x crosses 0: longer than Adam's steps, and than those after it.
    """
    grown: list[float] = []
    shrunk: list[float] = []
    adam = _descent("adam", "authors").step_sizes.max(axis=0)
    for name in ("acprop-paper", "adabelief"):
        run = _descent(name, "authors")
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
    shares = dict(zip(rates, longest, strict=True))
    ok = all(0.99 < share < 1.02 for share in shares.values())
    return Finding.of(
        ok,
        "the largest step over 100·(1 - √0.999) is "
        + " and ".join(f"{share:.3f} (lr = {lr:g})" for lr, share in shares.items()),
        {str(lr): share for lr, share in shares.items()},
    )


@claim("absolute-steps-decrease", "paper", "central", NUMERICS)
def _steps_decrease() -> Finding:
    """ACProp and AdaBelief decrease their steps by themselves near the optimum"""
    shares: list[float] = []
    for name in ("acprop-paper", "adabelief"):
        sizes = _descent(name, "authors").step_sizes
        shares.extend((sizes[-100:].max(axis=0) / sizes.max(axis=0)).tolist())
    return Finding.of(
        max(shares) < 0.1,
        f"the last 100 steps are at most {max(shares):.1%} of the longest",
        {"shares": shares},
    )


def _slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The gradient of √(1 + x²): strictly monotone, so nowhere constant."""
    return x / np.sqrt(1 + x**2)


def _longest(name: str, beta1: float, beta2: float) -> float:
    """On √(1 + x²) from 100 at lr = 1e-2, by the authors' code."""
    run = descend(
        name,
        learning_rates=(1e-2,),
        beta1=beta1,
        beta2=beta2,
        steps=3000,
        slope=_slope,
    )
    return float(run.step_sizes.max())


@claim("never-if-not-piecewise-linear", "paper", "proof step", NUMERICS)
def _smooth() -> Finding:
    """“If the function is not piecewise linear, or the gradient does not remain
    constant within any connected set …, the numerical issue will never happen”

    The first step of the authors' code is SGD's, so it is none of the issue.
    """
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
