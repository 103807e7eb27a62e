"""Student's interval, for the laboratory and the report alike."""

import math

from scipy import stats  # pyright: ignore[reportMissingTypeStubs]


def half_width(std: float, n: int, confidence: float = 0.95) -> float:
    """t·std/√n, with Student's t for n - 1 degrees of freedom."""
    t = float(stats.t.ppf((1 + confidence) / 2, n - 1))  # pyright: ignore
    return t * std / math.sqrt(n)
