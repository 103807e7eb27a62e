"""A parameter with everything the optimizer keeps for it, and how it is read."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from acprop.optim import dither


class ParamWithState(NamedTuple):
    """One parameter that has a gradient, and its state.

    past: the newest delay - 1 gradients, oldest first; zeros where none came yet.
    exp_avg: m, the running mean of gradients, where the rule keeps one.
    momentum_buffer: M, the running mean of normalised gradients, likewise.
    compensation: what rounding a half-precision parameter lost, see Note [Kahan].
    mean_scale, exp_avg_sq_scale: where m (M, if there is no m) and s are 8-bit codes,
        see `codes`.
    stream: the number of the parameter among the random ones, see `dither`.
    seed: of stochastic rounding; None rounds to the nearest.
    offset: the number of the first element in the whole tensor.
    """

    param: Tensor
    grad: Tensor
    step: Tensor
    exp_avg: Tensor | None
    exp_avg_sq: Tensor
    max_exp_avg_sq: Tensor | None
    past: Tensor | None
    momentum_buffer: Tensor | None
    compensation: Tensor | None
    mean_scale: Tensor | None = None
    exp_avg_sq_scale: Tensor | None = None
    stream: Tensor | None = None
    seed: int | None = None
    offset: int = 0


# Note [Kahan]
# A half-precision parameter and its compensation together are one number of about
# twice the precision: read as param + compensation, written as the rounded value and
# what the rounding lost. The step in between is plain float32 arithmetic.
# What is more than half a unit of the parameter was lost by another value, before the
# parameter was set by hand; it does not count.

HALF = (torch.float16, torch.bfloat16)


def real(tensor: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers; any other tensor as it is."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def wide_dtype(tensor: Tensor) -> torch.dtype:
    """The type of the arithmetic and the state: float32 for half precision."""
    return torch.float32 if tensor.dtype in HALF else tensor.dtype


def wide(tensor: Tensor) -> Tensor:
    """The values in the type of the arithmetic."""
    return tensor.float() if tensor.dtype in HALF else tensor


def read_grad(item: ParamWithState) -> Tensor:
    """The gradient in the type of the arithmetic; never to be written to."""
    # Autograd may hand out a lazy conjugate, which has no real view.
    grad = item.grad.resolve_conj() if item.grad.is_complex() else item.grad
    return wide(real(grad))


def read_param(item: ParamWithState) -> Tensor:
    """The parameter in the type of the arithmetic, its compensation included."""
    x = wide(real(item.param))
    if item.compensation is None:
        return x
    lost = item.compensation.to(x.dtype)
    half_a_unit = torch.finfo(item.param.dtype).eps / 2
    return x + torch.where(lost.abs() > half_a_unit * x.abs(), 0, lost)


def write_param(item: ParamWithState, x: Tensor) -> None:
    """The way back of `read_param`."""
    param = real(item.param)
    if item.seed is not None and param.dtype == torch.bfloat16:
        x = _rounded_at_random(item, x)
    param.copy_(x)
    if item.compensation is not None:
        item.compensation.copy_(x - param.to(x.dtype))


# Note [Stochastic rounding]
# A bfloat16 is the upper half of a float32. Random bits added to the lower half carry
# into the upper one with the probability that rounds rightly on average.


def to_bfloat16(x: Tensor, sixteen: Tensor) -> Tensor:
    """A float32 rounded up or down by 16 random bits to what bfloat16 can say."""
    carried = ((x.view(torch.int32) + sixteen) & -0x10000).view(torch.float32)
    return torch.where(x.isfinite(), carried, x)


def _shard(item: ParamWithState, x: Any) -> tuple[Tensor, int]:
    """This rank's part of x, and the number of its first element."""
    if hasattr(x, "placements"):
        return x.to_local(), dither.offset_of(x)
    return x, item.offset


def _rounded_at_random(item: ParamWithState, x: Tensor) -> Tensor:
    assert item.stream is not None
    assert item.seed is not None
    near, place = _shard(item, x)
    # Not the key that dithers state of the same parameter.
    key = dither.key(item.step, item.stream, item.seed + 1)
    near.copy_(to_bfloat16(near, dither.bits(near, key, place)))
    return x


class StepMoments(NamedTuple):
    """What a tensor remembers of its gradients, in the letters of the reference."""

    m: Tensor | None
    s: Tensor
    top: Tensor | None
    M: Tensor | None


def moments_of(item: ParamWithState) -> StepMoments:
    """One number for each element, in the type of the arithmetic."""
    return StepMoments(
        item.exp_avg, item.exp_avg_sq, item.max_exp_avg_sq, item.momentum_buffer
    )


def read_moments(item: ParamWithState) -> StepMoments:
    """The moments in the type of the arithmetic."""
    moments = moments_of(item)
    if not is_half_state(item):
        return moments
    return StepMoments(*(None if v is None else v.float() for v in moments))  # type: ignore[arg-type]


def write_moments(item: ParamWithState, moments: StepMoments) -> None:
    """The way back of `read_moments`."""
    for old, new in zip(moments_of(item), moments, strict=True):
        if old is None or new is None:
            continue
        if old.dtype == torch.bfloat16 and is_half_state(item):
            old.copy_(_half_moment(item, new))
        else:
            old.copy_(new)


def is_half_state(item: ParamWithState) -> bool:
    """Are m or M, and s, in bfloat16?"""
    return item.exp_avg_sq.dtype == torch.bfloat16


def _half_moment(item: ParamWithState, x: Tensor) -> Tensor:
    """A moment rounded at random, in the type of the arithmetic still."""
    assert item.stream is not None
    near, place = _shard(item, x)
    sixteen = dither.bits(near, dither.key(item.step, item.stream), place)
    near.copy_(to_bfloat16(near, sixteen))
    return x


def elements_of(item: ParamWithState) -> dict[str, Any]:
    """The tensors that have something for each element, by name."""
    return {
        name: value
        for name, value in item._asdict().items()
        if isinstance(value, Tensor) and name not in ("step", "stream")
    }


def local(item: ParamWithState) -> ParamWithState:
    """This rank's shards, where all is DTensors laid out alike; else the item itself.

    What is done element by element needs nothing of the other ranks.
    """
    if not hasattr(item.param, "placements"):
        return item
    tensors = elements_of(item)
    every = tensors.values()
    if item.past is not None or not all(hasattr(t, "placements") for t in every):
        return item
    if len({(t.device_mesh, tuple(t.placements)) for t in every}) != 1:
        return item
    shards: dict[str, Any] = {name: t.to_local() for name, t in tensors.items()}
    if item.stream is not None:
        shards["offset"] = dither.offset_of(item.param)
    return item._replace(**shards)


def reduced(x: Tensor, how: Literal["max", "mean"]) -> Tensor:
    """The maximum of what is 0 or more, or the mean, over all shards of a DTensor."""
    if not hasattr(x, "placements"):
        return x.amax() if how == "max" else x.mean()
    from torch.distributed.tensor import DTensor, Partial

    shard: Any = x
    if how == "mean":
        return shard.mean().full_tensor()
    local: Tensor = shard.to_local()  # which may be empty
    top = local.amax() if local.numel() > 0 else local.new_zeros(())
    placements = [Partial("max") if p.is_shard() else p for p in shard.placements]
    return DTensor.from_local(top, shard.device_mesh, placements).full_tensor()
