"""The paper's numerical statements: when s_t is 0, and what a step is then.

CLAIMS has these and those on |x|, on Section 4's constants, on the harmonic sum and on
stochastic gradients. A claim of the paper that fails has one of ours beside it, named
<its name>-corrected.
"""

import numpy as np

from acprop.lab.claims import (
    numerics_absolute,
    numerics_constants,
    numerics_harmonic,
    numerics_stochastic,
)
from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.descent import SECTION_4
from acprop.lab.gaussian import constant
from acprop.lab.methods import method
from acprop.lab.steps import feed
from acprop.reference import Hyper
from acprop.rule import PAPER, Convention

ACPROP_PAPER = method("acprop-paper")

_NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"
_DENSE = "Appendix A.1, last sentence of the proof of Lemma 3.3"


def _first_steps(beta1: float) -> tuple[float, float]:
    """d_1/g_1, and the largest |d_t/g_t| of the 1000 steps after it.

    x²/2 with noise N(0, 1): curved, and with noise.
    """
    rng = np.random.default_rng(0)
    h = Hyper(beta1=beta1, beta2=0.999, axis=())
    gradients = [0.99**t + rng.normal() for t in range(1001)]
    steps = feed(ACPROP_PAPER, PAPER, h, gradients)
    seen = [abs(float(s.d) / g) for s, g in zip(steps, gradients, strict=True)]
    return seen[0], max(seen[1:])


def _only_case() -> Finding:
    """The first step of Algorithm 2, on a problem that meets neither condition."""
    first, later = _first_steps(0.9)
    _, without = _first_steps(0.0)
    return Finding(
        "fails" if first > 1e6 else "holds",
        f"x²/2 with noise N(0, 1), ε = 1e-16: s_0 = 0 makes the first step of "
        f"Algorithm 2 {first:.0e}·α·g whatever the problem; afterwards it is at most "
        f"{later:.0f}·α·g at β1 = 0.9 (at β1 = 0, where s ≡ 0, {without:.0e}·α·g)",
        {"first": first, "later": later, "later, beta1 = 0": without},
    )


def _zero() -> Finding:
    off = 0.0
    for beta1, beta2 in ((0.9, 0.999), (0.5, 0.9), (0.9, 0.5)):
        h = Hyper(beta1=beta1, beta2=beta2, axis=())
        for step in feed(ACPROP_PAPER, PAPER, h, [3.0] * 30):
            s = float(step.after.s)
            off = max(off, abs(s / (9 * constant(beta1, beta2, step.t)) - 1))
    late = constant(0.9, 0.999, 10_000)
    return Finding(
        "holds" if off < 1e-9 and late > 0 else "fails",
        f"30 equal gradients follow the formula up to {off:.0e}; after 10⁴ at betas "
        f"(0.9, 0.999) s/g² is still {late:.1e}",
        {"largest_relative_error": off, "after_10000": late},
    )


def _direction(
    beta2: float, eps: float, steps: int, convention: Convention = PAPER
) -> tuple[float, float]:
    """d_t/g_t after equal gradients, and once more when the gradient turns."""
    h = Hyper(beta1=0.9, beta2=beta2, eps=eps, axis=())
    *_, last, turned = feed(ACPROP_PAPER, convention, h, [*[2.0] * steps, -2.0])
    return float(last.d) / 2, float(turned.d) / -2


def _one_over_eps() -> Finding:
    """ε outside the root, where Section 4 and Appendix A have it."""
    rates = {eps: _direction(0.9, eps, 2000, SECTION_4)[0] for eps in (1e-2, 1e-8)}
    off = max(abs(rate * eps - 1) for eps, rate in rates.items())
    inside, _ = _direction(0.9, 1e-4, 2000)
    return Finding(
        "holds" if off < 1e-3 else "fails",
        f"with ε outside the root, as in Section 4, the step after 2000 equal "
        f"gradients is α·g/ε up to {off:.0e}; with ε inside, as in Algorithm 2, α·g/√ε "
        f"({inside:.0f}·α·g at ε = 1e-4)",
        {**{str(eps): rate for eps, rate in rates.items()}, "inside": inside},
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
        "proof step",
        _NUMERICS,
        "“The only possible case where centering second momentum causes numerical "
        "issue” is a linear loss whose gradients are observed without noise",
        _only_case,
    ),
    Claim(
        "zero-second-moment-corrected",
        "ours",
        "proof step",
        _NUMERICS,
        "s_0 is always 0; later, even then, s_t/g² = (1 - β2)·Σ β2^(t-i)·β1^(2i), "
        "which is 0 for β1 = 0 only",
        _zero,
    ),
    Claim(
        "linear-step-size",
        "paper",
        "wording",
        _NUMERICS,
        "with constant noise-free gradients “ACProp reduces to SGD with stepsize 1/ε”",
        _one_over_eps,
    ),
    Claim(
        "beta2-of-one",
        "paper",
        "wording",
        _DENSE,
        "“When β2 = 1, the denominator won't update, and ACProp reduces to SGD (with "
        "momentum)”",
        _frozen_as_printed,
    ),
    Claim(
        "beta2-of-one-corrected",
        "ours",
        "wording",
        _DENSE,
        "At β2 = 1 it is SGD without momentum, and with step size α/√ε",
        _frozen,
    ),
    *numerics_absolute.CLAIMS,
    *numerics_constants.CLAIMS,
    *numerics_harmonic.CLAIMS,
    *numerics_stochastic.CLAIMS,
)
