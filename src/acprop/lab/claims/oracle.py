"""Theorem 4.2: does the cited lower bound reach the assumptions of Theorem 4.1?

Arjevani et al. (2019) build a hard problem in T dimensions,

    F(x) = -Ψ(1)·Φ(x_1) + Σ_{i=2..T} Ψ(-x_{i-1})·Φ(-x_i) - Ψ(x_{i-1})·Φ(x_i)
    Ψ(z) = exp(1 - 1/(2z - 1)²) for z > ½, else 0      Φ(z) = √e·∫_{-∞..z} exp(-t²/2) dt

whose gradient is above 1 until the last coordinate has been found, and an oracle that
shows the gradient of the next coordinate with probability p only, then divided by p.
Scaled to a gradient of 2δ it has T ~ δ^-2 and p ~ δ²/σ²: T/p ~ δ^-4 queries.
"""

import math

import numpy as np
from scipy.special import erfc  # pyright: ignore[reportMissingTypeStubs]

from acprop.lab.claims.claim import Finding, claim

# Lemma 2 of Arjevani et al.: ∇F is 152-Lipschitz, |∇_i F| ≤ 23, F(0) - inf F ≤ 12·T.
SMOOTHNESS, LARGEST, DEPTH = 152.0, 23.0, 12.0


def psi(z: np.ndarray) -> np.ndarray:
    """Ψ."""
    inside = np.where(z > 0.5, 2 * z - 1, 1.0)
    return np.where(z > 0.5, np.exp(1 - inside**-2), 0.0)


def phi(z: np.ndarray) -> np.ndarray:
    """Φ."""
    return math.sqrt(math.e * math.pi / 2) * erfc(-z / math.sqrt(2))


def hard(x: np.ndarray) -> float:
    """F."""
    before, here = x[:-1], x[1:]
    chain = psi(-before) * phi(-here) - psi(before) * phi(here)
    return float(-phi(x[:1])[0] + np.sum(chain))


# A term of the sum is at most sup Ψ·sup Φ = e·√(2πe), so F ≤ CEILING·T.
CEILING = math.e * math.sqrt(2 * math.pi * math.e)


def spread_per_dimension(T: int) -> float:
    """sup F - inf F over 12·T, among points far out and at random."""
    rng = np.random.default_rng(0)
    points = [rng.normal(size=T) * 10 ** rng.uniform(-1, 2) for _ in range(400)]
    points += [np.full(T, -9.0), np.full(T, 9.0), 9.0 * (-1.0) ** np.arange(T)]
    values = [hard(x) for x in points]
    return (max(values) - min(values)) / (DEPTH * T)


def largest_gradient(delta: float, sigma: float) -> float:
    """Of the oracle at x = 0: its first coordinate is there with probability p only.

    (L·λ/152)·|∇_1 F(0)|/p with L·λ/152 = 2δ, and p = min(1, (2δ·23/σ)²).
    """
    p = min(1.0, (2 * delta * LARGEST / sigma) ** 2)
    step = 1e-6
    ahead, behind = np.zeros(3), np.zeros(3)
    ahead[0], behind[0] = step, -step
    slope = abs(hard(ahead) - hard(behind)) / (2 * step)
    return 2 * delta * slope / p


@claim("theorem-4.2-reach", "paper", "central", "Section 4, Theorem 4.2")
def reach() -> Finding:
    """“For a stochastic non-convex problem satisfying assumptions in Theorem 4.1 … in
    the worst case any algorithm requires at least O(δ^-4) queries”

    A fixed M_f is no obstacle; a fixed M_g is, for this construction.
    """
    ceiling = (CEILING + DEPTH) / DEPTH
    seen = max(spread_per_dimension(T) for T in (5, 50, 500))
    largest = {delta: largest_gradient(delta, 1.0) for delta in (1e-2, 1e-3, 1e-4)}
    is_bounded = largest[1e-4] < 2 * largest[1e-2]
    is_flat = seen <= ceiling
    listed = ", ".join(f"{g:.2g} at δ = {delta:g}" for delta, g in largest.items())
    return Finding(
        "holds" if is_bounded and is_flat else "undecided" if is_flat else "fails",
        f"the hard problem of the cited proof has a ceiling (M_f - f* is at most "
        f"{ceiling:.1f} times what it has to descend), but the gradients of its oracle "
        f"are not bounded as δ → 0: ‖g‖ is {listed} (σ = 1), and Theorem 4.1 fixes "
        "M_g; a construction with bounded noise would decide",
        {
            "spread": ceiling,
            "spread seen": seen,
            **{str(d): g for d, g in largest.items()},
        },
    )
