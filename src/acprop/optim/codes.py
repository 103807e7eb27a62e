"""A running mean and s in 8 bits per element, in blocks that share a scale.

A block is up to 64 neighbours within a row of the parameter; the scale is its largest
magnitude, in float32. Codes are powers, so that both ways need only √ and ·:

    mean = scale · c·|c| / 127²       c in -127 … 127
    s    = scale · (c / 255)⁸         c in 0 … 255

Two things matter to a denominator that knows only the past. A small s must not become
0: the eighth power reaches down to 2·10⁻¹⁰ of the block's largest √s, and what is not 0
keeps at least the code 1. And s must go on moving: its change of 0.1 % per step is far
below the distance between two codes, so rounding is random, up or down with the
probabilities that make a mean, or s^¼, right on average: see Note [The fourth root].
docs/small-state.md measures both.
"""

from collections.abc import Callable
from math import ceil, prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from acprop.optim.dither import uniform

BLOCK = 64
# A row shorter than this would spend more on scales than codes save.
_SHORTEST_ROW = 16
# One dimension is one row; of biases and norms there is nothing to gain.
_SHORTEST_VECTOR = 4096


class Codes(NamedTuple):
    """A mean or s of some rows of a tensor; a row has the shape of its index."""

    code: Tensor
    scale: Tensor


def rows(shape: Any) -> tuple[int, int]:
    """The tensor as a matrix: a row for each index of the first dimension."""
    return (1, shape[0]) if len(shape) == 1 else (shape[0], prod(shape[1:]))


def n_blocks(columns: int) -> int:
    """How many blocks a row has; the last may be short."""
    return ceil(columns / BLOCK)


def pays(param: Tensor) -> bool:
    """Is the state of this parameter kept in codes?"""
    if param.is_complex() or param.ndim == 0:
        return False
    if param.ndim == 1:
        return not hasattr(param, "placements") and len(param) >= _SHORTEST_VECTOR
    return rows(param.shape)[1] >= _SHORTEST_ROW


def zeros(param: Tensor, dtype: torch.dtype) -> Codes:
    """The codes of a state that has seen nothing, sharded as the parameter is."""
    given: Any = param
    placements: Any = getattr(param, "placements", None)
    if placements is not None and any(p.is_shard() and p.dim != 0 for p in placements):
        raise RuntimeError(
            f"small_state must be False for a parameter that is not sharded by rows, "
            f"got placements {placements}; a block must not be on two ranks"
        )
    local: Tensor = param if placements is None else given.to_local()
    n_rows, columns = rows(local.shape)
    wide = torch.promote_types(torch.float32, local.dtype)
    code = torch.zeros(local.shape, dtype=dtype, device=local.device)
    scale = torch.zeros(n_rows, n_blocks(columns), dtype=wide, device=local.device)
    if placements is None:
        return Codes(code, scale)
    from torch.distributed.tensor import DTensor

    def sharded(piece: Tensor, shape: Any) -> Tensor:
        stride = torch.empty(shape, device="meta").stride()
        return DTensor.from_local(
            piece, given.device_mesh, placements, shape=shape, stride=stride
        )

    all_scales = torch.Size((param.shape[0], n_blocks(columns)))
    return Codes(sharded(code, param.shape), sharded(scale, all_scales))


def encode_mean(m: Tensor, bits: Tensor) -> Codes:
    """A mean in codes of the square: m, or M."""
    blocks = _blocks(m)
    scale = blocks.abs().amax(-1)
    y = blocks.abs() * (127.0**2 / _divisor(scale))
    code = _root_at_random(y, _blocks(bits & 0xFFFF), 127).copysign(blocks)
    return Codes(_unblocked(code, m).to(torch.int8), scale)


def decode_mean(codes: Codes) -> Tensor:
    """The way back of `encode_mean`."""
    c = _blocks(codes.code.to(codes.scale.dtype))
    return _unblocked(c * c.abs() * (codes.scale / 127.0**2).unsqueeze(-1), codes.code)


def encode_surprise(s: Tensor, bits: Tensor) -> Codes:
    """s in codes of the eighth power."""
    blocks = _blocks(s)
    scale = blocks.amax(-1)
    y = (blocks / _divisor(scale)).sqrt().sqrt() * 255.0**2
    code = _root_at_random(y, _blocks(bits >> 16), 255)
    code = torch.maximum(code, (blocks > 0).to(y.dtype))
    return Codes(_unblocked(code, s).to(torch.uint8), scale)


# Note [The fourth root]
# What a step needs is 1/√s. Rounded so that E[s^a] is right, a noisy s settles where
# σ²·E[s^(a-1)] = E[s^a]; if its logarithm has the variance v, that makes
# E[1/√s] = e^(v·(4a-1)/8)/σ. So steps are right for a = ¼. For a = 1 they would be 1.3
# times as long beside an element with 10⁶ times the gradient, where v is large.


def decode_surprise(codes: Codes) -> Tensor:
    """The way back of `encode_surprise`."""
    c = _blocks(codes.code.to(codes.scale.dtype))
    eighth = (c / 255).square().square().square()
    return _unblocked(eighth * codes.scale.unsqueeze(-1), codes.code)


class Coder(NamedTuple):
    """How numbers become codes of a type, with random bits, and codes numbers."""

    dtype: torch.dtype
    encode: Callable[[Tensor, Tensor], Codes]
    decode: Callable[[Codes], Tensor]


MEAN = Coder(torch.int8, encode_mean, decode_mean)
SURPRISE = Coder(torch.uint8, encode_surprise, decode_surprise)


def _root_at_random(y: Tensor, sixteen: Tensor, most: int) -> Tensor:
    """A whole number whose square is y on average."""
    low = y.sqrt().floor().clamp(max=most - 1)
    return low + (uniform(sixteen, y.dtype) < (y - low * low) / (2 * low + 1))


def _divisor(scale: Tensor) -> Tensor:
    """A silent block divides by 1."""
    return torch.where(scale == 0, 1.0, scale).unsqueeze(-1)


def _blocks(x: Tensor) -> Tensor:
    """Rows × blocks × elements, filled up with zeros."""
    n_rows, columns = rows(x.shape)
    n = n_blocks(columns)
    width = min(columns, BLOCK)
    flat = x.reshape(n_rows, columns)
    if n * width != columns:
        flat = pad(flat, (0, n * width - columns))
    return flat.view(n_rows, n, width)


def _unblocked(blocks: Tensor, like: Tensor) -> Tensor:
    """The way back of `_blocks`."""
    n_rows, columns = rows(like.shape)
    return blocks.reshape(n_rows, -1)[:, :columns].reshape(like.shape)
