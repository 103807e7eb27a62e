"""The paper's numerical remarks: |x| from 100, s_t = 0, and the harmonic sum.

CLAIMS has these and those on stochastic gradients and on Section 4's constants. A
claim of the paper that fails has one of ours beside it, named <its name>-corrected.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from functools import cache

import numpy as np
from numpy.typing import NDArray

from acprop.lab.absolute import X0, Descent, descend, largest_step
from acprop.lab.claims import numerics_constants, numerics_stochastic
from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.gaussian import constant
from acprop.lab.harmonic import ETAS, SIZES, expression_error, naive_sums, sums
from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP, AUTHORS, CONVENTIONS, PAPER

_NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"
_REMARK = "Section 4, remark on small s_t, and Appendix C.1"
_DENSE = "Appendix A.1, last sentence of the proof of Lemma 3.3"
_HARMONIC = "Appendix B.2.1, validation of the harmonic sum"


@cache
def _descent(name: str, convention: str) -> Descent:
    return descend(name, convention=CONVENTIONS[convention])


def _no_extreme_step() -> Finding:
    """Extreme: farther than from the start to the valley."""
    largest = _descent("acprop", "paper").step_sizes.max(axis=0)
    return Finding(
        "holds" if largest.max() < X0 else "fails",
        f"Algorithm 2 with ε = 1e-16 starts with a step of {largest[0]:.0f} at lr = 1e-5 "
        f"and of {largest[1]:.0e} at lr = 1e-2; the valley is 100 away",
        {"largest_step": largest.tolist()},
    )


def _no_extreme_step_corrected() -> Finding:
    runs = {
        f"{name}, {convention}": _descent(name, convention).step_sizes.max(axis=0)
        for name in ("acprop", "adabelief")
        for convention in ("authors", "guarded")
    }
    wild = descend("acprop", beta1=0.5, beta2=0.25, steps=200).step_sizes.max()
    worst = max(float(steps.max()) for steps in runs.values())
    guarded = float((runs["acprop, guarded"] / (1e-5, 1e-2)).max())
    return Finding(
        "holds" if worst < X0 / 100 and wild > X0 and guarded < 10.01 else "fails",
        f"no step is longer than {worst:.2f} at betas (0.9, 0.999), guarded ones not than "
        f"{guarded:.1f}·lr, but at betas (0.5, 0.25) the authors' code takes one of "
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
        f"counted in steps to the valley, the largest step is taken at {min(when):.3f} or "
        "later, at either learning rate",
        {"time_of_largest_step": when},
    )


def _large_at_the_valley() -> Finding:
    shares = {
        lr: float(descend("acprop", learning_rates=(lr,)).step_sizes.max())
        / largest_step(0.9, 0.999)
        for lr in (3e-6, 1e-5)
    }
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
        f"the last 100 steps are at most {max(shares):.1%} of the longest (authors' code)",
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


def _zero_as_printed() -> Finding:
    """Noisy gradients of a curved function, and s is 0: at the start, and for β1 = 0."""
    rng = np.random.default_rng(0)
    state, h = State(), Hyper(beta1=0.0, beta2=0.999, axis=())
    x, start = 1.0, float(state.s)
    for _ in range(1000):
        state, _ = step(ACPROP, PAPER, state, x + rng.normal(), h)
        x *= 0.99
    zero = float(state.s) == 0 and start == 0
    return Finding(
        "fails" if zero else "holds",
        f"x²/2 with noise N(0, 1): s_0 = {start:g} whatever the problem, and at β1 = 0 "
        f"s_1000 = {float(state.s):g}",
        {"s_0": start, "s_1000": float(state.s)},
    )


def _zero() -> Finding:
    off, s = 0.0, 0.0
    for beta1, beta2 in ((0.9, 0.999), (0.5, 0.9), (0.9, 0.5)):
        state, h = State(), Hyper(beta1=beta1, beta2=beta2, axis=())
        for t in range(1, 31):
            state, _ = step(ACPROP, PAPER, state, 3.0, h)
            s = float(state.s)
            off = max(off, abs(s / (9 * constant(beta1, beta2, t)) - 1))
    late = constant(0.9, 0.999, 10_000)
    return Finding(
        "holds" if off < 1e-9 and late > 0 else "fails",
        f"30 equal gradients follow the formula up to {off:.0e}; after 10⁴ at betas "
        f"(0.9, 0.999) s/g² is still {late:.1e}",
        {"largest_relative_error": off, "after_10000": late},
    )


def _direction(beta2: float, eps: float, steps: int) -> tuple[float, float]:
    """d_t/g for constant gradients, and the share of d_t that g_t explains."""
    state, h = State(), Hyper(beta1=0.9, beta2=beta2, eps=eps, axis=())
    d = 0.0
    for _ in range(steps):
        state, d = step(ACPROP, PAPER, state, 2.0, h)
    _, turned = step(ACPROP, PAPER, state, -2.0, h)
    return float(d) / 2, float(turned) / -2


def _one_over_eps() -> Finding:
    rate, _ = _direction(0.9, 1e-4, 2000)
    return Finding(
        "holds" if abs(rate * 1e-4 - 1) < 0.01 else "fails",
        f"after 2000 equal gradients, ε = 1e-4, the step is {rate:.0f}·α·g, not 10000",
        {"rate": rate},
    )


def _one_over_root_eps() -> Finding:
    rates = {eps: _direction(0.9, eps, 2000)[0] for eps in (1e-2, 1e-4, 1e-8, 1e-16)}
    off = max(abs(rate * eps**0.5 - 1) for eps, rate in rates.items())
    return Finding(
        "holds" if off < 1e-12 else "fails",
        f"for ε from 1e-2 to 1e-16 the step is α·g/√ε up to {off:.0e}",
        {str(eps): rate for eps, rate in rates.items()},
    )


def _frozen_as_printed() -> Finding:
    """SGD with momentum would still walk on after the gradient has turned."""
    rate, turned = _direction(1.0, 1e-4, 50)
    return Finding(
        "holds" if turned < rate else "fails",
        f"at β2 = 1 50 gradients g give steps {rate:.0f}·α·g, and the first -g one of "
        f"{turned:.0f}·α·(-g): no momentum, and a denominator that stays √ε",
        {"rate": rate, "after_turning": turned},
    )


def _frozen() -> Finding:
    pairs = [(_direction(1.0, eps, 50), eps) for eps in (1e-4, 1e-16)]
    off = max(abs(r * eps**0.5 - 1) for both, eps in pairs for r in both)
    return Finding(
        "holds" if off < 1e-12 else "fails",
        f"at β2 = 1 every step is α·g_t/√ε up to {off:.0e}, 1e8·α·g_t at ε = 1e-16",
        {"largest_relative_error": off},
    )


@cache
def _harmonic() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Errors of the expression and the sums, as [η, N]."""
    errors = [[expression_error(eta, n) for n in SIZES] for eta in ETAS]
    return np.array(errors), np.array([sums(eta, SIZES) for eta in ETAS])


def _error_size() -> Finding:
    errors, _ = _harmonic()
    near = float(np.mean((errors > 10**-7.5) & (errors < 10**-6.5)))
    return Finding(
        "holds" if near > 0.5 else "fails",
        f"the error runs from {errors.min():.1e} to {errors.max():.1e}; {near:.0%} of the "
        "grid is of order 1e-7",
        {"smallest": errors.min(), "largest": errors.max(), "share": near},
    )


def _error_law() -> Finding:
    errors, exact = _harmonic()
    law = [[eta / 12 * n ** (-eta - 1) for n in SIZES] for eta in ETAS]
    off = float(np.abs(np.array(law) / errors - 1).max())
    loop = abs(naive_sums(0.5, SIZES)[-1] - exact[0, -1])
    times = float(loop / errors[0, -1])
    return Finding(
        "holds" if off < 1e-6 and errors.min() > 0 and times > 10 else "fails",
        f"(η/12)·N^(-η-1) up to {off:.0e}, always too much; at η = ½, N = 10⁷ a float64 "
        f"loop errs {times:.0f} times as much as the expression",
        {"largest_relative_error": off, "loop_over_expression": times},
    )


def _relative() -> Finding:
    errors, exact = _harmonic()
    share = errors / exact
    near = float(np.mean((share > 10**-10.5) & (share < 10**-9.5)))
    return Finding(
        "holds" if near > 0.5 or share.max() < 10**-9.5 else "fails",
        f"it runs from {share.min():.0e} to {share.max():.1e}; {near:.0%} of the grid is "
        "of order 1e-10",
        {"smallest": share.min(), "largest": share.max(), "share": near},
    )


def _relative_law() -> Finding:
    errors, exact = _harmonic()
    share = errors / exact
    law = np.array([[eta * (1 - eta) / 12 / n**2 for n in SIZES] for eta in ETAS])
    ratio = share[0] / law[0]
    above = float(SIZES[int(np.argmax(share.max(axis=0) < 1e-10))])
    return Finding(
        "holds" if np.abs(ratio - 1).max() < 0.03 and above > 1e4 else "fails",
        f"at η = ½ it is η(1 - η)/12·N^-2 times {ratio.min():.3f} to {ratio.max():.3f}, "
        f"and for all η below 1e-10 from N = {above:.0f} on",
        {"below_1e-10_from": above, "ratio": ratio.tolist()},
    )


def _sum_size() -> Finding:
    _, exact = _harmonic()
    near = float(np.mean(exact > 10**2.5))
    return Finding(
        "holds" if near > 0.5 else "fails",
        f"the sums run from {exact.min():.1f} to {exact.max():.0f} with median "
        f"{np.median(exact):.0f}; {near:.0%} are of order 10³",
        {"smallest": exact.min(), "largest": exact.max(), "share": near},
    )


def _sum_size_corrected() -> Finding:
    _, exact = _harmonic()
    integral = np.array([[n ** (1 - e) / (1 - e) for n in SIZES] for e in ETAS])
    cancels = float(integral[-1, -1] / exact[-1, -1])
    ok = exact[0, -1] > 6000 and exact[-1].max() < 17 and bool((exact < integral).all())
    return Finding(
        "holds" if ok else "fails",
        f"at N = 10⁷ it is {exact[0, -1]:.0f} for η = ½ and {exact[-1, -1]:.1f} for "
        f"η = 0.999, where the expression's own terms are {cancels:.0f} times larger",
        {"eta=0.5": exact[0, -1], "eta=0.999": exact[-1, -1], "terms": cancels},
    )


def _at_one_half() -> Finding:
    errors, exact = _harmonic()
    worst = float((errors[0] / exact[0]).max())
    return Finding(
        "holds" if worst < 1e-7 else "fails",
        f"at η = ½ the relative error is at most {worst:.1e}, the worst of all η",
        {"largest": worst},
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
        "That is so with an SGD first step or the guard, and β2 = 0.999; not with small betas",
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
        "Steps grow until the valley; the longest is x_0·(1 - √β2), whatever the small lr",
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
        "If the gradient is constant on no connected set the numerical issue never happens",
        _smooth,
    ),
    Claim(
        "never-if-not-piecewise-linear-corrected",
        "ours",
        _NUMERICS,
        "s_0 = 0 makes the first step extreme on any function; an SGD step there cures it",
        _smooth_corrected,
    ),
    Claim(
        "zero-second-moment",
        "paper",
        _REMARK,
        "s_t = 0 needs a constant true gradient and noise-free observations",
        _zero_as_printed,
    ),
    Claim(
        "zero-second-moment-corrected",
        "ours",
        _REMARK,
        "Even then s_t/g² = (1 - β2)·Σ β2^(t-i)·β1^(2i) > 0 for β1 > 0; s_0 is always 0",
        _zero,
    ),
    Claim(
        "linear-step-size",
        "paper",
        _NUMERICS,
        "With constant noise-free gradients ACProp becomes SGD with step size 1/ε",
        _one_over_eps,
    ),
    Claim(
        "linear-step-size-corrected",
        "ours",
        _NUMERICS,
        "Under Algorithm 2 the step size tends to α/√ε",
        _one_over_root_eps,
    ),
    Claim(
        "beta2-of-one",
        "paper",
        _DENSE,
        "At β2 = 1 ACProp reduces to SGD with momentum",
        _frozen_as_printed,
    ),
    Claim(
        "beta2-of-one-corrected",
        "ours",
        _DENSE,
        "At β2 = 1 it is SGD without momentum, and with step size α/√ε",
        _frozen,
    ),
    Claim(
        "harmonic-error",
        "paper",
        _HARMONIC,
        "The error of the expression is of order 1e-7",
        _error_size,
    ),
    Claim(
        "harmonic-error-corrected",
        "ours",
        _HARMONIC,
        "The expression is too large by (η/12)·N^(-η-1), less than a float64 loop can see",
        _error_law,
    ),
    Claim(
        "harmonic-relative-error",
        "paper",
        _HARMONIC,
        "The relative error is of order 1e-10",
        _relative,
    ),
    Claim(
        "harmonic-relative-error-corrected",
        "ours",
        _HARMONIC,
        "It falls like N^-2 and is 2.1e-8 at η = ½, N = 10³",
        _relative_law,
    ),
    Claim(
        "harmonic-size",
        "paper",
        _HARMONIC,
        "The sum is typically of order 10³",
        _sum_size,
    ),
    Claim(
        "harmonic-size-corrected",
        "ours",
        _HARMONIC,
        "The sum is below N^(1-η)/(1-η): from 7.5 to 6323, of order 10³ near η = ½ only",
        _sum_size_corrected,
    ),
    Claim(
        "harmonic-at-one-half",
        "paper",
        _HARMONIC,
        "The expression is accurate even at η = ½",
        _at_one_half,
    ),
    *numerics_constants.CLAIMS,
    *numerics_stochastic.CLAIMS,
)
