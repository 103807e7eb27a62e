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

import numpy as np

from acprop.lab.arrays import Array
from acprop.lab.curves import curves
from acprop.lab.methods import method
from acprop.lab.simulate import Trajectory, trajectory
from acprop.records import Curves
from acprop.rule import AUTHORS, Convention

X0 = 100.0
LEARNING_RATES = (1e-5, 1e-2)
OPTIMIZERS = ("acprop-paper", "adabelief", "adashift", "adam", "rmsprop", "sgd")
# At 1e-5 the centered methods need 11 600 steps to the valley, at 1e-2 the others
# need 10 000; at 1e-5 the others would need ten million.
STEPS = 15_000


@dataclass(frozen=True, slots=True)
class Absolute:
    """The problem, unconstrained; slope: that of |x| is the sign, 0 at 0."""

    x0: float = X0
    slope: Callable[[Array], Array] = np.sign
    lo: float = -math.inf
    hi: float = math.inf

    def gradient(self, t: int, x: Array) -> Array:
        """The gradient at x, whatever the step."""
        del t
        return self.slope(x)


def descend(
    name: str,
    *,
    learning_rates: tuple[float, ...] = LEARNING_RATES,
    convention: Convention = AUTHORS,
    beta1: float = 0.9,
    beta2: float = 0.999,
    steps: int = STEPS,
    slope: Callable[[Array], Array] = np.sign,
) -> Trajectory:
    """Run one optimizer from x_0, all learning rates at once."""
    return trajectory(
        Absolute(slope=slope),
        method(name),
        beta1=beta1,
        beta2=beta2,
        alpha0=learning_rates,
        convention=convention,
        steps=steps,
        eta=0.0,
    )


def largest_step(beta1: float, beta2: float) -> float:
    """x_0·(1 - max(√β2, β1)): the step at the crossing, as the learning rate → 0."""
    return X0 * (1 - max(math.sqrt(beta2), beta1))


def records() -> list[Curves]:
    """The paper's four panels: x and the step size, at either learning rate.

    Step sizes are thinned by the largest of every 50, so that no peak is lost.
    """
    runs = {name: descend(name) for name in OPTIMIZERS}
    t, panels = np.arange(50, STEPS + 1, 50), list[Curves]()
    for k, lr in enumerate(LEARNING_RATES):
        about = {"lr": lr, "x0": X0, "beta1": 0.9, "beta2": 0.999}
        about |= {"convention": AUTHORS.name, "steps": STEPS}
        paths = [
            (name, np.append(0, t), np.append(X0, run.x[t - 1, k]))
            for name, run in runs.items()
        ]
        title = f"trajectory on |x|, lr = {lr:g}"
        panels.append(curves("absolute", title, ("step t", "x"), paths, about=about))
        sizes = [
            (name, t, run.step_sizes[:, k].reshape(-1, 50).max(axis=1))
            for name, run in runs.items()
        ]
        title = f"step size on |x|, lr = {lr:g}"
        axes = "step t", "largest |x_t - x_{t-1}| of 50 steps"
        panels.append(curves("absolute", title, axes, sizes, log="y", about=about))
    return panels
