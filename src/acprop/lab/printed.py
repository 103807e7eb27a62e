"""The appendix's formulas as printed, right or wrong, to be compared with `limits`.

Section A.1 (dense) takes the residual against m_{t-1}; Algorithm 2 takes m_t, which
makes s smaller by β1². Section A.2 (sparse) goes forward with m_{t-1} and backward with
m_t. `docs/errata.md` lists the errors. Phases are offsets from kP: 0, 1 … or -1, -2 …
"""

import numpy as np

from acprop.lab.arrays import Array


def dense_mean_after(k: int, P: int, beta1: Array) -> Array:
    """m_kP for a finite k.

    -(1 - β1^kP) + (1 - β1)(P + 1)·β1^(P-1)·(1 - β1^((k-1)P)) / (1 - β1^P)
    """
    spikes = (1 - beta1 ** ((k - 1) * P)) / (1 - beta1**P)
    return -(1 - beta1 ** (k * P)) + (1 - beta1) * (P + 1) * beta1 ** (P - 1) * spikes


def dense_means(P: int, beta1: Array) -> dict[int, Array]:
    """lim m at kP, and at kP+1 … kP+4 from it."""
    m = ((P + 1) * beta1 ** (P - 1) - P * beta1**P - 1) / (1 - beta1**P)
    rest = -(1 - beta1)
    return {
        0: m,
        1: beta1 * m + (1 - beta1) * P,
        2: beta1**2 * m + (1 - beta1) * beta1 * P + rest,
        3: beta1**3 * m + (1 - beta1) * beta1**2 * P + rest * (beta1 + 1),
        4: beta1**4 * m + (1 - beta1) * beta1**3 * P + rest * (beta1**2 + beta1 + 1),
    }


def dense_centered(P: int, beta1: Array, beta2: Array) -> dict[int, Array]:
    """lim S at kP, and at kP+1 … kP+4 from it; infinite or NaN where β1² = β2."""
    m = dense_means(P, beta1)[0]
    spike, fall = (P - m) ** 2, (beta1 * (P - m) - (P + 1)) ** 2
    q = beta1**2 / beta2
    gain = 1 - beta2
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = beta2 ** (P - 2) * (1 - q ** (P - 1)) / (1 - q)
        S = gain / (1 - beta2**P) * (beta2 ** (P - 1) * spike + fall * tail)
    two = beta2 + beta1**2
    three = beta2**2 + beta2 * beta1**2 + beta1**4
    return {
        0: S,
        1: beta2 * S + gain * spike,
        2: beta2**2 * S + gain * beta2 * spike + gain * fall,
        3: beta2**3 * S + gain * beta2**2 * spike + gain * beta2 * fall * two,
        4: beta2**4 * S + gain * beta2**3 * spike + gain * beta2 * fall * three,
    }


def sparse_means(P: int, beta1: Array) -> dict[int, Array]:
    """lim m at kP, kP-1, kP-2 and kP-3, each from the one after it."""
    m = (1 - beta1) / (1 - beta1**P) * (P / 2 * beta1 ** (P - 1) - beta1**2)
    before = m / beta1**2
    return {0: m, -1: m / beta1, -2: before, -3: (before + (1 - beta1)) / beta1}


def sparse_uncentered(P: int, beta2: Array) -> dict[int, Array]:
    """lim v at kP, kP-1, kP-2 and kP-3."""
    v = (1 - beta2) / (1 - beta2**P) * (P**2 / 4 * beta2 ** (P - 1) + beta2**2)
    before = v / beta2**2
    return {0: v, -1: v / beta2, -2: before, -3: (before - (1 - beta2)) / beta2}


def sparse_centered(P: int, beta1: Array, beta2: Array) -> dict[int, Array]:
    """lim s at kP, kP-1, kP-2 and kP-3."""
    m = sparse_means(P, beta1)
    gain = 1 - beta2
    geometric = (beta2 ** (P - 5) - beta1 ** (2 * (P - 4)) * beta2) / (
        1 - beta1**2 * beta2
    )
    s = (
        gain
        / (1 - beta2**P)
        * (
            beta2 ** (P - 4) * (P / 2 - m[0]) ** 2
            + beta2**3 * geometric
            + beta2**2 * (m[-3] + 1) ** 2
            + beta2 * m[-2] ** 2
            + m[-1] ** 2
        )
    )
    one = (s - gain * m[0] ** 2) / beta2
    two = (one - gain * m[-1] ** 2) / beta2
    return {0: s, -1: one, -2: two, -3: (two - gain * (m[-2] + 1) ** 2) / beta2}


def forms(
    problem: str, P: int, beta1: Array, beta2: Array
) -> dict[str, dict[int, Array]]:
    """All that is printed of the limits of m, v and s, by offset from kP."""
    if problem == "dense":
        return {
            "m": dense_means(P, beta1),
            "v": {},
            "s": dense_centered(P, beta1, beta2),
        }
    return {
        "m": sparse_means(P, beta1),
        "v": sparse_uncentered(P, beta2),
        "s": sparse_centered(P, beta1, beta2),
    }
