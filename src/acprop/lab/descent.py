"""Walk a method over a non-convex problem, many seeds at once.

    x_{t+1} = x_t - α_t·A_t·n_t        α_t = α0·t^-η        x_1 = x0

with g_t seen at x_t: the indices of the appendix. (Section 4 writes x_t = x_{t-1} - …,
by which g_t would be seen at a point that depends on it.) ε stands outside the root, as
in Section 4, and s_0 = 0, so A_1 = 1/ε for the asynchronous members.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from acprop import checks
from acprop.checks import UserError
from acprop.lab.arrays import Floats
from acprop.lab.methods import Method
from acprop.lab.nonconvex import NonConvex
from acprop.lab.steps import iterate
from acprop.reference import Settings, State
from acprop.rule import PAPER, Clip, Convention, Rule

SECTION_4 = replace(PAPER, name="section 4", eps_placement="outside")


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """The numbers of a walk. seeds: how many runs; seed: of the noise of all of them.

    Two methods with the same settings meet the same noise, so they can be paired.
    """

    alpha0: float
    eta: float = 0.5
    steps: int = 1000
    eps: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    amsgrad: bool = False
    seeds: int = 16
    seed: int = 0
    clip: Clip = None

    @property
    def b(self) -> float:
        """β1/(1 - β1): how many steps old a gradient is in m, on average."""
        return self.beta1 / (1 - self.beta1)

    def __post_init__(self) -> None:
        for name in ("alpha0", "eps"):
            checks.positive(name, getattr(self, name))
        for name in ("beta1", "beta2"):
            checks.decay(name, getattr(self, name))
        for name in ("steps", "seeds"):
            checks.integer(name, getattr(self, name))
        if not 0 <= self.eta <= 1:
            raise UserError(f"eta must be in [0, 1], got {self.eta}")


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """squared: ‖∇f(x_t)‖² as [t, seed]. A_min, A_max: of all t, seeds and elements.

    n_clipped: how many elements of how many steps were cut to the clip.
    """

    squared: Floats
    A_min: float
    A_max: float
    n_clipped: int = 0

    @property
    def average(self) -> float:
        """1/T·Σ‖∇f(x_t)‖², averaged over the seeds."""
        last: Floats = self.averages[-1]
        return float(np.mean(last))

    @property
    def error(self) -> float:
        """The standard error of the average; 0 for one seed."""
        last: Floats = self.averages[-1]
        spread = float(np.std(last, ddof=1)) if len(last) > 1 else 0.0
        return spread / math.sqrt(len(last))

    @property
    def above(self) -> float:
        """The average plus three standard errors."""
        return self.average + 3 * self.error

    @property
    def averages(self) -> Floats:
        """1/T·Σ_{t ≤ T} ‖∇f(x_t)‖² for every T, as [T, seed]."""
        T = np.arange(1, len(self.squared) + 1)[:, None]
        return np.cumsum(self.squared, axis=0) / T


def walk(
    problem: NonConvex,
    method: Method,
    h: WalkSettings,
    convention: Convention = SECTION_4,
) -> Walk:
    """Run the method from x0, once for each seed."""
    rng = np.random.default_rng(h.seed)
    settings = Settings(
        h.beta1, h.beta2, h.eps, amsgrad=h.amsgrad, clip=h.clip, axis=()
    )
    squared = np.empty((h.steps, h.seeds))
    A_min, A_max, n_clipped = np.inf, 0.0, 0

    def noisy(t: int, x: Floats) -> Floats:
        gradient = problem.gradient(x)
        squared[t - 1] = np.sum(gradient**2, axis=-1)
        return gradient + problem.noise.draw(rng, gradient)

    x0 = np.tile(np.array(problem.x0), (h.seeds, 1))
    moves = iterate(
        method,
        convention,
        settings,
        noisy,
        steps=h.steps,
        x0=x0,
        alpha0=h.alpha0,
        eta=h.eta,
    )
    for step, _ in moves:
        A = preconditioner(method, step.before, step.after, settings, convention)
        A_min, A_max = min(A_min, float(np.min(A))), max(A_max, float(np.max(A)))
        if h.clip is not None:
            bound = step.t**0.25 if isinstance(h.clip, str) else h.clip
            n_clipped += int(np.sum(np.abs(step.d) == bound))
    return Walk(squared, A_min, A_max, n_clipped)


def preconditioner(
    method: Method,
    old: State,
    new: State,
    h: Settings,
    convention: Convention = SECTION_4,
) -> Floats:
    """A_t = 1/(√s_k + ε), k = t - delay, or 1 for plain SGD; s_k may be a maximum.

    Algorithm 2 has ε inside the root.
    """
    if not isinstance(method.rule, Rule):
        if method.rule == "sgd":
            return np.ones(1)
        raise UserError(
            f"optimizer must be sgd or of the family to have a preconditioner, "
            f"got {method.name}"
        )
    if method.rule.delay > 1:
        raise UserError(f"delay must be 0 or 1, got {method.rule.delay}")
    seen = old if method.rule.delay else new
    # `new` holds the maximum that this very step has divided by.
    s = new.top if h.amsgrad or method.amsgrad else seen.s
    if convention.eps_placement == "inside":
        return 1 / np.sqrt(np.asarray(s) + h.eps)
    return 1 / (np.sqrt(np.asarray(s)) + h.eps)
