"""Arrays as the lines of a record, thinned to what a figure can show."""

from collections.abc import Iterable

import numpy as np

from acprop.lab.arrays import Ints
from acprop.records import Line

POINTS = 2000  # more than a figure can show


def line(label: str, x: Iterable[float], y: Iterable[float]) -> Line:
    """A line through the points (x, y), as plain numbers."""
    return Line(label, tuple(map(float, x)), tuple(map(float, y)))


def every(steps: int) -> int:
    """Keep one step in so many."""
    return max(1, -(-steps // POINTS))


def thinned(label: str, y: Iterable[float], stride: int, first: int = 1) -> Line:
    """A line over the step t: the first hundred whole, then one step in `stride`."""
    kept = [
        (first + i, value) for i, value in enumerate(y) if i < 100 or i % stride == 0
    ]
    return line(label, (t for t, _ in kept), (value for _, value in kept))


def horizons(first: float, last: int, n: int) -> Ints:
    """About n horizons T from the first to the last, evenly in log T."""
    return np.unique(np.geomspace(first, last, n).round().astype(np.int64))
