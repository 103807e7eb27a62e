"""The paper's numerical statements: when s_t is 0, and what a step is then.

CLAIMS has these and those on |x|, on Section 4's constants, on the harmonic sum and on
stochastic gradients. A claim of the paper that fails has one of ours beside it, named
<its name>-corrected.
"""

import numpy as np

from acprop.lab.absolute import X0, descend
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.descent import SECTION_4
from acprop.lab.gaussian import constant
from acprop.lab.methods import method
from acprop.lab.steps import feed
from acprop.reference import Settings
from acprop.rule import PAPER, Convention

NUMERICS = "Appendix C.1, centering does not suffer from numerical issues"
_DENSE = "Appendix A.1, last sentence of the proof of Lemma 3.3"

ACPROP_PAPER = method("acprop-paper")


def _longest_direction(name: str, beta1: float) -> float:
    """The largest |d_t/g_t| of 1000 steps after the first: x²/2 with noise N(0, 1)."""
    rng = np.random.default_rng(0)
    h = Settings(beta1=beta1, beta2=0.999, axis=())
    gradients = [0.99**t + rng.normal() for t in range(1001)]
    steps = feed(method(name), PAPER, h, gradients)
    seen = [abs(float(s.d) / g) for s, g in zip(steps, gradients, strict=True)]
    return max(seen[1:])


def _longest_step(name: str) -> float:
    """On |x| from 100 at betas (0.5, 0.25), by the authors' code."""
    run = descend(name, beta1=0.5, beta2=0.25, steps=200)
    return float(run.step_sizes.max())


@claim("zero-second-moment", "paper", "proof step", NUMERICS)
@formula(
    printed=r"s_t=0\ \text{only if}\ \|\nabla f_{t+1}(x)-\nabla f_t(x)\|^2=0\ "
    r"\forall t,\ \text{without noise}"
)
def _only_case() -> Finding:
    """“The only possible case where centering second momentum causes numerical issue”
    is a linear loss whose gradients are observed without noise

    Two more cases, and the uncentered method beside each.

    Not the first step: AdaShift's v_0 = 0 makes the same one, by its delay.
    """
    leap, usual = (_longest_step(name) for name in ("acprop-paper", "adashift"))
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
        {
            "|x|": leap,
            "|x|, adashift": usual,
            "beta1 = 0": frozen,
            "beta1 = 0, adashift": noisy,
        },
    )


@claim("zero-second-moment-corrected", "ours", "proof step", NUMERICS)
@formula(r"s_t=(1-\beta_2)\,g^2\sum_{i=1}^{t}\beta_2^{\,t-i}\beta_1^{2i}")
def _zero() -> Finding:
    """Equal gradients give s_t/g² = (1 - β2)·Σ β2^(t-i)·β1^(2i), small for as long as a
    stretch of them is long, and 0 for β1 = 0 only
    """
    off = 0.0
    for beta1, beta2 in ((0.9, 0.999), (0.5, 0.9), (0.9, 0.5)):
        h = Settings(beta1=beta1, beta2=beta2, axis=())
        for step in feed(ACPROP_PAPER, PAPER, h, [3.0] * 30):
            s = float(step.after.s)
            off = max(off, abs(s / (9 * constant(beta1, beta2, step.t)) - 1))
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
    h = Settings(beta1=0.9, beta2=0.999, axis=())
    first = {
        name: abs(float(next(iter(feed(method(name), PAPER, h, [0.5, 1.0]))).d) / 0.5)
        for name in ("acprop-paper", "adashift", "adabelief", "adam")
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
    h = Settings(beta1=0.9, beta2=beta2, eps=eps, axis=())
    *_, last, turned = feed(ACPROP_PAPER, convention, h, [*[2.0] * steps, -2.0])
    return float(last.d) / 2, float(turned.d) / -2


@claim("linear-step-size", "paper", "wording", NUMERICS)
def _one_over_eps() -> Finding:
    """with constant noise-free gradients “ACProp reduces to SGD with stepsize 1/ε”

    ε outside the root, where Section 4 and Appendix A have it.
    """
    rates = {eps: _direction(0.9, eps, 2000, SECTION_4)[0] for eps in (1e-2, 1e-8)}
    off = max(abs(rate * eps - 1) for eps, rate in rates.items())
    inside, _ = _direction(0.9, 1e-4, 2000)
    return Finding.of(
        off < 1e-3,
        f"with ε outside the root, as in Section 4, the step after 2000 equal "
        f"gradients is α·g/ε up to {off:.0e}; with ε inside, as in Algorithm 2, α·g/√ε "
        f"({inside:.0f}·α·g at ε = 1e-4)",
        {**{str(eps): rate for eps, rate in rates.items()}, "inside": inside},
    )


@claim("beta2-of-one", "paper", "wording", _DENSE)
def _frozen_as_printed() -> Finding:
    """“When β2 = 1, the denominator won't update, and ACProp reduces to SGD (with
    momentum)”

    SGD with momentum would still walk on after the gradient has turned.
    """
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
    pairs = [(_direction(1.0, eps, 50), eps) for eps in (1e-4, 1e-16)]
    off = max(abs(r * eps**0.5 - 1) for both, eps in pairs for r in both)
    return Finding.of(
        off < 1e-12,
        f"at β2 = 1 every step is α·g_t/√ε up to {off:.0e}, 1e8·α·g_t at ε = 1e-16",
        {"largest_relative_error": off},
    )
