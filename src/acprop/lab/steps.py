"""The one loop of the laboratory: a method takes one gradient after another.

`feed` is for gradients that are known beforehand, `iterate` for those that depend on x:

    x_t = clip(x_{t-1} - α0·t^-η·d_t, lo, hi)        g_t is seen at x_{t-1}
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from acprop.lab.methods import Method, advance
from acprop.reference import Array, Settings, State
from acprop.rule import Convention


class Step(NamedTuple):
    """One step: its gradient, its direction, and the state before and after it."""

    g: Array
    d: Array
    before: State
    after: State

    @property
    def t(self) -> int:
        """The number of the step, from 1."""
        return self.after.t


def feed(
    method: Method,
    convention: Convention,
    h: Settings,
    gradients: Iterable[Array],
    *,
    takes_first_step: bool = True,
) -> Iterator[Step]:
    """Give a method one gradient after another; as `advance` does."""
    state = State()
    for g in gradients:
        after, d = advance(
            method, convention, state, g, h, takes_first_step=takes_first_step
        )
        yield Step(g, d, state, after)
        state = after


def final_state(
    method: Method, convention: Convention, h: Settings, gradients: Iterable[Array]
) -> State:
    """The state after the last of the gradients."""
    state = State()
    for step in feed(method, convention, h, gradients):
        state = step.after
    return state


def iterate(
    method: Method,
    convention: Convention,
    h: Settings,
    gradient: Callable[[int, Array], Array],
    *,
    steps: int,
    x0: Array,
    alpha0: Array,
    eta: float = 0.0,
    lo: float = -inf,
    hi: float = inf,
    takes_first_step: bool = True,
) -> Iterator[tuple[Step, Array]]:
    """Move x along the directions of a method; yield every step, and x after it.

    gradient: of (t, x_{t-1}).
    """
    x = x0

    def gradients() -> Iterator[Array]:
        for t in range(1, steps + 1):
            yield gradient(t, x)  # x as it is by then

    for step in feed(
        method, convention, h, gradients(), takes_first_step=takes_first_step
    ):
        x = np.clip(x - alpha0 * step.t**-eta * step.d, lo, hi)
        yield step, x
