"""The stochastic counterexample of the appendix, after Theorem 3 of Reddi et al. 2018.

    f_t(x) = P·x   with probability (1 + δ)/(P + 1)
             -x    with probability (P - δ)/(P + 1)          x in [-1, 1], x* = -1

The expected gradient is δ > 0 and its second moment P + δ·(P - 1). An asynchronous
denominator does not depend on g_t, so inside the interval the expected move is exactly
-α_t·δ/den_t. At the border the projection changes it, and can reverse its sign.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from acprop.checks import UserError
from acprop.lab.arrays import Floats, Ints
from acprop.lab.lines import line
from acprop.lab.methods import Method, advance, method
from acprop.lab.steps import feed, iterate
from acprop.records import Curves, Line
from acprop.reference import Settings, State
from acprop.rule import PAPER

LO, HI, X0, X_STAR = -1.0, 1.0, 0.0, -1.0


@dataclass(frozen=True, slots=True)
class Stochastic:
    """delta: the expected gradient, above 0, so that x* is -1, and below P."""

    period: int
    delta: float

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
    def mean(self) -> float:
        """E g, summed over the outcomes; it is delta."""
        return sum(chance * g for g, chance in self.outcomes)

    @property
    def second_moment(self) -> float:
        """E g², summed over the outcomes; it is P + δ·(P - 1)."""
        return sum(chance * g**2 for g, chance in self.outcomes)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Independent gradients."""
        (high, chance), (low, _) = self.outcomes
        return np.where(rng.random(shape) < chance, high, low)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried: every β2 and every initial learning rate, each with every seed.

    eta: the learning rate of step t is alpha0·t^-eta.
    eps: None is that of Algorithm 2.
    """

    beta1: float = 0.9
    beta2: tuple[float, ...] = (0.999,)
    alpha0: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    seeds: int = 16
    eps: float | None = None
    steps: int = 10_000
    tail: int = 1_000
    eta: float = 0.5

    def __post_init__(self) -> None:
        if not 1 <= self.tail <= self.steps:
            raise UserError(
                f"tail must be between 1 and steps = {self.steps}, got {self.tail}"
            )

    @property
    def settings(self) -> Settings:
        """The lanes of m and s are [beta2, seed]."""
        beta2 = np.array(self.beta2)[:, None]
        return Settings(beta1=self.beta1, beta2=beta2, eps=self.eps, axis=())


def distances(problem: Stochastic, trial: Trial, name: str = "acprop-paper") -> Floats:
    """The mean of |x - x*| over the last steps: [alpha0, beta2, seed]."""
    far: Any = 0.0
    for t, x in _run(problem, trial, method(name)):
        if t > trial.steps - trial.tail:
            far = far + np.abs(x - X_STAR)
    return far / trial.tail


def trajectories(
    problem: Stochastic, trial: Trial, name: str = "acprop-paper", *, every: int = 1
) -> tuple[Ints, Floats]:
    """Every so many steps: t, and x as [t, alpha0, beta2, seed]."""
    kept = [(t, x) for t, x in _run(problem, trial, method(name)) if t % every == 0]
    return np.array([t for t, _ in kept]), np.stack([x for _, x in kept])


def _run(
    problem: Stochastic, trial: Trial, method: Method
) -> Iterator[tuple[int, Floats]]:
    """t, and x after step t as [alpha0, beta2, seed]."""
    gradients = _gradients(problem, trial)
    moves = iterate(
        method,
        PAPER,
        trial.settings,
        lambda _t, _x: next(gradients),
        steps=trial.steps,
        x0=np.full((len(trial.alpha0), len(trial.beta2), trial.seeds), X0),
        alpha0=np.array(trial.alpha0)[:, None, None],
        eta=trial.eta,
        lo=LO,
        hi=HI,
    )
    return ((step.t, x) for step, x in moves)


def _gradients(problem: Stochastic, trial: Trial) -> Iterator[Floats]:
    """One for each step and seed, the same for every method and β2."""
    rng = np.random.default_rng(0)
    for _ in range(trial.steps):
        yield problem.draw(rng, (1, trial.seeds))


def expected_move(
    problem: Stochastic,
    trial: Trial,
    state: State,
    alpha: float,
    *,
    name: str = "acprop-paper",
    x: float | None = None,
) -> Any:
    """E[x_t - x_{t-1} | past], by going through both outcomes of the next gradient.

    x: where x_{t-1} is in the interval; None means that there is no interval.
    """
    total: Any = 0.0
    for g, chance in problem.outcomes:
        gradient = np.full_like(state.s, g)
        _, d = advance(method(name), PAPER, state, gradient, trial.settings)
        move = -alpha * d if x is None else np.clip(x - alpha * d, LO, HI) - x
        total = total + chance * move
    return total


def states(problem: Stochastic, trial: Trial) -> Iterator[State]:
    """The states of a run, one after each step, with lanes [beta2, seed]."""
    gradients = (
        g + np.zeros((len(trial.beta2), 1)) for g in _gradients(problem, trial)
    )
    steps = feed(method("acprop-paper"), PAPER, trial.settings, gradients)
    return (step.after for step in steps)


class Drift(NamedTuple):
    """Per β2: the mean of -d_t once m and s are stationary, and its standard error.

    As α_t → 0 this alone says where x goes: if negative to x*, else to the other end.
    """

    mean: Floats
    error: Floats


def drift(problem: Stochastic, trial: Trial, name: str) -> Drift:
    """Average -d_t over the last trial.tail steps, independently for each seed."""
    total: Any = 0.0
    gradients = _gradients(problem, trial)
    for step in feed(method(name), PAPER, trial.settings, gradients):
        if step.t > trial.steps - trial.tail:
            total = total - step.d
    mean = total / trial.tail
    error = mean.std(axis=1, ddof=1) / np.sqrt(trial.seeds)
    return Drift(mean.mean(axis=1), error)


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
    return [_trajectories(Stochastic(50, 1.0)), _by_beta2(Stochastic(50, 1.0))]


def _about(problem: Stochastic, trial: Trial) -> dict[str, Any]:
    return {
        "period": problem.period,
        "delta": problem.delta,
        "beta1": trial.beta1,
        "convention": PAPER.name,
        "steps": trial.steps,
        "seeds": trial.seeds,
    }


def _trajectories(problem: Stochastic) -> Curves:
    trial = Trial(beta2=(0.9,), alpha0=(0.1,), seeds=64, steps=4_000)
    lines: list[Line] = []
    for name in OPTIMIZERS:
        t, x = trajectories(problem, trial, name, every=20)
        lines.append(line(name, t, x.mean(axis=-1)[:, 0, 0]))
    return Curves(
        "stochastic",
        f"x, mean of {trial.seeds} runs, P = {problem.period}, β2 = 0.9",
        "step t",
        "x (optimum -1)",
        tuple(lines),
        about={**_about(problem, trial), "beta2": 0.9, "alpha0": 0.1},
    )


def _by_beta2(problem: Stochastic) -> Curves:
    trial = Trial(beta2=BETA2)
    lines: list[Line] = []
    for name in ("acprop-paper", "adam"):
        for beta1 in (0.1, 0.9):
            table = distances(problem, replace(trial, beta1=beta1), name)
            best = table.mean(axis=-1).min(axis=0)
            lines.append(line(f"{name}, β1 = {beta1}", BETA2, best))
    return Curves(
        "stochastic",
        f"distance of the last {trial.tail} steps, best α0, P = {problem.period}",
        "β2",
        "mean |x - x*|",
        tuple(lines),
        y_scale="log",
        about={**_about(problem, trial), "beta1": [0.1, 0.9]},
    )
