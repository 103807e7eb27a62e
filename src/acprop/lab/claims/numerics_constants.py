"""Section 4's constants: what the second moments are, and what centering them buys."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from functools import cache

import numpy as np

from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.gaussian import (
    Gaussian,
    Moments,
    bound_constants,
    drifting,
    measure,
    tuned_bound,
)
from acprop.lab.methods import method
from acprop.lab.steps import final_state
from acprop.reference import Hyper
from acprop.rule import OPTAX, PAPER

_CONSTANTS = "Section 4, constants in the upper bound of regret"
_REMARK = "Section 4, remark on small s_t"
_BETA1 = (0.5, 0.9)  # the paper's settings for GANs and for everything else
_EARLY, _LATE = Gaussian(10.0, 1.0), Gaussian(0.01, 1.0)


@cache
def _measured(gradients: Gaussian, beta1: float) -> Moments:
    return measure(gradients, beta1)


def _uncentered() -> Finding:
    cases = [(g, _measured(g, 0.9)) for g in (_EARLY, _LATE)]
    ok = all(abs(m.v - g.uncentered()) <= m.v_half for g, m in cases)
    text = " and ".join(f"{m.v:.3f} ± {m.v_half:.3f} (μ = {g.mu:g})" for g, m in cases)
    return Finding(
        "holds" if ok else "fails",
        f"with σ = 1 the mean of v is {text}",
        {"v": [m.v for _, m in cases]},
    )


def _centered_as_printed() -> Finding:
    found = {beta1: _measured(_EARLY, beta1) for beta1 in _BETA1}
    ok = all(abs(m.s - 1) <= 0.1 for m in found.values())
    return Finding(
        "holds" if ok else "fails",
        "of σ² = 1 the mean of s is "
        + " and ".join(
            f"{m.s:.3f} ± {m.s_half:.3f} (β1 = {b}, {m.below:.0%} of the runs below 1)"
            for b, m in found.items()
        ),
        {"s": {str(b): m.s for b, m in found.items()}},
    )


def _centered() -> Finding:
    gaps: list[float] = []
    for beta1 in _BETA1:
        m = _measured(_EARLY, beta1)
        gaps.append(abs(m.s - _EARLY.centered(beta1)) / m.s_half)
        p = measure(_EARLY, beta1, convention=OPTAX)
        gaps.append(abs(p.s - _EARLY.centered(beta1, OPTAX)) / p.s_half)
    return Finding(
        "holds" if max(gaps) <= 1 else "fails",
        f"for β1 = 0.5 and 0.9 and for both residuals the measured mean is at most "
        f"{max(gaps):.2f} half-widths of its 99.9 % interval away",
        {"gaps_in_half_widths": gaps},
    )


def _ratio(beta1: float) -> float:
    m = _measured(_EARLY, beta1)
    return float(np.sqrt(m.v / m.s))


def _factor_as_printed() -> Finding:
    printed = _EARLY.printed_factor()
    off = {b: _ratio(b) / printed - 1 for b in _BETA1}
    return Finding(
        "holds" if max(map(abs, off.values())) < 0.05 else "fails",
        f"μ = 10σ: printed {printed:.2f}, measured {_ratio(0.9):.2f} at β1 = 0.9 and "
        f"{_ratio(0.5):.2f} at β1 = 0.5",
        {"printed": printed, "measured": {str(b): _ratio(b) for b in _BETA1}},
    )


def _factor() -> Finding:
    off = max(abs(_ratio(b) / _EARLY.factor(b) - 1) for b in _BETA1)
    return Finding(
        "holds" if off < 0.01 else "fails",
        f"μ = 10σ: {_EARLY.factor(0.9):.2f} at β1 = 0.9, {_EARLY.factor(0.5):.2f} at "
        f"β1 = 0.5, measured up to {off:.1%}",
        {"largest_relative_error": off},
    )


def _bounds() -> tuple[float, float, float]:
    """Centered over uncentered, early: the bound's two terms, and its best over α0."""
    centered = _measured(_EARLY, 0.9).s ** 0.5
    uncentered = _measured(_EARLY, 0.9).v ** 0.5
    first_s, second_s = bound_constants(centered)
    first_v, second_v = bound_constants(uncentered)
    tuned = tuned_bound(centered) / tuned_bound(uncentered)
    return first_s / first_v, second_s / second_v, tuned


def _converges_faster() -> Finding:
    first, second, tuned = _bounds()
    return Finding(
        "holds" if max(first, second) <= 1 and tuned < 1 else "fails",
        f"μ = 10σ: centering multiplies the bound's first term by {first:.3f} and its "
        f"noise term by {second:.1f}",
        {"first": first, "noise": second, "tuned": tuned},
    )


def _larger_learning_rate() -> Finding:
    first, second, tuned = _bounds()
    off = max(abs(first * second - 1), abs(tuned - 1))
    return Finding(
        "holds" if off < 1e-12 else "fails",
        f"first term × {first:.3f}, noise term × {second:.1f}, both with the best α0 "
        f"× {tuned:.3f}",
        {"first": first, "noise": second, "tuned": tuned},
    )


def _late_as_printed() -> Finding:
    m = _measured(_LATE, 0.9)
    return Finding(
        "holds" if max(m.v, m.s) < 0.1 else "fails",
        f"at μ = σ/100 the means are v = {m.v:.2f}·σ² and s = {m.s:.2f}·σ²",
        {"v": m.v, "s": m.s},
    )


def _late() -> Finding:
    shares = {b: (_measured(_LATE, b).s / _measured(_LATE, b).v) for b in _BETA1}
    off = max(abs(share / _LATE.centered(b) - 1) for b, share in shares.items())
    return Finding(
        "holds" if off < 0.01 else "fails",
        f"at μ = σ/100 s/v is {shares[0.9]:.3f} for β1 = 0.9 and {shares[0.5]:.3f} for "
        "β1 = 0.5",
        {"s_over_v": {str(b): share for b, share in shares.items()}},
    )


def _drift_limit(beta1: float, change: float) -> float:
    h = Hyper(beta1=beta1, beta2=0.9, eps=0.0, axis=())
    gradients = (change * t for t in range(1, 1001))
    return float(final_state(method("acprop"), PAPER, h, gradients).s)


def _change_as_printed() -> Finding:
    found = {b: _drift_limit(b, 0.25) / 0.25**2 for b in _BETA1}
    ok = all(0.5 < share < 2 for share in found.values())
    return Finding(
        "holds" if ok else "fails",
        "if ∇f changes by c at every step, s is "
        + " and ".join(f"{share:.2f}·c² (β1 = {b})" for b, share in found.items()),
        {"s_over_change2": {str(b): share for b, share in found.items()}},
    )


def _change() -> Finding:
    off = max(
        abs(_drift_limit(b, c) / drifting(b, c) - 1)
        for b in (0.5, 0.9, 0.99)
        for c in (0.25, 3.0)
        if b < 0.99
    )
    return Finding(
        "holds" if off < 1e-9 else "fails",
        f"s/c² is 1 for β1 = 0.5 and 81 for β1 = 0.9, up to {off:.0e}",
        {"largest_relative_error": off},
    )


CLAIMS = (
    Claim(
        "uncentered-moment",
        "paper",
        _CONSTANTS,
        "The uncentered second moment is about μ² + σ²",
        _uncentered,
    ),
    Claim(
        "centered-moment",
        "paper",
        _CONSTANTS,
        "The centered second moment is about σ², which is also a lower bound for s_t",
        _centered_as_printed,
    ),
    Claim(
        "centered-moment-corrected",
        "ours",
        _CONSTANTS,
        "Its mean is 2β1²/(1 + β1)·σ², or 2/(1 + β1)·σ² for the residual g_t - m_{t-1}",
        _centered,
    ),
    Claim(
        "centering-factor",
        "paper",
        _CONSTANTS,
        "Early on, 1/C_l is smaller by a factor of about √(μ² + σ²)/σ",
        _factor_as_printed,
    ),
    Claim(
        "centering-factor-corrected",
        "ours",
        _CONSTANTS,
        "The factor is √((μ² + σ²)(1 + β1)/2)/(β1·σ)",
        _factor,
    ),
    Claim(
        "centering-converges-faster",
        "paper",
        _CONSTANTS,
        "Early on, the bound of the centered version is smaller by that factor",
        _converges_faster,
    ),
    Claim(
        "centering-converges-faster-corrected",
        "ours",
        _CONSTANTS,
        "One term of the bound falls and the noise term grows by the same factor; with "
        "the best α0 for each, they are equal: centering is a larger learning rate",
        _larger_learning_rate,
    ),
    Claim(
        "late-phase",
        "paper",
        _CONSTANTS,
        "Late, |μ| ≪ σ, and both second moments are close to 0",
        _late_as_printed,
    ),
    Claim(
        "late-phase-corrected",
        "ours",
        _CONSTANTS,
        "Late, v is about σ² and s is 2β1²/(1 + β1) times that",
        _late,
    ),
    Claim(
        "second-moment-of-a-change",
        "paper",
        _REMARK,
        "s_t estimates the squared change of the true gradient, apart from noise",
        _change_as_printed,
    ),
    Claim(
        "second-moment-of-a-change-corrected",
        "ours",
        _REMARK,
        "A change of c at every step adds up in m's lag: s tends to (β1/(1 - β1)·c)²",
        _change,
    ),
)
