"""The theorems on averaging: after dividing, and before it; derived in docs/maths.md.

With b = β1/(1 - β1), C_l ≤ A_t ≤ C_u and A_t a function of the past only:

    after     avg ≤ 2/C_l·[(M_f - f*)/α0·T^(η-1) + (λ + ½)·L·C_u²·M_g²·α0/(1-η)·T^-η
                           + λ·C_u·M_g²/T + C_u⁴·M_g⁴/(16·C_l)·T^-½]
    before    avg ≤ 1/C_l·[(M_f - f*)/α0·T^(η-1) + (b + ½)·L·C_u²·M_g²·α0/(1-η)·T^-η
                           + b·d·C_u·M_g²·(1/T + 2·(β2^-½ - 1))]

λ is the mean age of a gradient in the direction: b, and β1·b with look-ahead. `before`
has a neighbourhood that no T removes. With ε inside the root it is O((1 - β2)²):

    inside    avg ≤ 2/C_l·[… + b·C_u·M_g²/T + (b·C_u³·S·M_g·(1 - β2))²/(8·C_l)]

where r² and s are at most S.
"""

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np

from acprop.checks import UserError
from acprop.lab.bounds import Constants, rise, squares_with_ceiling
from acprop.lab.descent import WalkSettings
from acprop.lab.nonconvex import Noise
from acprop.reference import Array

Number = TypeVar("Number", float, Fraction)


def mean_age(beta1: Number, *, nesterov: bool) -> Number:
    """λ: how many steps old a gradient is in the direction, on average."""
    b = beta1 / (1 - beta1)
    return beta1 * b if nesterov else b


def second_moment_limit(beta1: Array, G: Array, eps: float = 0.0) -> Array:
    """√s of a rule centered on its average never exceeds it if |g| ≤ G, ε outside.

    q·(G + ε)/(1 - q), q² = (1 + β1)/2.
    """
    q = np.sqrt((1 + np.asarray(beta1)) / 2)
    return q * (G + eps) / (1 - q)


def after(c: Constants, h: WalkSettings, *, nesterov: bool = False) -> float:
    """The bound for averaging after dividing, with steps cut to ±t^¼."""
    age = mean_age(h.beta1, nesterov=nesterov)
    inner = _rate(c, h, age) + age * c.C_u * c.M_g**2 / h.steps
    bias = (c.C_u * c.M_g) ** 4 / (16 * c.C_l) * h.steps**-0.5
    return 2 / c.C_l * (inner + bias)


def before(c: Constants, h: WalkSettings) -> float:
    """The bound for averaging before dividing, whatever place ε has."""
    turns = 1 / h.steps + 2 * (h.beta2**-0.5 - 1)
    return (_rate(c, h, h.b) + h.b * c.d * c.C_u * c.M_g**2 * turns) / c.C_l


def before_inside(c: Constants, h: WalkSettings, S: float) -> float:
    """The same for ε inside the root: a smaller neighbourhood if β2 is near 1."""
    around = (h.b * c.C_u**3 * S * c.M_g * (1 - h.beta2)) ** 2 / (8 * c.C_l)
    inner = _rate(c, h, h.b) + h.b * c.C_u * c.M_g**2 / h.steps
    return 2 / c.C_l * (inner + around)


def _rate(c: Constants, h: WalkSettings, age: float) -> float:
    return rise(c, h) + squares_with_ceiling(c, h, age)


def resting_slope(beta1: float) -> float:
    """Ψ = β1·(1 + β1)/2·(1 + β1·(1 - β1)/(1 + β1 + β1²)), centered on m."""
    more = beta1 * (1 - beta1) / (1 + beta1 + beta1**2)
    return beta1 * (1 + beta1) / 2 * (1 + more)


def resting_order(beta1: float, beta2: float, noise: Noise, *, eps: float) -> float:
    """Averaging first rests at this gradient, to the first order in 1 - β2.

    (1 - β2)·Ψ·E δ³/(2σ²)·w/(w + ε), w² = 2·β1²/(1 + β1)·σ².
    """
    variance = noise.variance(0.0, 1)
    w = beta1 * math.sqrt(2 / (1 + beta1) * variance)
    ratio = third_moment(noise) / (2 * variance) * w / (w + eps)
    return (1 - beta2) * resting_slope(beta1) * ratio


def resting_gradient(
    beta1: Array, beta2: Array, noise: Noise, *, eps: float, steps: int, lanes: int
) -> Array:
    """The gradient at which m/(√s + ε) has mean 0: -E[m·A]/E A in noise alone.

    s is centered, so a constant gradient does not change it.
    """
    rng = np.random.default_rng(0)
    shape = (*np.broadcast_shapes(np.shape(beta1), np.shape(beta2)), lanes)
    beta1, beta2 = (np.asarray(b, np.float64)[..., None] for b in (beta1, beta2))
    m, s = np.zeros(shape), np.ones(shape) * noise.variance(0.0, 1)
    product, mean_m, mean_a = (np.zeros(shape) for _ in range(3))
    quiet = steps // 5
    for t in range(steps):
        g = noise.draw(rng, np.zeros((lanes, 1)))[:, 0]
        m = beta1 * m + (1 - beta1) * g
        if t >= quiet:
            A = 1 / (np.sqrt(s) + eps)
            product, mean_m, mean_a = product + m * A, mean_m + m, mean_a + A
        s = beta2 * s + (1 - beta2) * (g - m) ** 2
    n = steps - quiet
    product, mean_m, mean_a = (
        np.mean(x, axis=-1) / n for x in (product, mean_m, mean_a)
    )
    # Less what the mean of the drawn noise does, which is not quite 0.
    return mean_m - product / mean_a


def third_moment(noise: Noise) -> float:
    """E δ³ of skewed noise: 9·scale with probability 1/10, else -scale."""
    if noise.kind != "skewed":
        raise UserError(f"noise must be skewed, got {noise.kind}")
    return noise.scale**3 * (0.1 * 9**3 - 0.9)
