"""The paper's numerical statements: when s_t is 0, and what a step is then.

CLAIMS has these and those on |x|, on Section 4's constants, on the harmonic sum and on
stochastic gradients. A claim of the paper that fails has one of ours beside it, named
<its name>-corrected.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

import numpy as np

from acprop.lab.claims import (
    numerics_absolute,
    numerics_constants,
    numerics_harmonic,
    numerics_stochastic,
)
from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.gaussian import constant
from acprop.lab.methods import method
from acprop.lab.steps import feed, final_state
from acprop.reference import Hyper, State
from acprop.rule import PAPER

ACPROP = method("acprop")

_NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"
_REMARK = "Section 4, remark on small s_t, and Appendix C.1"
_DENSE = "Appendix A.1, last sentence of the proof of Lemma 3.3"


def _zero_as_printed() -> Finding:
    """A curved function with noise, and s is 0: at the start, and for β1 = 0."""
    rng = np.random.default_rng(0)
    h, start = Hyper(beta1=0.0, beta2=0.999, axis=()), float(State().s)
    gradients = (0.99**t + rng.normal() for t in range(1000))
    state = final_state(ACPROP, PAPER, h, gradients)
    zero = float(state.s) == 0 and start == 0
    return Finding(
        "fails" if zero else "holds",
        f"x²/2 with noise N(0, 1): s_0 = {start:g} whatever the problem, and at β1 = 0 "
        f"s_1000 = {float(state.s):g}",
        {"s_0": start, "s_1000": float(state.s)},
    )


def _zero() -> Finding:
    off = 0.0
    for beta1, beta2 in ((0.9, 0.999), (0.5, 0.9), (0.9, 0.5)):
        h = Hyper(beta1=beta1, beta2=beta2, axis=())
        for step in feed(ACPROP, PAPER, h, [3.0] * 30):
            s = float(step.after.s)
            off = max(off, abs(s / (9 * constant(beta1, beta2, step.t)) - 1))
    late = constant(0.9, 0.999, 10_000)
    return Finding(
        "holds" if off < 1e-9 and late > 0 else "fails",
        f"30 equal gradients follow the formula up to {off:.0e}; after 10⁴ at betas "
        f"(0.9, 0.999) s/g² is still {late:.1e}",
        {"largest_relative_error": off, "after_10000": late},
    )


def _direction(beta2: float, eps: float, steps: int) -> tuple[float, float]:
    """d_t/g_t after equal gradients, and once more when the gradient turns."""
    h = Hyper(beta1=0.9, beta2=beta2, eps=eps, axis=())
    *_, last, turned = feed(ACPROP, PAPER, h, [*[2.0] * steps, -2.0])
    return float(last.d) / 2, float(turned.d) / -2


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


CLAIMS = (
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
        "s_0 is always 0; later, even then, s_t/g² = (1 - β2)·Σ β2^(t-i)·β1^(2i), "
        "which is 0 for β1 = 0 only",
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
    *numerics_absolute.CLAIMS,
    *numerics_constants.CLAIMS,
    *numerics_harmonic.CLAIMS,
    *numerics_stochastic.CLAIMS,
)
