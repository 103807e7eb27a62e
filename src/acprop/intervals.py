"""95 % intervals of a mean: Student's for few values, the bootstrap's for more.

    Student     mean ± t·std/√n                    t = t(0.975, n - 1)
    bootstrap   from the share Φ(-√(n/(n - 1))·t) of the means of n values drawn again
                to the same share from above: Hesterberg's expanded percentiles

A percentile interval lies between the lowest and the highest value, and with n values
these have the median between them in 1 - 2^(1 - n) of all cases: 75 % of three, 94 % of
five, 99 % of eight. No bootstrap can do better, so it begins at eight. The expansion
mends what plain percentiles lack there; docs/protocol.md has what was measured.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

CONFIDENCE = 0.95
FEWEST = 8  # values for a bootstrap
_RESAMPLES = 9999


def half_width(std: float, n: int) -> float:
    """t·std/√n, with Student's t for n - 1 degrees of freedom."""
    return _t(n) * std / math.sqrt(n)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the mean lies; NaN for fewer than two values."""
    return _interval(tuple(map(float, values)))


@lru_cache(maxsize=4096)  # a table asks for the same one several times
def _interval(values: tuple[float, ...]) -> tuple[float, float]:
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    if n >= FEWEST:
        return bootstrap(values)
    mean = float(np.mean(values))
    half = half_width(float(np.std(values, ddof=1)), n)
    return mean - half, mean + half


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Expanded percentiles of resampled means; the same values give the same ends."""
    level = 1 - 2 * expanded_share(len(values))
    found = stats.bootstrap(  # pyright: ignore
        (np.asarray(values, float),),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=level,
        method="percentile",
        rng=0,
    ).confidence_interval  # pyright: ignore
    return float(found.low), float(found.high)  # pyright: ignore


def expanded_share(n: int) -> float:
    """The share of resampled means that is left out at either end."""
    reach = math.sqrt(n / (n - 1)) * _t(n)
    return float(stats.norm.cdf(-reach))  # pyright: ignore


def _t(n: int) -> float:
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))  # pyright: ignore
