"""What some libraries' optimizers need around a step, as hooks: wrapped, unchanged."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, cast

import torch
from torch import Tensor
from torch.optim import Optimizer

Hook = Callable[..., None]


def _around_steps(during: Callable[..., Generator[None]]) -> Hook:
    """Run a generator around every step: up to its yield before, the rest after."""
    entering = contextmanager(during)

    @wraps(during)
    def hook(optimizer: Optimizer, **settings: Any) -> None:
        entered = ExitStack()

        def before(*_: object) -> None:
            entered.enter_context(entering(optimizer, **settings))

        def after(*_: object) -> None:
            entered.close()

        optimizer.register_step_pre_hook(before)
        optimizer.register_step_post_hook(after)

    return hook


def _with_gradients(group: dict[str, Any]) -> list[tuple[Tensor, Tensor]]:
    return [(p, p.grad) for p in group["params"] if p.grad is not None]


@_around_steps
def keep_gradients(optimizer: Optimizer) -> Generator[None]:
    """Let the optimizer spoil a copy of the gradients instead of the gradients.

    pytorch_optimizer adds coupled weight decay into `p.grad` in place, and its
    schedule-free methods divide there.
    """
    groups = [g for g in optimizer.param_groups if _is_spoiled(g)]
    kept = [pair for group in groups for pair in _with_gradients(group)]
    for param, grad in kept:
        param.grad = grad.clone()  # not detached: AdaHessian differentiates it again
    yield
    for param, grad in kept:
        param.grad = grad


@_around_steps
def keep_rows_together(optimizer: Optimizer) -> Generator[None]:
    """Let the optimizer see contiguous tensors where the network has channels_last.

    pytorch_optimizer's AdamP calls `view` on parameters and gradients.
    """
    pairs = [pair for g in optimizer.param_groups for pair in _with_gradients(g)]
    kept = [
        (param, param.data, grad)
        for param, grad in pairs
        if not (param.is_contiguous() and grad.is_contiguous())
    ]
    for param, data, grad in kept:
        param.data, param.grad = data.contiguous(), None
        param.grad = grad.contiguous()
    yield
    for param, data, grad in kept:
        data.copy_(param.data)
        param.grad = None
        param.data, param.grad = data, grad


def as_matrix(weight: Tensor) -> Tensor:
    """A convolution's weight with one row for each output, in the same memory.

    The order of a row's elements, which the layout decides, does not change what is
    orthogonal.
    """
    if weight.ndim < 3 or weight.is_contiguous():
        return weight.view(len(weight), -1)
    return weight.permute(0, *range(2, weight.ndim), 1).view(len(weight), -1)


@_around_steps
def show_matrices(optimizer: Optimizer) -> Generator[None]:
    """Let the optimizer see the weights of convolutions as matrices: torch's Muon."""
    pairs = [pair for g in optimizer.param_groups for pair in _with_gradients(g)]
    kept = [(param, param.data, grad) for param, grad in pairs if param.ndim > 2]
    for param, data, grad in kept:
        shown = torch.empty_like(data).copy_(grad)  # in the weight's own layout
        param.data, param.grad = as_matrix(data), None
        param.grad = as_matrix(shown)
    yield
    for param, data, grad in kept:
        param.grad = None
        param.data, param.grad = data, grad


@_around_steps
def draw_by_step(optimizer: Optimizer) -> Generator[None]:
    """Make what a step draws a function of its number, and leave torch's stream alone.

    AdaHessian's probes come from the global stream: a resumed run would go on with
    others, and every rank would have its own.
    """
    devices = {p.device for g in optimizer.param_groups for p in g["params"]}
    random: Any = torch.random  # it has no types
    with random.fork_rng([device for device in devices if device.type == "cuda"]):
        random.manual_seed(optimizer.param_groups[0].get("step", 0))
        yield


def keep_found_lr(optimizer: Optimizer) -> None:
    """Let a schedule scale the rate that SWATS finds as it scaled the one it was given.

    SWATS writes the rate of its SGD phase into group["lr"], where the next step of a
    schedule would replace it by a multiple of Adam's. Here group["lr"] always is what
    the schedule says; the found rate waits in the group, so checkpoints have it.
    """
    for group in optimizer.param_groups:
        group["adam_lr"], group["sgd_lr"] = group["lr"], None
    _keep_found_lr(optimizer)


@_around_steps
def _keep_found_lr(optimizer: Optimizer) -> Generator[None]:
    wanted: list[float] = [group["lr"] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if group["phase"] == "sgd":
            group["lr"] = group["sgd_lr"] * (group["lr"] / group["adam_lr"])
    yield
    for group, lr in zip(optimizer.param_groups, wanted, strict=True):
        if group["phase"] == "sgd" and group["sgd_lr"] is None:
            group["sgd_lr"] = group["lr"] * (group["adam_lr"] / lr)
        group["lr"] = lr


@_around_steps
def be_cautious(optimizer: Optimizer, *, scaled: bool) -> Generator[None]:
    """Leave out every element that would move against the sign of its gradient.

    Decoupled weight decay is not masked. scaled: the rest of a tensor makes up for what
    is left out (Liang et al. 2024, Algorithm 1).
    """
    kept = [
        (p, p.detach().clone(), group)
        for group in optimizer.param_groups
        for p, _ in _with_gradients(group)
    ]
    decays: list[float] = [group["weight_decay"] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["weight_decay"] = 0.0
    yield
    for group, decay in zip(optimizer.param_groups, decays, strict=True):
        group["weight_decay"] = decay
    with torch.no_grad():
        for param, x, group in kept:
            move, grad = param - x, cast(Tensor, param.grad)
            mask = (move * grad < 0).to(param.dtype)
            if scaled:
                mask /= mask.mean().clamp(min=1e-3)
            param.copy_(x * (1 - group["lr"] * group["weight_decay"]) + move * mask)


def _is_spoiled(group: dict[str, Any]) -> bool:
    if "weight_lr_power" in group:  # schedule-free methods'
        return True
    if "weight_decay_type" in group:  # Apollo's
        return group["weight_decay"] and group["weight_decay_type"] == "l2"
    # SOAP does not say it: its decay is decoupled.
    return group["weight_decay"] and not group.get("weight_decouple", True)
