"""Arrays as a panel of curves, thinned to what a figure can show."""

from collections.abc import Iterable

import numpy as np

from acprop.lab.arrays import Floats, Ints
from acprop.plain import Plain
from acprop.records import Curves, Line

POINTS = 2000  # more than a figure can show

# A label, x and y.
Points = tuple[str, Iterable[float], Iterable[float]]


def curves(
    name: str,
    title: str,
    axes: tuple[str, str],
    lines: Iterable[Points],
    *,
    log: str = "",
    y_range: tuple[float, float] | None = None,
    about: Plain | None = None,
) -> Curves:
    """A panel of plain numbers. log: the letters of the axes that are logarithmic."""
    return Curves(
        name,
        title,
        *axes,
        tuple(Line(label, _plain(x), _plain(y)) for label, x, y in lines),
        x_scale="log" if "x" in log else "linear",
        y_scale="log" if "y" in log else "linear",
        y_range=y_range,
        about=about or {},
    )


def _plain(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, values))


def over_steps(label: str, y: Floats) -> Points:
    """A line over t = 1, 2 …: the first hundred whole, then one step in so many."""
    stride = -(-len(y) // POINTS)
    kept = [i for i in range(len(y)) if i < 100 or i % stride == 0]
    return label, [i + 1 for i in kept], y[kept]


def horizons(first: float, last: int, n: int) -> Ints:
    """About n horizons T from the first to the last, evenly in log T."""
    return np.unique(np.geomspace(first, last, n).round().astype(np.int64))
