"""Noisy non-convex problems that meet the assumptions of Theorem 4.1, constants known.

The theorem asks for f* ≤ f ≤ M_f, a gradient that is Lipschitz with L, and a noisy one
with E[g | x] = ∇f(x), E‖g - ∇f(x)‖² ≤ σ² and ‖g‖ ≤ M_g. Here they are closed forms:

    cosine  f = 1 - cos x               0 ≤ f ≤ 2    |∇f| ≤ 1            L = 1
    ratio   f = x²/(1 + x²)             0 ≤ f ≤ 1    |∇f| ≤ 9/(8√3)      L = 2
    well    f = 1 - exp(-‖x‖²/2)        0 ≤ f ≤ 1    ‖∇f‖ ≤ e^-½         L = 1
    waves   f = Σ 1 - cos x_i + ¼·sin x_i·sin x_{i+1}  (a ring of d)
                                        0 ≤ f ≤ 2d   ‖∇f‖ ≤ 3/2·√d       L = 2

waves: 2·|sin a·sin b| ≤ sin² a + sin² b and sin² ≤ 2·(1 - cos) give the range; the rows
of its Hessian sum to at most 1 + 4·¼.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acprop import checks
from acprop.lab.arrays import Floats


@dataclass(frozen=True, slots=True)
class Noise:
    """What is added to ∇f(x), independently of the past; its mean is 0.

    none        0
    rademacher  ±scale, each element by itself
    uniform     uniform on ±scale, each element by itself
    skewed      each element 9·scale with probability 1/10, else -scale
    dropout     ±∇f(x), one sign for all elements: the gradient is doubled or 0
    """

    kind: Literal["none", "rademacher", "uniform", "skewed", "dropout"] = "none"
    scale: float = 0.0

    def draw(self, rng: np.random.Generator, gradient: Floats) -> Floats:
        """One δ for each row of the gradient [lane, element]."""
        shape = gradient.shape
        if self.kind == "rademacher":
            return self.scale * _signs(rng, shape)
        if self.kind == "uniform":
            return rng.uniform(-self.scale, self.scale, shape)
        if self.kind == "skewed":
            return self.scale * np.where(rng.random(shape) < 0.1, 9.0, -1.0)
        if self.kind == "dropout":
            return gradient * _signs(rng, (*shape[:-1], 1))
        return np.zeros(shape)

    def variance(self, steepest: float, dimension: int) -> float:
        """σ²: the largest E‖δ‖², where ‖∇f‖ ≤ steepest."""
        if self.kind == "dropout":
            return steepest**2
        return _MOMENTS[self.kind][0] * self.scale**2 * dimension

    def reach(self, steepest: float, dimension: int) -> float:
        """The largest ‖δ‖, where ‖∇f‖ ≤ steepest."""
        if self.kind == "dropout":
            return steepest
        return _MOMENTS[self.kind][1] * self.scale * math.sqrt(dimension)


# The variance of an element over scale², and its largest value over scale.
_MOMENTS = {
    "none": (0.0, 0.0),
    "rademacher": (1.0, 1.0),
    "uniform": (1 / 3, 1.0),
    "skewed": (9.0, 9.0),
}


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class NonConvex:
    """A problem with its constants; f and gradient take points as rows [lane, element].

    steepest: the largest ‖∇f‖.
    """

    name: str
    f: Callable[[Floats], Floats]
    gradient: Callable[[Floats], Floats]
    x0: tuple[float, ...]
    M_f: float
    L: float
    steepest: float
    noise: Noise
    f_star: float = 0.0

    @property
    def dimension(self) -> int:
        """d, the number of elements of x."""
        return len(self.x0)

    @property
    def sigma(self) -> float:
        """σ: the noise has E‖g - ∇f‖² ≤ σ²."""
        return math.sqrt(self.noise.variance(self.steepest, self.dimension))

    @property
    def M_g(self) -> float:  # noqa: N802 - the paper's letter
        """M_g: the noisy gradient has ‖g‖ ≤ M_g, always."""
        return self.steepest + self.noise.reach(self.steepest, self.dimension)


def _depth(x: Floats) -> Floats:
    return np.exp(-np.sum(x**2, axis=-1, keepdims=True) / 2)


def _neighbours(x: Floats) -> Floats:
    return np.sin(np.roll(x, 1, axis=-1)) + np.sin(np.roll(x, -1, axis=-1))


# From where the slope is largest.
_COSINE = NonConvex(
    "cosine",
    f=lambda x: np.sum(1 - np.cos(x), axis=-1),
    gradient=np.sin,
    x0=(math.pi / 2,),
    M_f=2.0,
    L=1.0,
    steepest=1.0,
    noise=Noise(),
)
# From the flat side of its inflection.
_RATIO = NonConvex(
    "ratio",
    f=lambda x: np.sum(x**2 / (1 + x**2), axis=-1),
    gradient=lambda x: 2 * x / (1 + x**2) ** 2,
    x0=(2.0,),
    M_f=1.0,
    L=2.0,
    steepest=9 / (8 * math.sqrt(3)),
    noise=Noise("uniform", 0.5),
)
_WELL = NonConvex(
    "well",
    f=lambda x: 1 - _depth(x)[..., 0],
    gradient=lambda x: x * _depth(x),
    x0=(1.0, -1.0),
    M_f=1.0,
    L=1.0,
    steepest=math.exp(-0.5),
    noise=Noise("rademacher", 0.25),
)
_WAVES = NonConvex(
    "waves",
    f=lambda x: np.sum(1 - np.cos(x) + np.sin(x) * _neighbours(x) / 8, axis=-1),
    gradient=lambda x: np.sin(x) + np.cos(x) * _neighbours(x) / 4,
    x0=(2.0, -1.0, 1.0, 2.5),
    M_f=2.0 * 4,
    L=2.0,
    steepest=1.5 * math.sqrt(4),
    noise=Noise("uniform", 1.0),
)

PROBLEMS = {
    p.name: p
    for p in (
        _COSINE,
        replace(_COSINE, name="cosine-noisy", noise=Noise("rademacher", 0.5)),
        replace(_COSINE, name="cosine-skewed", noise=Noise("skewed", 0.3)),
        replace(_COSINE, name="cosine-dropout", noise=Noise("dropout")),
        _RATIO,
        _WELL,
        _WAVES,
    )
}


def problem(name: str) -> NonConvex:
    """Find a problem by its name."""
    return PROBLEMS[checks.one_of("problem", name, PROBLEMS)]
