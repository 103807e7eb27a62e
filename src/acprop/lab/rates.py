"""How fast the squared gradient falls: slopes measured over seeds.

    y(T) = 1/T·Σ_{t ≤ T} ‖∇f(x_t)‖²        what the theorems bound
    z(t) = E‖∇f(x_t)‖²                     local slope = d log z/d log t

A rate of O(1/√T) is a slope of -½ for large T; O(log T/√T) is -½ + 1/log T at T. y
remembers the first steps as 1/T, so its slope is steeper than its limit for long. z has
the same limit (if z = t^-½ then y = 2·T^-½, and a logarithm in one is in the other) and
forgets. It is a mean over seeds before it is a slope, as the log of one seed's z is
biased; its interval is the jackknife's. Methods with equal settings meet equal noise,
so two methods are compared seed by seed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from acprop.checks import UserError
from acprop.intervals import half_width
from acprop.lab.arrays import Floats
from acprop.lab.curves import Points, curves, horizons
from acprop.lab.descent import Walk, WalkSettings, walk
from acprop.lab.methods import method
from acprop.lab.nonconvex import problem
from acprop.records import Curves

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


def student(values: Sequence[float] | Floats) -> Interval:
    """mean ± t·s/√n, with 95 % confidence."""
    n = len(values)
    if n < 2:
        raise UserError(f"values must be 2 or more for an interval, got {n}")
    mean, s = float(np.mean(values)), float(np.std(values, ddof=1))
    half = half_width(s, n)
    return Interval(mean, mean - half, mean + half)


def _fit(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of log y over log x, for each column of y."""
    return np.asarray(np.polyfit(np.log(x), np.log(y), 1)[0], np.float64)


def local_slopes(run: Walk) -> Floats:
    """Pseudo-values n·slope - (n - 1)·(slope without seed i), for each seed i.

    Over the last nine tenths of the run, 20 steps or more; their mean is the estimate.
    """
    edges = horizons(len(run.squared) / 10, len(run.squared), 9)
    t = np.sqrt(edges[:-1] * edges[1:])
    blocks = np.array(
        [run.squared[a:b].mean(axis=0) for a, b in pairwise(edges.tolist())]
    )
    n = blocks.shape[1]
    total = np.sum(blocks, axis=1, keepdims=True)
    without = _fit(t, (total - blocks) / (n - 1))
    whole = _fit(t, total / n)
    return n * whole - (n - 1) * without


def records() -> list[Curves]:
    """The measured averages on the noisy problems."""
    return [_panel(name) for name in ("cosine-noisy", "ratio", "waves")]


def _panel(name: str) -> Curves:
    T, lines = horizons(1, SETTINGS.steps, 60), list[Points]()
    for optimizer in (*ASYNC, *SYNC, "sgd"):
        run = walk(problem(name), method(optimizer), SETTINGS)
        lines.append((optimizer, T, np.mean(run.averages[T - 1], axis=1)))
    title, axes = f"average squared gradient, {name}", ("T", "1/T·Σ‖∇f(x_t)‖²")
    about = {"problem": name, **asdict(SETTINGS)}
    return curves("rates", title, axes, lines, log="xy", about=about)
