"""How fast the average squared gradient falls: slopes measured over seeds.

    y(T) = 1/T·Σ_{t ≤ T} ‖∇f(x_t)‖²        slope = d log y/d log T
    z(t) = E‖∇f(x_t)‖²                     local slope = d log z/d log t

A rate of O(1/√T) is a slope of -½ for large T; O(log T/√T) is -½ + 1/log T at T. A
slope is fitted for each seed and its interval is Student's over the seeds; methods with
equal settings meet equal noise, so two methods are compared seed by seed.

y remembers the first steps as 1/T, so its slope is steeper than its limit for long. z
has the same limit (if z = t^-½ then y = 2·T^-½, and a logarithm in one is in the other)
and forgets. It is a mean over seeds before it is a slope, as the log of one seed's z
is biased; its interval is the jackknife's.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from acprop.checks import UserError
from acprop.intervals import half_width
from acprop.lab.arrays import Floats, Ints
from acprop.lab.descent import Walk, WalkSettings, walk
from acprop.lab.lines import horizons, line
from acprop.lab.methods import method
from acprop.lab.nonconvex import NonConvex, problem
from acprop.records import Curves, Line

ASYNC = ("acprop-paper", "adashift")
SYNC = ("adam", "rmsprop", "adabelief")
# An asynchronous method, and the one that differs from it only in the delay.
TWINS = (("acprop-paper", "rmsprop-centered"), ("adashift", "rmsprop"))
# ε large enough that the first step, α0·g/ε, does not leave the basin; β2 small enough
# that s forgets the slope of the start within the first tenth of the run.
SETTINGS = WalkSettings(alpha0=0.5, eta=0.5, steps=4000, eps=0.1, beta2=0.99, seeds=32)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Slope:
    """The measured slope of one method on one problem; one number for each seed.

    local: the jackknife's pseudo-values of the local slope; their mean is its estimate.
    """

    problem: str
    optimizer: str
    per_seed: tuple[float, ...]
    local: tuple[float, ...]

    @property
    def interval(self) -> Interval:
        """The slope's mean, with 95 % confidence."""
        return student(self.per_seed)

    @property
    def local_interval(self) -> Interval:
        """The local slope, with 95 % confidence."""
        return student(self.local)


@dataclass(frozen=True, slots=True)
class Rates:
    """curves: a panel for each problem, a line for each method. slopes: likewise."""

    curves: tuple[Curves, ...]
    slopes: tuple[Slope, ...]

    def slope(self, problem: str, optimizer: str) -> Slope:
        """Find a slope."""
        for found in self.slopes:
            if (found.problem, found.optimizer) == (problem, optimizer):
                return found
        raise KeyError(f"{optimizer} on {problem}")


def student(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """mean ± t·s/√n, with Student's t for n - 1 degrees of freedom."""
    n = len(values)
    if n < 2:
        raise UserError(f"values must be 2 or more for an interval, got {n}")
    mean, s = float(np.mean(values)), float(np.std(values, ddof=1))
    half = half_width(s, n, confidence)
    return Interval(mean, mean - half, mean + half)


def difference(first: Slope, second: Slope) -> Interval:
    """The local slope of the first less that of the second, seed by seed."""
    pairs = zip(first.local, second.local, strict=True)
    return student([a - b for a, b in pairs])


def fitted_horizons(steps: int, *, n: int = 16) -> Ints:
    """The horizons a slope is fitted to: from a tenth of the run to its end."""
    if steps < 20:
        raise UserError(f"steps must be 20 or more to fit a slope, got {steps}")
    return horizons(steps / 10, steps, n)


def slopes(run: Walk) -> tuple[float, ...]:
    """The least-squares slope of log y over log T, for each seed."""
    T = fitted_horizons(len(run.squared))
    return tuple(map(float, _fit(T, run.averages[T - 1])))


def _fit(x: Floats | Ints, y: Floats) -> Floats:
    """The least-squares slope of log y over log x, for each column of y."""
    return np.asarray(np.polyfit(np.log(x), np.log(y), 1)[0], np.float64)


def local_slopes(run: Walk) -> tuple[float, ...]:
    """Pseudo-values n·slope - (n - 1)·(slope without seed i), for each seed i."""
    edges = fitted_horizons(len(run.squared), n=9)
    t = np.sqrt(edges[:-1] * edges[1:])
    blocks = np.array(
        [run.squared[a:b].mean(axis=0) for a, b in pairwise(edges.tolist())]
    )
    n = blocks.shape[1]
    if n < 2:
        raise UserError(f"seeds must be 2 or more for a local slope, got {n}")
    total = np.sum(blocks, axis=1, keepdims=True)
    without = _fit(t, (total - blocks) / (n - 1))
    whole = _fit(t, total / n)
    return tuple(map(float, n * whole - (n - 1) * without))


def rates(
    problems: Sequence[NonConvex],
    optimizers: Sequence[str] = (*ASYNC, *SYNC, "sgd"),
    settings: WalkSettings = SETTINGS,
) -> Rates:
    """Run every method on every problem."""
    curves: list[Curves] = []
    found: list[Slope] = []
    for p in problems:
        lines: list[Line] = []
        for name in optimizers:
            run = walk(p, method(name), settings)
            found.append(Slope(p.name, name, slopes(run), local_slopes(run)))
            lines.append(_line(name, run))
        curves.append(_panel(p, settings, lines))
    return Rates(tuple(curves), tuple(found))


def records() -> list[Curves]:
    """The measured averages on the noisy problems."""
    names = ("cosine-noisy", "ratio", "waves")
    return list(rates([problem(name) for name in names]).curves)


def _line(name: str, run: Walk) -> Line:
    T = horizons(1, len(run.squared), 60)
    return line(name, T, np.mean(run.averages[T - 1], axis=1))


def _panel(p: NonConvex, settings: WalkSettings, lines: list[Line]) -> Curves:
    return Curves(
        name="rates",
        title=f"average squared gradient, {p.name}",
        x_label="T",
        y_label="1/T·Σ‖∇f(x_t)‖²",
        lines=tuple(lines),
        x_scale="log",
        y_scale="log",
        about={"problem": p.name, **asdict(settings)},
    )
