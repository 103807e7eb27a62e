"""What some libraries' optimizers need around a step, as hooks: wrapped, unchanged."""

from contextlib import ExitStack
from typing import Any, cast

import torch
from torch import Tensor
from torch.optim import Optimizer


def keep_gradients(optimizer: Optimizer) -> None:
    """Let the optimizer spoil a copy of the gradients instead of the gradients.

    pytorch_optimizer adds coupled weight decay into `p.grad` in place.
    """
    kept: list[tuple[Tensor, Tensor]] = []

    def before(optimizer: Optimizer, *_: object) -> None:
        kept.clear()
        for group in optimizer.param_groups:
            if group["weight_decay"] == 0 or not _is_coupled(group):
                continue
            for param in group["params"]:
                if param.grad is not None:
                    kept.append((param, param.grad))
                    # Not detached: AdaHessian differentiates it once more.
                    param.grad = param.grad.clone()

    def after(*_: object) -> None:
        for param, grad in kept:
            param.grad = grad
        kept.clear()

    _around(optimizer, before, after)


def keep_rows_together(optimizer: Optimizer) -> None:
    """Let the optimizer see contiguous tensors where the network has channels_last.

    pytorch_optimizer's AdamP calls `view` on parameters and gradients.
    """
    kept: list[tuple[Tensor, Tensor, Tensor]] = []

    def before(optimizer: Optimizer, *_: object) -> None:
        kept.clear()
        for group in optimizer.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None or (param.is_contiguous() and grad.is_contiguous()):
                    continue
                kept.append((param, param.data, grad))
                param.data, param.grad = param.data.contiguous(), None
                param.grad = grad.contiguous()

    def after(*_: object) -> None:
        for param, data, grad in kept:
            data.copy_(param.data)
            param.grad = None
            param.data, param.grad = data, grad
        kept.clear()

    _around(optimizer, before, after)


def draw_by_step(optimizer: Optimizer) -> None:
    """Make what a step draws a function of its number, and leave torch's stream alone.

    AdaHessian's probes come from the global stream: a resumed run would go on with
    others, and every rank would have its own.
    """
    entered = ExitStack()

    def before(optimizer: Optimizer, *_: object) -> None:
        group = optimizer.param_groups[0]
        devices = {p.device for g in optimizer.param_groups for p in g["params"]}
        cuda = [device for device in devices if device.type == "cuda"]
        random: Any = torch.random  # it has no types
        entered.enter_context(random.fork_rng(cuda))
        random.manual_seed(group.get("step", 0))

    def after(*_: object) -> None:
        entered.close()

    _around(optimizer, before, after)


def keep_found_lr(optimizer: Optimizer) -> None:
    """Let a schedule scale the rate that SWATS finds as it scaled the one it was given.

    SWATS writes the rate of its SGD phase into group["lr"], where the next step of a
    schedule would replace it by a multiple of Adam's. Here group["lr"] always is what
    the schedule says; the found rate waits in the group, so checkpoints have it.
    """
    for group in optimizer.param_groups:
        group["adam_lr"], group["sgd_lr"] = group["lr"], None
    wanted: list[float] = []

    def before(optimizer: Optimizer, *_: object) -> None:
        wanted[:] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            if group["phase"] == "sgd":
                group["lr"] = group["sgd_lr"] * (group["lr"] / group["adam_lr"])

    def after(optimizer: Optimizer, *_: object) -> None:
        for group, lr in zip(optimizer.param_groups, wanted, strict=True):
            if group["phase"] == "sgd" and group["sgd_lr"] is None:
                group["sgd_lr"] = group["lr"] * (group["adam_lr"] / lr)
            group["lr"] = lr

    _around(optimizer, before, after)


def be_cautious(optimizer: Optimizer, *, scaled: bool) -> None:
    """Leave out every element that would move against the sign of its gradient.

    Decoupled weight decay is not masked. scaled: the rest of a tensor makes up for what
    is left out (Liang et al. 2024, Algorithm 1).
    """
    kept: list[tuple[float, list[tuple[Tensor, Tensor]]]] = []

    def before(optimizer: Optimizer, *_: object) -> None:
        kept.clear()
        for group in optimizer.param_groups:
            moving = [p for p in group["params"] if p.grad is not None]
            start = [(p, p.detach().clone()) for p in moving]
            kept.append((group["weight_decay"], start))
            group["weight_decay"] = 0.0

    @torch.no_grad()
    def after(optimizer: Optimizer, *_: object) -> None:
        for group, (decay, start) in zip(optimizer.param_groups, kept, strict=True):
            group["weight_decay"] = decay
            for param, x in start:
                move, grad = param - x, cast(Tensor, param.grad)
                mask = (move * grad < 0).to(param.dtype)
                if scaled:
                    mask /= mask.mean().clamp(min=1e-3)
                param.copy_(x * (1 - group["lr"] * decay) + move * mask)
        kept.clear()

    _around(optimizer, before, after)


def _is_coupled(group: dict[str, Any]) -> bool:
    if "weight_decay_type" in group:  # Apollo's
        return group["weight_decay_type"] == "l2"
    return not group["weight_decouple"]


def _around(optimizer: Optimizer, before: Any, after: Any) -> None:
    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)
