"""A parameter with everything the optimizer keeps for it, and how it is read."""

from typing import Any, NamedTuple

import torch
from torch import Tensor


class ParamWithState(NamedTuple):
    """One parameter that has a gradient, and its state.

    past: the newest delay - 1 gradients, oldest first; zeros where none came yet.
    momentum_buffer: M, the running mean of normalised gradients.
    compensation: what rounding a half-precision parameter lost, see Note [Kahan].
    """

    param: Tensor
    grad: Tensor
    step: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor
    max_exp_avg_sq: Tensor | None
    past: Tensor | None
    momentum_buffer: Tensor | None
    compensation: Tensor | None


# Note [Kahan]
# A half-precision parameter and its compensation together are one number of about
# twice the precision: read as param + compensation, written as the rounded value and
# what the rounding lost. The step in between is plain float32 arithmetic.

HALF = (torch.float16, torch.bfloat16)


def real(tensor: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers; any other tensor as it is."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def wide_dtype(tensor: Tensor) -> torch.dtype:
    """The type of the arithmetic and the state: float32 for half precision."""
    return torch.float32 if tensor.dtype in HALF else tensor.dtype


def wide(tensor: Tensor) -> Tensor:
    """The values in the type of the arithmetic."""
    return tensor.to(wide_dtype(tensor))


def read_grad(item: ParamWithState) -> Tensor:
    """The gradient in the type of the arithmetic; never to be written to."""
    # Autograd may hand out a lazy conjugate, which has no real view.
    return wide(real(item.grad.resolve_conj()))


def read_param(item: ParamWithState) -> Tensor:
    """The parameter in the type of the arithmetic, its compensation included."""
    x = wide(real(item.param))
    return x if item.compensation is None else x + item.compensation.to(x.dtype)


def write_param(item: ParamWithState, x: Tensor) -> None:
    """The way back of `read_param`."""
    param = real(item.param)
    param.copy_(x)
    if item.compensation is not None:
        item.compensation.copy_(x - param.to(x.dtype))


def running(item: ParamWithState) -> tuple[Tensor | None, ...]:
    """The state of one number for each element, in the type of the arithmetic."""
    return item.exp_avg, item.exp_avg_sq, item.max_exp_avg_sq, item.momentum_buffer


def local(item: ParamWithState) -> ParamWithState:
    """This rank's shards, where all is DTensors laid out alike; else the item itself.

    What is done element by element needs nothing of the other ranks.
    """
    tensors: list[Any] = [t for t in item if t is not None and t is not item.step]
    if item.past is not None or not all(hasattr(t, "placements") for t in tensors):
        return item
    if len({(t.device_mesh, tuple(t.placements)) for t in tensors}) != 1:
        return item
    everything: list[Any] = list(item)
    return ParamWithState(
        *(t.to_local() if hasattr(t, "placements") else t for t in everything)
    )


def is_plain(item: ParamWithState) -> bool:
    """Are parameter, gradient and state ordinary tensors with memory of their own?

    Not of a subclass such as DTensor, whose memory is elsewhere or nowhere, and not
    one of torch's lazy forms: zeros without storage, a pending negation.
    """
    param, grad, step, *state = item
    return (
        type(param) in (Tensor, torch.nn.Parameter)
        and type(grad) is Tensor
        and all(type(t) is Tensor for t in (step, *state) if t is not None)
        and not (param.is_neg() or grad.is_neg() or grad._is_zerotensor())  # pyright: ignore
    )


def is_dense_alike(item: ParamWithState) -> bool:
    """Is everything laid out without gaps, gradient and state like the parameter?

    Then all of it may be walked through in the order of memory.
    """
    param = item.param
    return (
        _is_dense(param)
        and not param.is_complex()
        and all(
            t is None or (t.shape == param.shape and t.stride() == param.stride())
            for t in (item.grad, *running(item), item.compensation)
        )
    )


def _is_dense(tensor: Tensor) -> bool:
    if tensor.is_contiguous():
        return True
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.ndim)
    return layout is not None and tensor.is_contiguous(memory_format=layout)


def whole(partial: Tensor) -> Tensor:
    """The result of a reduction over all shards, where the tensor is a DTensor."""
    full = getattr(partial, "full_tensor", None)
    return partial if full is None else full()
