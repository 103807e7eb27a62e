"""f(x) = |x| from x_0 = 100, the noise-free test of Appendix C.

The gradient is 1 until x crosses 0, so the residual dies out like β1^t and the centered
denominator like r^t with r = max(√β2, β1). Steps grow by 1/r until x is used up, and
their sum is x_0: the last one before the crossing is about

    x_0·(1 - r)                     whatever the learning rate, if it is small

What happens at the very first step is a matter of convention: see `acprop.rule`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.lines import line
from acprop.lab.methods import method
from acprop.lab.steps import iterate
from acprop.records import Curves
from acprop.reference import Settings
from acprop.rule import AUTHORS, Convention

X0 = 100.0
LEARNING_RATES = (1e-5, 1e-2)
OPTIMIZERS = ("acprop-paper", "adabelief", "adashift", "adam", "rmsprop", "sgd")
# At 1e-5 the centered methods need 11 600 steps to the valley, at 1e-2 the others
# need 10 000; at 1e-5 the others would need ten million.
STEPS = 15_000


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """x_0 … x_T as [t, lr]; the step sizes are |x_t - x_{t-1}|."""

    optimizer: str
    learning_rates: tuple[float, ...]
    x: Floats

    @property
    def step_sizes(self) -> Floats:
        """[t, lr], t from 1."""
        return np.abs(np.diff(self.x, axis=0))

    @property
    def crossings(self) -> tuple[int | None, ...]:
        """The first t with x_t on the other side of 0, or None; one for each lr."""
        crossed = self.x <= 0
        return tuple(
            int(np.argmax(column)) if column.any() else None for column in crossed.T
        )


def descend(
    name: str,
    *,
    learning_rates: tuple[float, ...] = LEARNING_RATES,
    convention: Convention = AUTHORS,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float | None = None,
    steps: int = STEPS,
    gradient: Callable[[Floats], Floats] = np.sign,
) -> Descent:
    """Run one optimizer, all learning rates at once.

    gradient: that of |x| is the sign, 0 at 0; any other function may take its place.
    """
    x0 = np.full(len(learning_rates), X0)
    moves = iterate(
        method(name),
        convention,
        Settings(beta1=beta1, beta2=beta2, eps=eps, axis=()),
        lambda _, x: gradient(x),
        steps=steps,
        x0=x0,
        alpha0=np.array(learning_rates),
    )
    return Descent(name, learning_rates, np.stack([x0, *(x for _, x in moves)]))


def largest_step(beta1: float, beta2: float) -> float:
    """x_0·(1 - max(√β2, β1)): the step at the crossing, as the learning rate → 0."""
    return X0 * (1 - max(math.sqrt(beta2), beta1))


def records() -> list[Curves]:
    """The paper's four panels: x and the step size, at either learning rate."""
    runs = [descend(name) for name in OPTIMIZERS]
    return [
        panel(runs, column)
        for column in range(len(LEARNING_RATES))
        for panel in (_trajectory, _step_size)
    ]


def _about(lr: float) -> dict[str, Any]:
    return {
        "lr": lr,
        "x0": X0,
        "beta1": 0.9,
        "beta2": 0.999,
        "convention": AUTHORS.name,
        "steps": STEPS,
    }


def _trajectory(runs: list[Descent], column: int) -> Curves:
    t = np.arange(0, STEPS + 1, 50)
    lines = tuple(line(run.optimizer, t, run.x[t, column]) for run in runs)
    lr = LEARNING_RATES[column]
    title = f"trajectory on |x|, lr = {lr:g}"
    return Curves("absolute", title, "step t", "x", lines, about=_about(lr))


def _step_size(runs: list[Descent], column: int) -> Curves:
    """Thinned by the largest step of every 50, so that no peak is lost."""
    t = np.arange(50, STEPS + 1, 50)
    lines = tuple(
        line(run.optimizer, t, run.step_sizes[:, column].reshape(-1, 50).max(axis=1))
        for run in runs
    )
    lr = LEARNING_RATES[column]
    return Curves(
        "absolute",
        f"step size on |x|, lr = {lr:g}",
        "step t",
        "largest |x_t - x_{t-1}| of 50 steps",
        lines,
        y_scale="log",
        about=_about(lr),
    )
