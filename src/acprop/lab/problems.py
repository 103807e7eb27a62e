"""The paper's counterexamples: gradients that repeat, on an interval.

The loss of step t is f_t(x) = c_t·x, so its gradient c_t does not depend on x, and
repeats with period P. What the optimizer should do is given by the sum over a period.
"""

from dataclasses import dataclass, replace

import numpy as np

from acprop import checks
from acprop.checks import UserError
from acprop.lab.arrays import Array, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A periodic linear problem: the gradient of step t is cycle[t % period].

    rest: the gradient at all phases but a few; the others are its impulses.
    """

    name: str
    cycle: Floats
    rest: float
    lo: float
    hi: float
    x0: float
    x_star: float

    def __post_init__(self) -> None:
        if not self.lo <= self.x0 <= self.hi:
            raise UserError(
                f"x0 must be in [{self.lo:g}, {self.hi:g}], got {self.x0:g}"
            )

    @property
    def period(self) -> int:
        """P, the length of the cycle."""
        return len(self.cycle)

    def gradient(self, t: int, x: Array) -> float:
        """The gradient of step t, which does not depend on x."""
        del x
        return float(self.cycle[t % len(self.cycle)])

    @property
    def impulses(self) -> tuple[int, ...]:
        """The phases t mod P whose gradient is not `rest`, ascending."""
        return tuple(int(t) for t in np.flatnonzero(self.cycle != self.rest))


def dense(period: int) -> Problem:
    """Eq. 1: P if t mod P = 1, else -1; on [-1, 1]; a period's sum is 1: x* = -1."""
    if period < 3:
        raise UserError(f"period must be 3 or more on the dense problem, got {period}")
    cycle = np.full(period, -1.0)
    cycle[1] = period
    return Problem("dense", cycle, rest=-1.0, lo=-1.0, hi=1.0, x0=0.0, x_star=-1.0)


def sparse(period: int) -> Problem:
    """Eq. 2: P/2 if t mod P = 1, -1 if t mod P = P - 2, else 0; on [0, 1]; x* = 0."""
    if period < 4:
        raise UserError(f"period must be 4 or more on the sparse problem, got {period}")
    cycle = np.zeros(period)
    cycle[1] = period / 2
    cycle[period - 2] = -1.0
    return Problem("sparse", cycle, rest=0.0, lo=0.0, hi=1.0, x0=0.5, x_star=0.0)


PERIODIC = {"dense": dense, "sparse": sparse}


def periodic(name: str, period: int, *, x0: float | None = None) -> Problem:
    """Find a periodic problem by its name; x0: where it starts, if not at its own."""
    found = PERIODIC[checks.one_of("problem", name, PERIODIC)](period)
    return found if x0 is None else replace(found, x0=x0)
