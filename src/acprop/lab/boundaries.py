"""The exact border of a region: the β2 at which the drift changes sign.

The drift is sampled over (0, 1), where both ends are stretched; every change of sign
is refined to `XTOL` by Brent's method. A pocket between two samples shows as a dip:
wherever the drift turns back before it reaches zero, its extremum is looked for too.

A rule that is centered on its average has no closed form. Where its state does not
settle the drift is a mean that jumps, so changes of sign are halved instead.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from acprop.lab.arrays import Array, Floats
from acprop.lab.drift import drift
from acprop.lab.methods import Method
from acprop.lab.problems import periodic
from acprop.records import Boundary, Crossing
from acprop.rule import PAPER, Convention, Rule

_scipy: Any = optimize  # its types are unknown to pyright
XTOL = 1e-12
# Below it the sign of a drift is rounding: RMSProp's tends to 0 with β2 on Eq. 2.
RESOLVED = 1e-12
# z = log β2/(1-β2): from β2 = 1e-9 to 1 - 1e-9, closer together than a pocket is wide.
LOGITS = np.linspace(-20.7, 20.7, 829)
HALVINGS = 10  # of 0.05: to 5e-5 in z


def boundary(
    problem: str,
    method: Method,
    *,
    beta1: float,
    periods: Sequence[int],
    convention: Convention = PAPER,
    eps: float | None = None,
) -> Boundary:
    """The border for each period, re-entrant pockets included."""

    def crossing(P: int) -> Crossing:
        at = periodic(problem, P)

        def towards(z: float | Floats) -> Array:
            return drift(at, method, convention, beta1=beta1, beta2=_beta2(z), eps=eps)

        samples = towards(LOGITS)
        if isinstance(method.rule, Rule) and method.rule.center == "average":
            roots = _halved(towards, samples)
        else:
            roots = _roots(lambda z: float(towards(z)), samples)
        first = samples[np.abs(samples) > RESOLVED][0]
        beta2 = tuple(sorted(float(_beta2(z)) for z in roots))
        return Crossing(P, "converges" if first > 0 else "diverges", beta2)

    crossings = tuple(map(crossing, periods))
    return Boundary(problem, method.name, beta1, convention.name, crossings)


def _beta2(z: float | Floats) -> Floats:
    return 1 / (1 + np.exp(-np.asarray(z)))


def _roots(f: Callable[[float], float], samples: Floats) -> list[float]:
    """All z at which f changes sign; `samples` are its values at `LOGITS`."""
    known = zip(LOGITS, samples, strict=True)
    knots = [(float(z), float(y)) for z, y in known if abs(y) > RESOLVED]
    knots = sorted([*knots, *_dips(f, knots)])
    return [
        float(_scipy.brentq(f, a, b, xtol=XTOL, rtol=8.9e-16))
        for (a, fa), (b, fb) in pairwise(knots)
        if (fa > 0) != (fb > 0)
    ]


def _halved(f: Callable[[Floats], Floats], samples: Floats) -> list[float]:
    """The same, all intervals at once, without dips between two samples."""
    known = np.abs(samples) > RESOLVED
    z, right = LOGITS[known], samples[known] > 0
    at = np.flatnonzero(right[:-1] != right[1:])
    low, high, below = z[at], z[at + 1], right[at]
    for _ in range(HALVINGS if len(at) else 0):
        middle = (low + high) / 2
        same = (f(middle) > 0) == below
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return ((low + high) / 2).tolist()


def _dips(
    f: Callable[[float], float], knots: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Where f, between two samples, crosses zero and comes back."""
    found: list[tuple[float, float]] = []
    for (a, fa), (_, fb), (c, fc) in zip(knots, knots[1:], knots[2:], strict=False):
        sign = 1.0 if fb > 0 else -1.0
        if sign * fb < min(sign * fa, sign * fc) - RESOLVED:

            def depth(z: float, sign: float = sign) -> float:
                return sign * f(z)

            low = _scipy.minimize_scalar(depth, bounds=(a, c), method="bounded")
            if low.fun < 0:
                found.append((float(low.x), sign * float(low.fun)))
    return found
