"""Gradients that are used and freed while the backward pass still runs."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch.distributed as dist
from torch import Tensor

from acprop.optim.base import FamilyOptimizer


class ReleasedGradients:
    """What `release_gradients` returns; `remove()` ends it."""

    def __init__(self, optimizer: FamilyOptimizer) -> None:
        self._optimizer = optimizer
        self._stepped: set[int] = set()
        self._hooks: dict[Tensor, Any] = {}
        # By the identity of a parameter: its group, its place there, and among all.
        self._places: dict[int, tuple[int, int, int]] = {}
        _check_ranks(self._params())
        self._register()
        self._end = optimizer.register_step_post_hook(self._next)

    def _params(self) -> Iterator[Any]:
        return (p for group in self._optimizer.param_groups for p in group["params"])

    def _register(self) -> None:
        """Also what was frozen, or in no group, the last time."""
        for param in self._params():
            if param.requires_grad and param not in self._hooks:
                hook = param.register_post_accumulate_grad_hook(self._take)
                self._hooks[param] = hook

    def _take(self, param: Tensor) -> None:
        _check_ranks([param])
        if id(param) in self._stepped:
            param.grad = None
            raise RuntimeError(
                "opt.step() must be called after every backward pass, got a second "
                "pass; released gradients cannot be accumulated"
            )
        if not self._stepped:  # a new pass: groups may have changed since the last
            places = (
                (p, i, j)
                for i, group in enumerate(self._optimizer.param_groups)
                for j, p in enumerate(group["params"])
            )
            self._places = {id(p): (i, j, n) for n, (p, i, j) in enumerate(places)}
        place = self._places.get(id(param))
        if place is None:
            return  # its group was deleted
        try:
            i, j, number = place
            self._optimizer.step_one(i, j, number=number, n_before=len(self._stepped))
        finally:
            param.grad = None
        self._stepped.add(id(param))

    def _next(self, *_: object) -> None:
        self._stepped.clear()
        self._register()
        for param in self._params():
            param.grad = None  # of one that had no hook yet

    def remove(self) -> None:
        """Go back to steps after the backward pass."""
        for handle in (*self._hooks.values(), self._end):
            handle.remove()


def _check_ranks(params: Iterable[Tensor]) -> None:
    """Refuse gradients that may not be the ranks' common ones yet."""
    if not (dist.is_available() and dist.is_initialized()):
        return
    n_ranks = dist.get_world_size()
    if n_ranks > 1 and not all(hasattr(param, "placements") for param in params):
        raise RuntimeError(
            "release_gradients must be given sharded parameters (DTensor) where there "
            f"are several ranks, got whole ones in {n_ranks} ranks; what averages "
            "their gradients, as DistributedDataParallel does, would come after the "
            "step: use fully_shard, or leave release_gradients out"
        )


def release_gradients(optimizer: FamilyOptimizer) -> ReleasedGradients:
    """Step each parameter as soon as its gradient is complete, and free the gradient.

    The training loop stays as it is. `opt.step()` then finds nothing left to do; it is
    still needed, to say that the next backward pass belongs to the next step.

        opt = acprop.ACProp(model.parameters())
        acprop.release_gradients(opt)

    At no time is there more than a few layers' gradients. What needs all of them at
    once, or those of several backward passes, is impossible: clipping by the global
    norm, accumulation (an error), GradScaler (torch's own error), the average that
    DistributedDataParallel takes (an error; with FSDP2 it works).
    """
    if not isinstance(optimizer, FamilyOptimizer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"optimizer must be one of acprop's, got {type(optimizer).__name__}"
        )
    return ReleasedGradients(optimizer)
