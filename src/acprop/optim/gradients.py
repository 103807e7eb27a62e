"""Gradients that no step may take: refused by name, before anything has moved."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor


def check_gradients(
    group: dict[str, Any], i: int, *only: int, n_before: int = 0
) -> None:
    """Refuse sparse gradients in group i, and if it says so infinite ones.

    only: the numbers of the parameters to look at; none are all.
    n_before: how many parameters were stepped before these in the same backward pass.
    """
    for name, grad in _named(group, i, only):
        if grad.layout != torch.strided:
            raise RuntimeError(
                f"the gradient of {name} must be dense, got {grad.layout}; pass "
                "sparse=False to its nn.Embedding, or give that parameter to "
                "torch.optim.SparseAdam"
            )
        if group["error_if_nonfinite"] and not bool(grad.isfinite().all()):
            changed = "nothing was changed, so the step can be skipped"
            if n_before > 0:
                changed = (
                    f"it was not changed, but {n_before} parameters whose gradients "
                    "came first were; go back to a checkpoint, or go on after "
                    "opt.step()"
                )
            raise RuntimeError(
                f"the gradient of {name} must be finite, got "
                f"{int((~grad.isfinite()).sum())} of {grad.numel()} elements NaN "
                f"or infinite; {changed}"
            )


def _named(
    group: dict[str, Any], i: int, only: tuple[int, ...]
) -> Iterator[tuple[str, Tensor]]:
    names = group.get("param_names")
    for j in only or range(len(group["params"])):
        grad = group["params"][j].grad
        if grad is not None:
            yield f"{names[j]!r}" if names else f"parameter {j} of group {i}", grad
