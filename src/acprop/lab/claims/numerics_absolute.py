"""Appendix C on |x|: how long the steps are, and when."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from functools import cache

import numpy as np
from numpy.typing import NDArray

from acprop.lab.absolute import X0, Descent, descend, largest_step
from acprop.lab.claims.claim import Claim, Finding
from acprop.rule import AUTHORS, CONVENTIONS, GUARDED, PAPER

_NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"


@cache
def _descent(name: str, convention: str) -> Descent:
    return descend(name, convention=CONVENTIONS[convention])


def _no_extreme_step() -> Finding:
    """Extreme: farther than from the start to the valley."""
    largest = _descent("acprop", "paper").step_sizes.max(axis=0)
    return Finding(
        "holds" if largest.max() < X0 else "fails",
        f"Algorithm 2 with ε = 1e-16 starts with a step of {largest[0]:.0f} at "
        f"lr = 1e-5 and of {largest[1]:.0e} at lr = 1e-2; the valley is 100 away",
        {"largest_step": largest.tolist()},
    )


def _no_extreme_step_corrected() -> Finding:
    runs = {
        name: _descent(name, "authors").step_sizes.max(axis=0)
        for name in ("acprop", "adabelief")
    }
    # 3000 steps, where the bound is 7.4; at lr = 1e-2 the valley is reached long before
    guard = descend("acprop", convention=GUARDED, steps=3000).step_sizes.max(axis=0)
    runs["acprop, guarded"] = guard
    wild = descend("acprop", beta1=0.5, beta2=0.25, steps=200).step_sizes.max()
    worst = max(float(steps.max()) for steps in runs.values())
    guarded = float((guard / (1e-5, 1e-2)).max())
    return Finding(
        "holds" if worst < X0 / 100 and wild > X0 and guarded < 7.41 else "fails",
        f"at betas (0.9, 0.999) no step is longer than {worst:.2f}, and no guarded one "
        f"than {guarded:.1f}·lr, but at (0.5, 0.25) the authors' code takes one of "
        f"{wild:.0f}",
        {
            **{name: steps.tolist() for name, steps in runs.items()},
            "small betas": float(wild),
        },
    )


def _large_at_the_start() -> Finding:
    when: list[float] = []
    for name in ("acprop", "adabelief"):
        run = _descent(name, "authors")
        largest = run.step_sizes.argmax(axis=0) + 1
        when.extend(
            float(t) / c for t, c in zip(largest, run.crossings, strict=True) if c
        )
    return Finding(
        "holds" if max(when) < 0.5 else "fails",
        f"counted in steps to the valley, the largest step is taken at {min(when):.3f} "
        "or later, at either learning rate",
        {"time_of_largest_step": when},
    )


def _large_at_the_valley() -> Finding:
    run = descend("acprop", learning_rates=(3e-6, 1e-5))
    longest = (run.step_sizes.max(axis=0) / largest_step(0.9, 0.999)).tolist()
    shares = dict(zip(run.learning_rates, longest, strict=True))
    ok = all(0.99 < share < 1.02 for share in shares.values())
    return Finding(
        "holds" if ok else "fails",
        "the largest step over 100·(1 - √0.999) is "
        + " and ".join(f"{share:.3f} (lr = {lr:g})" for lr, share in shares.items()),
        {str(lr): share for lr, share in shares.items()},
    )


def _steps_decrease() -> Finding:
    shares: list[float] = []
    for name in ("acprop", "adabelief"):
        sizes = _descent(name, "authors").step_sizes
        shares.extend((sizes[-100:].max(axis=0) / sizes.max(axis=0)).tolist())
    return Finding(
        "holds" if max(shares) < 0.1 else "fails",
        f"the last 100 steps are at most {max(shares):.1%} of the longest",
        {"shares": shares},
    )


def _slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The gradient of √(1 + x²): strictly monotone, so nowhere constant."""
    return x / np.sqrt(1 + x**2)


def _smooth() -> Finding:
    run = descend("acprop", convention=PAPER, steps=10, gradient=_slope)
    largest = run.step_sizes.max(axis=0)
    return Finding(
        "holds" if largest.max() < X0 else "fails",
        f"on √(1 + x²) from 100 Algorithm 2 takes steps of {largest[0]:.0f} and "
        f"{largest[1]:.0e} at lr = 1e-5 and 1e-2",
        {"largest_step": largest.tolist()},
    )


def _smooth_corrected() -> Finding:
    largest = descend("acprop", convention=AUTHORS, gradient=_slope).step_sizes.max()
    return Finding(
        "holds" if largest < 1 else "fails",
        f"with an SGD first step the longest on √(1 + x²) is {largest:.2f}",
        {"largest_step": float(largest)},
    )


CLAIMS = (
    Claim(
        "absolute-no-extreme-step",
        "paper",
        _NUMERICS,
        "On |x| from 100 ACProp takes no extremely large step, at lr = 0.01 or 0.00001",
        _no_extreme_step,
    ),
    Claim(
        "absolute-no-extreme-step-corrected",
        "ours",
        _NUMERICS,
        "That is so with an SGD first step or our bound, and β2 = 0.999; small betas "
        "break it",
        _no_extreme_step_corrected,
    ),
    Claim(
        "absolute-large-initial-steps",
        "paper",
        _NUMERICS,
        "ACProp and AdaBelief take a large step at the initial phase",
        _large_at_the_start,
    ),
    Claim(
        "absolute-large-initial-steps-corrected",
        "ours",
        _NUMERICS,
        "Steps grow until the valley; the longest is x_0·(1 - √β2), for every small lr",
        _large_at_the_valley,
    ),
    Claim(
        "absolute-steps-decrease",
        "paper",
        _NUMERICS,
        "ACProp and AdaBelief decrease their steps by themselves near the optimum",
        _steps_decrease,
    ),
    Claim(
        "never-if-not-piecewise-linear",
        "paper",
        _NUMERICS,
        "If the gradient is constant on no connected set, the numerical issue never "
        "happens",
        _smooth,
    ),
    Claim(
        "never-if-not-piecewise-linear-corrected",
        "ours",
        _NUMERICS,
        "s_0 = 0 makes the first step extreme on any function; an SGD step cures it",
        _smooth_corrected,
    ),
)
