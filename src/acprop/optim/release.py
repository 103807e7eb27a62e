"""Gradients that are used and freed while the backward pass still runs."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from acprop.optim.base import FamilyOptimizer


class ReleasedGradients:
    """What `release_gradients` returns; `remove()` ends it."""

    def __init__(self, optimizer: FamilyOptimizer) -> None:
        self._stepped: set[int] = set()
        self._handles: list[Any] = [
            param.register_post_accumulate_grad_hook(self._hook(optimizer, i, j))
            for i, group in enumerate(optimizer.param_groups)
            for j, param in enumerate(group["params"])
        ]
        self._handles.append(optimizer.register_step_post_hook(self._next))

    def _hook(
        self, optimizer: FamilyOptimizer, i: int, j: int
    ) -> Callable[[Tensor], None]:
        def take(param: Tensor) -> None:
            if id(param) in self._stepped:
                param.grad = None
                raise RuntimeError(
                    "opt.step() must be called after every backward pass, got a second "
                    "pass; released gradients cannot be accumulated"
                )
            self._stepped.add(id(param))
            optimizer.step_one(i, j)
            param.grad = None

        return take

    def _next(self, *_: object) -> None:
        self._stepped.clear()

    def remove(self) -> None:
        """Go back to steps after the backward pass."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def release_gradients(optimizer: FamilyOptimizer) -> ReleasedGradients:
    """Step each parameter as soon as its gradient is complete, and free the gradient.

    The training loop stays as it is. `opt.step()` then finds nothing left to do; it is
    still needed, to say that the next backward pass belongs to the next step.

        opt = acprop.ACProp(model.parameters())
        acprop.release_gradients(opt)

    At no time is there more than a few layers' gradients. What needs all of them at
    once, or those of several backward passes, is impossible: clipping by the global
    norm, accumulation (an error), GradScaler (torch's own error).
    """
    if not isinstance(optimizer, FamilyOptimizer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"optimizer must be one of acprop's, got {type(optimizer).__name__}"
        )
    return ReleasedGradients(optimizer)
