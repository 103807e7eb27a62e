"""The constants of Section 4: what v and s average to when gradients are N(μ, σ²).

    E v = μ² + σ²
    E s = 2·β1²/(1 + β1)·σ²      residual g_t - m_t, Algorithm 2
    E s = 2/(1 + β1)·σ²          residual g_t - m_{t-1}, optax

The paper writes σ² for the second. g_t and m_{t-1} are independent and Var m_{t-1} is
(1 - β1)/(1 + β1)·σ², so Var(g_t - m_{t-1}) = 2/(1 + β1)·σ²; and g_t - m_t is β1 times
that residual.
"""

import math
from dataclasses import dataclass

import numpy as np

from acprop.checks import UserError
from acprop.lab.arrays import Floats
from acprop.lab.curves import curves
from acprop.lab.methods import method
from acprop.lab.steps import final_state
from acprop.records import Curves
from acprop.reference import Settings
from acprop.rule import OPTAX, PAPER, Convention


@dataclass(frozen=True, slots=True)
class NormalGradients:
    """Independent gradients of mean mu and standard deviation sigma."""

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        if not self.sigma >= 0:
            raise UserError(f"sigma must be 0 or more, got {self.sigma}")

    def uncentered(self) -> float:
        """E v."""
        return self.mu**2 + self.sigma**2

    def centered(self, beta1: float, convention: Convention = PAPER) -> float:
        """E s, without ε."""
        lag = beta1**2 if convention.residual == "current" else 1.0
        return lag * 2 / (1 + beta1) * self.sigma**2

    def printed_factor(self) -> float:
        """The printed speed-up of the centered version, which takes s for σ²."""
        return math.sqrt(self.uncentered()) / self.sigma

    def factor(self, beta1: float) -> float:
        """The ratio of the denominators √E v and √E s."""
        return math.sqrt(self.uncentered() / self.centered(beta1))


@dataclass(frozen=True, slots=True)
class Moments:
    """A mean over independent lanes with the half-width of its 99.9 % interval.

    below: which share of the lanes has s below σ².
    """

    v: float
    v_half: float
    s: float
    s_half: float
    below: float


def measure(
    gradients: NormalGradients,
    beta1: float,
    beta2: float = 0.9,
    *,
    convention: Convention = PAPER,
    lanes: int = 32768,
    steps: int | None = None,
    seed: int = 0,
) -> Moments:
    """Run the reference and average v and s of the last step over the lanes.

    The means do not depend on β2; a small one soon forgets the start.

    steps: None waits until the start is forgotten to 1e-7: each step forgets a share
        1 - max(β2, β1²).
    """
    rate = max(beta2, beta1**2)
    steps = math.ceil(math.log(1e-7) / math.log(rate)) if steps is None else steps
    h = Settings(beta1=beta1, beta2=beta2, eps=0.0, axis=())

    def second_moment(name: str) -> Floats:
        rng = np.random.default_rng(seed)
        drawn = (
            gradients.mu + gradients.sigma * rng.standard_normal(lanes)
            for _ in range(steps)
        )
        return final_state(method(name), convention, h, drawn).s

    v, v_half = _interval(second_moment("adashift"))
    sample = second_moment("acprop-paper")
    s, s_half = _interval(sample)
    below = float(np.mean(sample < gradients.sigma**2))
    return Moments(v, v_half, s, s_half, below)


def _interval(sample: Floats) -> tuple[float, float]:
    # 3.29: two-sided 99.9 % of a normal mean
    half = 3.29 * float(np.std(sample, ddof=1)) / math.sqrt(len(sample))
    return float(np.mean(sample)), half


def drifting(beta1: float, change: float) -> float:
    """lim s_t, when the true gradient changes by the same amount at every step.

        (β1/(1 - β1)·change)²

    m_t lags β1/(1 - β1) steps behind g_t, so s is not change² but, for β1 = 0.9, 81
    times that; the remark of Section 4 says only that s sees the change.
    """
    return (beta1 / (1 - beta1) * change) ** 2


def constant(beta1: float, beta2: float, t: int) -> float:
    """s_t/g² after t equal, noise-free gradients g: small, and never 0 for β1 > 0.

    (1 - β2)·Σ_{i≤t} β2^(t-i)·β1^(2i)
    """
    i = np.arange(1, t + 1)
    return float((1 - beta2) * np.sum(beta2 ** (t - i) * beta1 ** (2.0 * i)))


def bound_constants(den: float) -> tuple[float, float]:
    """The two coefficients of Theorem 4.1 (with its 1/α0) where every A_t is 1/den.

    first   2/C_l        times (M_f - f*)/α0·T^(η-1)       grows with den
    second  C_u²/C_l     times L·σ²·α0/(1-η)·T^-η          falls with den
    """
    c = 1 / den
    return 2 / c, c**2 / c


def tuned_bound(den: float, a: float = 1.0, b: float = 1.0) -> float:
    """min over α0 of first·a/α0 + second·b·α0; it does not depend on den."""
    first, second = bound_constants(den)
    return 2 * math.sqrt(first * a * second * b)


RATIOS = tuple(float(r) for r in np.geomspace(1e-2, 1e2, 9))


def records() -> list[Curves]:
    """Denominators and their ratio against μ/σ, measured and predicted; σ = 1."""
    gradients = [NormalGradients(r, 1.0) for r in RATIOS]
    factors = {"as printed": [g.printed_factor() for g in gradients]}
    for beta1 in (0.9, 0.5):
        factors[f"corrected, β1 = {beta1}"] = [g.factor(beta1) for g in gradients]
    ratios = curves(
        "constants",
        "uncentered over centered denominator",
        ("μ/σ", "ratio"),
        [(label, RATIOS, values) for label, values in factors.items()],
        log="xy",
        about={"sigma": 1.0, "eps": 0.0},
    )
    return [_denominators(gradients, 0.9), _denominators(gradients, 0.5), ratios]


def _denominators(gradients: list[NormalGradients], beta1: float) -> Curves:
    measured = [measure(g, beta1, lanes=2048) for g in gradients]
    rows = {
        "√v, measured": [m.v for m in measured],
        "√(μ² + σ²)": [g.uncentered() for g in gradients],
        "√s, measured": [m.s for m in measured],
        "√(2β1²/(1 + β1))·σ": [g.centered(beta1) for g in gradients],
        "√s with m_{t-1}: √(2/(1 + β1))·σ": [
            g.centered(beta1, OPTAX) for g in gradients
        ],
        "σ, as printed": [1.0 for _ in gradients],
    }
    return curves(
        "constants",
        f"denominators for gradients N(μ, 1), β1 = {beta1}",
        ("μ/σ", "√ of the second moment"),
        [(label, RATIOS, np.sqrt(values)) for label, values in rows.items()],
        log="xy",
        about={"beta1": beta1, "beta2": 0.9, "sigma": 1.0, "lanes": 2048},
    )
