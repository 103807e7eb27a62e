"""The generalized harmonic sum in the proof of Theorem 4.1, and its expression.

    Σ_{k≤N} k^-η  =  ζ(η) + N^(1-η)/(1-η) + ½·N^-η  -  (η/12)·N^(-η-1)  +  …

The paper drops the last terms and measures what that costs. Two errors must be kept
apart: that of the expression, which `expression_error` has without any cancellation,
and that of adding ten million float64 numbers, which for large N is the larger one.
"""

import math
from collections.abc import Sequence

import numpy as np

from acprop import checks
from acprop.lab.arrays import Floats
from acprop.lab.curves import curves
from acprop.records import Curves

ETAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999)  # "from 0.5 to 0.999"
SIZES = tuple(round(10 ** (e / 4)) for e in range(12, 29))  # "10³ to 10⁷, log-grid"
# B_2j/(2j)! of Euler and Maclaurin, j = 1, 2, 3
_SERIES = (1 / 12, -1 / 720, 1 / 30240)
_BLOCK = 4096


def expression_error(eta: float, n: float) -> float:
    """By how much the expression is too large: the next terms of Euler and Maclaurin.

        (η/12)·n^(-η-1) - η(η+1)(η+2)/720·n^(-η-3) + …

    k^-η and all its derivatives are monotone, so the terms bracket the truth: the
    first that is left out bounds what is missing.
    """
    checks.between("eta", eta)
    total, rising = 0.0, eta
    for j, weight in enumerate(_SERIES, 1):
        total += weight * rising * n ** (-eta - 2 * j + 1)
        rising *= (eta + 2 * j - 1) * (eta + 2 * j)
    return total


def sums(eta: float, sizes: Sequence[int]) -> Floats:
    """Σ_{k≤N} k^-η for every N, correct to about one unit in the last place.

    Blocks are added pairwise and the blocks' sums without rounding (math.fsum).
    """
    checks.between("eta", eta)
    done, parts, out = 0, [0.0], dict[int, float]()
    for n in sorted(set(sizes)):
        terms = np.arange(done + 1, n + 1, dtype=np.float64) ** -eta
        starts = np.arange(0, len(terms), _BLOCK)
        parts.extend(float(terms[i : i + _BLOCK].sum()) for i in starts)
        # A few parts that add up to the same: fsum stays short for the next N.
        whole = math.fsum(parts)
        parts = [whole, math.fsum([*parts, -whole])]
        done, out[n] = n, whole
    return np.array([out[n] for n in sizes])


def naive_sums(eta: float, sizes: Sequence[int]) -> Floats:
    """The same added one by one, as a loop would: the rounding errors pile up."""
    checks.between("eta", eta)
    terms = np.arange(1, max(sizes) + 1, dtype=np.float64) ** -eta
    return np.cumsum(terms)[np.array(sizes) - 1]


def records() -> list[Curves]:
    """The expression's error against N, against η, relatively, and against rounding."""
    exact = {eta: sums(eta, SIZES) for eta in ETAS}
    errors = {eta: np.array([expression_error(eta, n) for n in SIZES]) for eta in ETAS}
    fine = np.linspace(0.5, 0.999, 100).tolist()
    by_n = [(f"η = {e}", SIZES, error) for e, error in errors.items()]
    by_eta = [
        (f"N = 10^{power}", fine, [expression_error(e, 10.0**power) for e in fine])
        for power in (3, 4, 5, 6, 7)
    ]
    relative = [(f"η = {e}", SIZES, errors[e] / exact[e]) for e in ETAS]
    rounding = [
        (f"η = {e}", SIZES, np.abs(naive_sums(e, SIZES) - exact[e])) for e in (0.5, 0.9)
    ]
    panels = (
        ("error of the expression", ("N", "expression - sum"), by_n),
        ("error of the expression, by η", ("η", "expression - sum"), by_eta),
        ("relative error of the expression", ("N", "(expression - sum)/sum"), relative),
        ("rounding error of a plain float64 loop", ("N", "|loop - sum|"), rounding),
    )
    about = {"etas": list(ETAS), "sizes": list(SIZES)}
    return [
        curves(
            "harmonic",
            title,
            axes,
            lines,
            log="y" if axes[0] == "η" else "xy",
            about=about,
        )
        for title, axes, lines in panels
    ]
