"""Where trials stand in the unit cube: scrambled Sobol points.

The same points for every optimizer, each taking the coordinates that its space has: no
one's trials lie better than another's. A design has a version; its points never change.
"""

import math

from scipy.stats import qmc  # pyright: ignore[reportMissingTypeStubs]

from acprop import checks
from acprop.bench.spaces import COORDINATES

SOBOL = "sobol-1"
_SEED = 2021  # of the scrambling, part of the version


def sobol(n: int) -> list[dict[str, float]]:
    """The first n points; more of them begin with the same ones."""
    checks.integer("trials", n)
    made = qmc.Sobol(len(COORDINATES), scramble=True, rng=_SEED)  # pyright: ignore
    points = made.random_base2(math.ceil(math.log2(n)))[:n]  # pyright: ignore
    return [
        dict(zip(COORDINATES, map(float, point), strict=True))  # pyright: ignore
        for point in points  # pyright: ignore
    ]
