"""Section 4's constants: what the second moments are, early and late."""

from functools import cache

import numpy as np

from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.gaussian import (
    Moments,
    NormalGradients,
    drifting,
    measure,
)
from acprop.lab.methods import method
from acprop.lab.steps import feed, final_state
from acprop.reference import Settings
from acprop.rule import OPTAX, PAPER

CONSTANTS = "Section 4, constants in the upper bound of regret"
_REMARK = "Section 4, remark on small s_t"

_BETA1 = (0.5, 0.9)  # the paper's settings for GANs and for everything else
EARLY, LATE = NormalGradients(10.0, 1.0), NormalGradients(0.01, 1.0)


@cache
def measured(gradients: NormalGradients, beta1: float) -> Moments:
    """The means of v and s."""
    return measure(gradients, beta1)


@claim("uncentered-moment", "paper", "definition", CONSTANTS)
def _uncentered() -> Finding:
    """The uncentered second moment is about μ² + σ²"""
    cases = [(g, measured(g, 0.9)) for g in (EARLY, LATE)]
    ok = all(abs(m.v - g.uncentered()) <= m.v_half for g, m in cases)
    text = " and ".join(f"{m.v:.3f} ± {m.v_half:.3f} (μ = {g.mu:g})" for g, m in cases)
    return Finding.of(
        ok,
        f"with σ = 1 the mean of v is {text}",
        {"v": [m.v for _, m in cases]},
    )


@claim("centered-moment", "ours", "constant", CONSTANTS)
@formula(
    r"\mathbb E\,v=\mu^2+\sigma^2,\qquad \mathbb E\,s=\frac{2\beta_1^2}{1+\beta_1}\,"
    r"\sigma^2"
)
def _centered() -> Finding:
    """The mean of s is 2β1²/(1 + β1)·σ², or 2/(1 + β1)·σ² for the residual g_t -
    m_{t-1}; σ² is not a lower bound of s
    """
    gaps: list[float] = []
    for beta1 in _BETA1:
        m = measured(EARLY, beta1)
        gaps.append(abs(m.s - EARLY.centered(beta1)) / m.s_half)
        p = measure(EARLY, beta1, convention=OPTAX)
        gaps.append(abs(p.s - EARLY.centered(beta1, OPTAX)) / p.s_half)
    below = {b: measured(EARLY, b).below for b in _BETA1}
    return Finding.of(
        max(gaps) <= 1 and min(below.values()) > 0.5,
        f"for β1 = 0.5 and 0.9 and for both residuals the measured mean is at most "
        f"{max(gaps):.2f} half-widths of its 99.9 % interval away; {below[0.9]:.0%} of "
        f"the runs are below σ² at β1 = 0.9 and {below[0.5]:.0%} at 0.5",
        {"gaps_in_half_widths": gaps, "below": {str(b): x for b, x in below.items()}},
    )


def _ratio(beta1: float) -> float:
    m = measured(EARLY, beta1)
    return float(np.sqrt(m.v / m.s))


@claim("centering-factor", "paper", "constant", CONSTANTS)
def _factor() -> Finding:
    """“approximately”, 1/C_l is √(μ² + σ²) + ε uncentered and √σ² + ε centered: early
    on apart “by a constant factor of around” √(μ² + σ²)/σ

    “Approximately”: within 10 % at the β1 of most of the paper's experiments.
    """
    printed = EARLY.printed_factor()
    off = {b: _ratio(b) / printed - 1 for b in _BETA1}
    return Finding.of(
        abs(off[0.9]) < 0.1,
        f"μ = 10σ, ratio of the means: printed {printed:.2f}, measured "
        f"{_ratio(0.9):.2f} at β1 = 0.9 ({off[0.9]:+.0%}) and {_ratio(0.5):.2f} at "
        f"β1 = 0.5 ({off[0.5]:+.0%}): the paper claims too little",
        {"printed": printed, "measured": {str(b): _ratio(b) for b in _BETA1}},
    )


@claim("centering-factor-exact", "ours", "constant", CONSTANTS)
@formula(
    r"\frac{\sqrt{\mathbb E\,v}}{\sqrt{\mathbb E\,s}}=\frac{1}{\beta_1\sigma}\sqrt{"
    r"\frac{(\mu^2+\sigma^2)(1+\beta_1)}{2}}"
)
def _factor_exact() -> Finding:
    """Between the means of v and s the factor is √((μ² + σ²)(1 + β1)/2)/(β1·σ)"""
    off = max(abs(_ratio(b) / EARLY.factor(b) - 1) for b in _BETA1)
    return Finding.of(
        off < 0.01,
        f"μ = 10σ: {EARLY.factor(0.9):.2f} at β1 = 0.9, {EARLY.factor(0.5):.2f} at "
        f"β1 = 0.5, measured up to {off:.1%}",
        {"largest_relative_error": off},
    )


@cache
def late_least() -> dict[str, float]:
    """The least v and s of 2000 steps, once settled: medians of 256 runs, σ = 1."""
    settled, steps = 8000, 2000
    h = Settings(beta1=0.9, beta2=0.999, axis=())
    least: dict[str, float] = {}
    for name, optimizer in (("v", "adashift"), ("s", "acprop-paper")):
        rng = np.random.default_rng(0)
        draws = (rng.normal(LATE.mu, LATE.sigma, 256) for _ in range(settled + steps))
        low = np.full(256, np.inf)
        for step in feed(method(optimizer), PAPER, h, draws):
            if step.t > settled:
                low = np.minimum(low, step.after.s)
        least[name] = float(np.median(low))
    return least


@claim("late-phase-close-to-zero", "paper", "proof step", CONSTANTS)
@formula(printed=r"K_l^v\approx K_l^s\approx0")
def _late_close_to_zero() -> Finding:
    """late, |μ| ≪ σ, “K_l^v (for uncentered version) and K_l^s (for centered version)
    are both close to 0”

    Close to 0: below a tenth of σ².
    """
    least = late_least()
    return Finding.of(
        max(least.values()) < 0.1,
        f"at μ = σ/100 and betas (0.9, 0.999) the least of 2000 steps of a settled run "
        f"is K_l = {least['v']:.2f}·σ² for v and {least['s']:.2f}·σ² for s",
        least,
    )


@claim("late-phase", "paper", "proof step", CONSTANTS)
def _late_close_to_each_other() -> Finding:
    """late, |μ| ≪ σ, “C_u term is close for both types”"""
    least = late_least()
    apart = (least["v"] / least["s"]) ** 0.5
    return Finding.of(
        apart < 1.25,
        f"at μ = σ/100 and betas (0.9, 0.999) K_l is {least['v']:.2f}·σ² and "
        f"{least['s']:.2f}·σ², so C_u differs by a factor of {apart:.2f}",
        {**least, "C_u apart": apart},
    )


@claim("late-phase-close-to-zero-corrected", "ours", "constant", CONSTANTS)
@formula(
    r"\mathbb E\,v=\mu^2+\sigma^2,\qquad \mathbb E\,s=\frac{2\beta_1^2}{1+\beta_1}\,"
    r"\sigma^2"
)
def _late_means() -> Finding:
    """Late, the mean of v is about σ² and that of s 2β1²/(1 + β1) times that"""
    shares = {b: (measured(LATE, b).s / measured(LATE, b).v) for b in _BETA1}
    off = max(abs(share / LATE.centered(b) - 1) for b, share in shares.items())
    return Finding.of(
        off < 0.01,
        f"at μ = σ/100 s/v is {shares[0.9]:.3f} for β1 = 0.9 and {shares[0.5]:.3f} for "
        "β1 = 0.5",
        {"s_over_v": {str(b): share for b, share in shares.items()}},
    )


def _drift_limit(beta1: float, change: float) -> float:
    h = Settings(beta1=beta1, beta2=0.9, eps=0.0, axis=())
    gradients = (change * t for t in range(1, 1001))
    return float(final_state(method("acprop-paper"), PAPER, h, gradients).s)


def _spread_limit(sigma: float, change: float) -> float:
    """The mean of s over 4096 lanes: noise of spread σ on a gradient that changes."""
    rng, h = np.random.default_rng(0), Settings(beta1=0.9, beta2=0.9, eps=0.0, axis=())
    gradients = (change * t + sigma * rng.standard_normal(4096) for t in range(1, 301))
    return float(np.mean(final_state(method("acprop-paper"), PAPER, h, gradients).s))  # pyright: ignore[reportUnknownArgumentType]


@claim("second-moment-of-a-change", "paper", "proof step", _REMARK)
def _two_aspects() -> Finding:
    """“s_t is an estimate of mixture of two aspects: the change in true gradient …, and
    the noise in g_t”

    Qualitative: both aspects raise s, together they add up; nothing else does.
    """
    noise, change, both = (
        _spread_limit(*pair) for pair in ((1.0, 0.0), (0.0, 0.25), (1.0, 0.25))
    )
    neither = _spread_limit(0.0, 0.0)
    off = abs(both / (noise + change) - 1)
    return Finding(
        "holds"
        if min(noise, change) > 0.1 and neither == 0 and off < 0.05
        else "fails",
        f"β1 = 0.9: s is {noise:.2f} with noise σ = 1, {change:.2f} with a change of "
        f"0.25 at every step, {both:.2f} with both and {neither:g} with neither",
        {"noise": noise, "change": change, "both": both, "neither": neither},
    )


@claim("second-moment-of-a-change-exact", "ours", "constant", _REMARK)
@formula(r"\lim_{t\to\infty}s_t=\Big(\frac{\beta_1}{1-\beta_1}\,c\Big)^2")
def _change() -> Finding:
    """A change of c at every step adds up in m's lag: s tends to (β1/(1 - β1)·c)²"""
    off = max(
        abs(_drift_limit(b, c) / drifting(b, c) - 1)
        for b in (0.5, 0.9, 0.99)
        for c in (0.25, 3.0)
        if b < 0.99
    )
    return Finding.of(
        off < 1e-9,
        f"s/c² is 1 for β1 = 0.5 and 81 for β1 = 0.9, up to {off:.0e}",
        {"largest_relative_error": off},
    )
