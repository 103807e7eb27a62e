"""The stochastic counterexample of the appendix, after Theorem 3 of Reddi et al. 2018.

    f_t(x) = P·x   with probability (1 + δ)/(P + 1)
             -x    with probability (P - δ)/(P + 1)          x in [-1, 1], x* = -1

The expected gradient is δ > 0 and its second moment P + δ·(P - 1). An asynchronous
denominator does not depend on g_t, so inside the interval the expected move is exactly
-α_t·δ/den_t. At the border the projection changes it, and can reverse its sign.
"""

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from acprop.checks import UserError
from acprop.lab.arrays import Floats, Ints
from acprop.lab.curves import Points, curves
from acprop.lab.methods import advance, method
from acprop.lab.problems import Problem
from acprop.lab.simulate import Sweep, distances, lanes
from acprop.records import Curves
from acprop.reference import State
from acprop.rule import PAPER

LO, HI, X0, X_STAR = -1.0, 1.0, 0.0, -1.0


@dataclass(frozen=True, slots=True)
class Stochastic:
    """delta: the expected gradient, above 0, so that x* is -1, and below P.

    seeds: how many runs there are of it.
    """

    period: int
    delta: float
    seeds: int = 16

    def __post_init__(self) -> None:
        if self.period < 3:
            raise UserError(
                f"period must be 3 or more on the stochastic problem, got {self.period}"
            )
        if not 0 < self.delta < self.period:
            raise UserError(
                f"delta must be above 0 and below period = {self.period}, "
                f"got {self.delta}"
            )

    @property
    def outcomes(self) -> tuple[tuple[float, float], ...]:
        """The two gradients, each with its probability."""
        P = self.period
        return (P, (1 + self.delta) / (P + 1)), (-1.0, (P - self.delta) / (P + 1))

    @property
    def second_moment(self) -> float:
        """E g², summed over the outcomes; it is P + δ·(P - 1)."""
        return sum(chance * g**2 for g, chance in self.outcomes)

    def runs(self, steps: int, seed: int = 0) -> list[Problem]:
        """Each drawn, as a problem whose first period is longer than the run."""
        (high, chance), (low, _) = self.outcomes
        rng = np.random.default_rng(seed)
        drawn = np.where(rng.random((steps, self.seeds)) < chance, high, low)
        return [
            Problem("stochastic", np.append(0.0, g), 0.0, LO, HI, X0, X_STAR)
            for g in drawn.T
        ]


def trajectories(
    problem: Stochastic, sweep: Sweep, *, every: int = 1
) -> tuple[Ints, Floats]:
    """Every so many steps: t, and x as [t, alpha0, seed, beta2]."""
    moves = lanes(problem.runs(sweep.steps), sweep, sweep.methods[0])
    kept = [(step.t, x) for step, x in moves if step.t % every == 0]
    return np.array([t for t, _ in kept]), np.stack([x for _, x in kept])


def states(problem: Stochastic, sweep: Sweep) -> list[State]:
    """The states of all runs, one after each step; s is [seed, beta2]."""
    moves = lanes(problem.runs(sweep.steps), sweep, sweep.methods[0])
    return [step.after for step, _ in moves]


def expected_move(
    problem: Stochastic,
    sweep: Sweep,
    state: State,
    alpha: float,
    *,
    x: float | None = None,
) -> Any:
    """E[x_t - x_{t-1} | past], by going through both outcomes of the next gradient.

    x: where x_{t-1} is in the interval; None means that there is no interval.
    """
    total: Any = 0.0
    for g, chance in problem.outcomes:
        gradient = np.full_like(state.s, g)
        _, d = advance(sweep.methods[0], PAPER, state, gradient, sweep.settings)
        move = -alpha * d if x is None else np.clip(x - alpha * d, LO, HI) - x
        total = total + chance * move
    return total


class Drift(NamedTuple):
    """Per β2: the mean of -d_t once m and s are stationary, and its standard error.

    As α_t → 0 this alone says where x goes: if negative to x*, else to the other end.
    """

    mean: Floats
    error: Floats


def drift(problem: Stochastic, sweep: Sweep) -> Drift:
    """Average -d_t over the last sweep.tail steps, independently for each seed."""
    total: Any = 0.0
    for step, _ in lanes(problem.runs(sweep.steps), sweep, sweep.methods[0]):
        if step.t > sweep.steps - sweep.tail:
            total = total - step.d
    mean = total / sweep.tail
    error = mean.std(axis=0, ddof=1) / np.sqrt(problem.seeds)
    return Drift(mean.mean(axis=0), error)


def averaged_bound(
    problem: Stochastic, alpha0: float, steps: float, *, eps: float, beta1: float
) -> float:
    """Bound the mean of E|x_{t-1} - x*| with weights α_t = α0/√t; den = √(s + ε).

        (|x_0 - x*|² + E[g²]/ε·Σα_t²) · √(β1²(P + 1)² + ε) / (2·δ·Σα_t)

    A projection never moves x away from x*, so |x_t - x*|² falls in expectation by
    2·α_t·δ·|x - x*|/den_t less α_t²·E[g²]/den_t²; sum over t, with √ε ≤ den_t.
    Σ1/√t ≥ 2·(√(T + 1) - 1) and Σ1/t ≤ 1 + ln T: it goes to 0, whatever β1 and β2.
    """
    sum1 = alpha0 * 2 * (np.sqrt(steps + 1) - 1)
    sum2 = alpha0**2 * (1 + np.log(steps))
    den = np.sqrt(beta1**2 * (problem.period + 1) ** 2 + eps)
    top = (X0 - X_STAR) ** 2 + problem.second_moment / eps * sum2
    return float(top * den / (2 * problem.delta * sum1))


class Decay(NamedTuple):
    """E exp(-λ·g/den) ≤ 1 - κ, whatever den between √ε and D is.

    λ = δ·√ε/(e·E[g²])      κ = λ·δ/(2·D)      D = √(β1²(P + 1)² + ε)
    """

    rate: float
    kappa: float
    D: float


def decay(problem: Stochastic, *, eps: float, beta1: float) -> Decay:
    """How fast the exponential moment of a distance falls in one step."""
    D = math.sqrt(beta1**2 * (problem.period + 1) ** 2 + eps)
    rate = problem.delta * math.sqrt(eps) / (math.e * problem.second_moment)
    return Decay(rate, rate * problem.delta / (2 * D), D)


def last_iterate_bound(
    problem: Stochastic, alpha0: float, t: float, *, eps: float, beta1: float
) -> float:
    """Bound E|x_t - x*| itself, for every t ≥ 1, every β2 and α_t = α0/√t.

        max(2·√(3τ), α0/λ·ln(2 + 2/κ)) / √t        τ = ⌈(4·D/(α0·δ))²⌉

    E exp(λ·|x_t - x*|/α_t) stays bounded: a step multiplies it by at most 1 - κ and
    adds 1, and a falling α_t by at most e^(κ/2) from t = τ on, as |x - x*| ≤ 2.
    """
    rate, kappa, D = decay(problem, eps=eps, beta1=beta1)
    tau = math.ceil((4 * D / (alpha0 * problem.delta)) ** 2)
    settled = alpha0 / rate * math.log(2 + 2 / kappa)
    return max(2 * math.sqrt(3 * tau), settled) / math.sqrt(t)


OPTIMIZERS = ("acprop-paper", "adashift", "adam", "rmsprop", "adabelief")
BETA2 = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 0.999)


def records() -> list[Curves]:
    """Trajectories where Adam fails, and how far from x* the best α0 ends, by β2."""
    problem, lines = Stochastic(50, 1.0, seeds=64), list[Points]()
    for name in OPTIMIZERS:
        sweep = Sweep((method(name),), 0.9, (0.9,), (0.1,), steps=4_000)
        t, x = trajectories(problem, sweep, every=20)
        lines.append((name, t, x.mean(axis=2)[:, 0, 0]))
    about = {"period": 50, "delta": 1.0, "convention": PAPER.name}
    betas = {"beta1": 0.9, "beta2": 0.9}
    paths = curves(
        "stochastic",
        "x, mean of 64 runs, P = 50, β2 = 0.9",
        ("step t", "x (optimum -1)"),
        lines,
        about={**about, **betas, "alpha0": 0.1, "steps": 4_000, "seeds": 64},
    )
    runs, lines = replace(problem, seeds=16).runs(10_000), list[Points]()
    for name, beta1 in product(("acprop-paper", "adam"), (0.1, 0.9)):
        far = distances(runs, Sweep((method(name),), beta1, BETA2))[0]
        best = far.mean(axis=1).min(axis=0)
        lines.append((f"{name}, β1 = {beta1}", BETA2, best))
    ends = curves(
        "stochastic",
        "distance of the last 1000 steps, best α0, P = 50",
        ("β2", "mean |x - x*|"),
        lines,
        log="y",
        about={**about, "beta1": [0.1, 0.9], "steps": 10_000, "seeds": 16},
    )
    return [paths, ends]
