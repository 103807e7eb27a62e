"""The learning rate's factor as a pure function of the step: nothing to save or resume.

Steps count from 0, lr at a step is the initial lr times the factor:

    constant      1
    step          by^n                           n = how many of `at` have passed
    inverse-sqrt  min(t/W, √(W/t))               t = step + 1, W = warmup
    cosine        t/W                            t ≤ W, W = warmup·total, rounded
                  floor + (1 - floor)·(1 + cos(π·(step - W)/(total - W)))/2

`at` is in epochs, the warmup of "inverse-sqrt" in steps, that of "cosine" a share of
all steps. The paper: "step" at 150 of 200 for images, "inverse-sqrt" with
W = 4000 for translation; there t is one more than fairseq's, whose first step is 0.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from acprop import checks

Factor = Callable[[int], float]


def schedule(
    kind: str, *, epochs: int, steps_per_epoch: int, **settings: Any
) -> Factor:
    """Make the factor; `settings` are those of the kind, checked.

    step: at, a list of epochs, not only whole ones; by, 0.1. inverse-sqrt: warmup,
    4000 steps. cosine: floor, 0, the factor at the very end; warmup, 0, the share of
    the steps in which the factor rises to 1.
    """
    checks.integer("epochs", epochs)
    checks.integer("steps_per_epoch", steps_per_epoch)
    checks.one_of("kind", kind, KINDS)
    make, allowed = _KINDS[kind]
    for name in settings:
        if name not in allowed:
            raise checks.UserError(
                f"settings of {kind} must be among {', '.join(allowed) or 'none'}, "
                f"got {name}"
            )
    return make(epochs, steps_per_epoch, **settings)


def _constant(epochs: int, steps_per_epoch: int) -> Factor:  # noqa: ARG001
    return lambda _: 1.0


def _step(
    epochs: int, steps_per_epoch: int, at: Sequence[float] = (), by: float = 0.1
) -> Factor:
    checks.between("by", by)
    if isinstance(at, str) or not isinstance(at, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise checks.UserTypeError(f"at must be a list of epochs, got {at!r}")
    ends = [0, *(checks.number("at", epoch) for epoch in at), epochs]
    if not at or any(later <= before for before, later in pairwise(ends)):
        raise checks.UserError(
            f"at must be epochs that ascend between 0 and {epochs}, got {list(at)}"
        )
    # The first step that begins at or after that epoch; rounded first, because
    # 2.2 epochs of 10 steps are 22.000000000000004 steps.
    drops = [math.ceil(round(epoch * steps_per_epoch, 6)) for epoch in at]
    return lambda step: by ** sum(step >= drop for drop in drops)


def _inverse_sqrt(epochs: int, steps_per_epoch: int, warmup: int = 4000) -> Factor:  # noqa: ARG001
    checks.integer("warmup", warmup)
    return lambda step: min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))


def _cosine(
    epochs: int, steps_per_epoch: int, floor: float = 0.0, warmup: float = 0.0
) -> Factor:
    for name, value in (("floor", floor), ("warmup", warmup)):
        checks.decay(name, value)
    total = epochs * steps_per_epoch
    rising = round(warmup * total)
    falling = max(total - rising, 1)  # a warm-up of 0.99 may round to all there is

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        share = min((step - rising) / falling, 1)
        return floor + (1 - floor) * (1 + math.cos(math.pi * share)) / 2

    return factor


_KINDS: dict[str, tuple[Callable[..., Factor], tuple[str, ...]]] = {
    "constant": (_constant, ()),
    "step": (_step, ("at", "by")),
    "inverse-sqrt": (_inverse_sqrt, ("warmup",)),
    "cosine": (_cosine, ("floor", "warmup")),
}
KINDS = tuple(_KINDS)
