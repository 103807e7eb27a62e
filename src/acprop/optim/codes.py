"""A running mean and s in 8 bits per element, in blocks that share a scale.

A block is up to 64 neighbours within a row of the parameter; the scale is its largest
magnitude, in float32.

    M    c·scale/127, c in -127 … 127: all are alike, since each is normalised
    m    tapered, see Note [Tapered]: from the block's largest down there are 32 codes
         between a number and its half (twice), 16 (twice), 8, 4, 2, 1, then 2 to 0
    s    tapered: 16 codes between a number and its half (8 times), 8 (8 times), 4, 2,
         1, ½, ¼, ⅛

Two things matter to a denominator that knows only the past. A small s must not become
0: codes reach down to 2⁻³² of the block's largest √s, and none of them is 0. And s must
go on moving: its change of 0.1 % per step is far below the distance between two codes,
so rounding is random, up or down with the probabilities that make a number right on
average; see also Note [The fourth root]. docs/small-state.md measures both.

An element's M and s are rounded with the same bits: M of either sign goes up when s
does, so that neither leans because of the other.
"""

from collections.abc import Callable
from math import ceil, prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

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


# Note [Tapered]
# The bits of a float, read as a whole number, are about its logarithm. Divided by 2^k
# (a shift) and read as a float again they are about its 2^k-th root: a straight line
# between powers of 2. Multiplied by another power of 2, its whole part is the code. So
# both ways are a shift and an addition, which C repeats bit for bit, and a code that is
# read and written again is itself. k is 1 for m, in 7 bits and a sign, and 3 for s.

_ONE = 0x3F800000  # the bits of 1.0


def _shift(k: int, n_bits: int) -> int:
    """What is added to the bits, so that the root of 1 is 2^n_bits."""
    return _ONE - (_ONE >> k) + (n_bits << 23)


def _root(y: Tensor, k: int, n_bits: int) -> Tensor:
    """About 2^n_bits times the 2^k-th root of y, a float32 of 0 or more."""
    return ((y.view(torch.int32) >> k) + _shift(k, n_bits)).view(torch.float32)


def _power(z: Tensor, k: int, n_bits: int) -> Tensor:
    """The way back of `_root`."""
    return ((z.view(torch.int32) - _shift(k, n_bits)) << k).view(torch.float32)


def _whole_part(z: Tensor, base: float, n_bits: int, sixteen: Tensor) -> Tensor:
    """z rounded up or down at random, in the lowest 8 bits of what is returned.

    base: so large that the last n_bits of z + base are its fraction.
    """
    return ((z + base).view(torch.int32) + (sixteen >> (16 - n_bits))) >> n_bits


# What the largest of a block becomes: a number that is a code itself, and of s not the
# last one, because its rounding leans upwards.
_TOP_EVEN, _TOP_MEAN, _TOP_SURPRISE = 127.0, 63 / 64, 15 / 16
# Its reciprocal must be finite.
_LEAST_SCALE = 2.0**-118
# Below this m is counted in equal steps: two of them to 0.
_STRAIGHT = 2.0**-12


def encode_even(average: Tensor, sixteen: Tensor, lean: Any = 0.0) -> Codes:
    """M in codes at equal distances."""
    del lean
    y, scale = _relative(average, _TOP_EVEN)
    whole = _whole_part(y, 768.0, 14, _blocks(sixteen))
    code = ((whole & 0xFF) ^ 0x80) - 0x80
    return Codes(_unblocked(code, average).to(torch.int8), scale)


def decode_even(codes: Codes) -> Tensor:
    """The way back of `encode_even`."""
    c = _blocks(codes.code.to(torch.float32))
    return _unblocked(c * (codes.scale * (1 / _TOP_EVEN)).unsqueeze(-1), codes.code)


def encode_mean(m: Tensor, sixteen: Tensor, lean: Any = 0.0) -> Codes:
    """m in tapered codes of 7 bits and a sign."""
    del lean
    y, scale = _relative(m, _TOP_MEAN)
    size = y.abs()
    z = torch.where(size < _STRAIGHT, size * (2 / _STRAIGHT), _root(size, 1, 7))
    code = _whole_part(z.clamp(max=127), 128.0, 16, _blocks(sixteen)) & 0x7F
    code = torch.where(y.view(torch.int32) < 0, -code, code)
    return Codes(_unblocked(code, m).to(torch.int8), scale)


def decode_mean(codes: Codes) -> Tensor:
    """The way back of `encode_mean`."""
    c = _blocks(codes.code.to(torch.float32))
    z = c.abs()
    y = torch.where(z < 2, z * (_STRAIGHT / 2), _power(z, 1, 7)).copysign(c)
    return _unblocked(y * (codes.scale * (1 / _TOP_MEAN)).unsqueeze(-1), codes.code)


def encode_surprise(s: Tensor, sixteen: Tensor, lean: Any = 0.0) -> Codes:
    """s in tapered codes of 8 bits; `lean` is that of a step, see `lean_of`."""
    y, scale = _relative(s, _TOP_SURPRISE)
    z = _root(y, 3, 8).clamp(min=1)
    code = _whole_part(z, 512 + lean, 14, _blocks(sixteen)) & 0xFF
    return Codes(_unblocked(code, s).to(torch.uint8), scale)


def decode_surprise(codes: Codes) -> Tensor:
    """The way back of `encode_surprise`."""
    y = _power(_blocks(codes.code.to(torch.float32)), 3, 8)
    return _unblocked(y * (codes.scale * (1 / _TOP_SURPRISE)).unsqueeze(-1), codes.code)


# Note [The fourth root]
# What a step needs is 1/√s. Rounded so that E[s^a] is right, a noisy s settles where
# σ²·E[s^(a-1)] = E[s^a]; if its logarithm has the variance v, that makes
# E[1/√s] = e^(v·(4a-1)/8)/σ. So steps are right for a = ¼. Between two codes that are
# closer than a factor of 2 s is a straight line, and a = 1: steps would be longer by
# e^(3v/8). v is half the relative distance δ of two codes, because s moves by about
# 1 - β2 per step, in jumps of δ. An s that is larger by e^(3v/4) has the right steps;
# it settles there if every step adds (1 - β2)·3/8·δ to its logarithm, and that is
# 3/8·(1 - β2) of a code, whatever the distance.


def lean_of(beta2: float) -> float:
    """How far the rounding of s leans upwards, in codes."""
    return 0.375 * (1 - beta2)


class Coder(NamedTuple):
    """How numbers become codes of a type, with random bits, and codes numbers."""

    dtype: torch.dtype
    encode: Callable[[Tensor, Tensor, Any], Codes]
    decode: Callable[[Codes], Tensor]


AVERAGE = Coder(torch.int8, encode_even, decode_even)
MEAN = Coder(torch.int8, encode_mean, decode_mean)
SURPRISE = Coder(torch.uint8, encode_surprise, decode_surprise)
# By the state's names.
CODERS = {"exp_avg": MEAN, "momentum_buffer": AVERAGE, "exp_avg_sq": SURPRISE}


def _relative(x: Tensor, top: float) -> tuple[Tensor, Tensor]:
    """Blocks beside their largest, which becomes `top`, in float32; and the largest."""
    blocks = _blocks(x)
    scale = blocks.abs().amax(-1).clamp(min=_LEAST_SCALE)
    # A number over a tensor would be two roundings: its reciprocal, and the product.
    factor = torch.full_like(scale, top) / scale
    return (blocks * factor.unsqueeze(-1)).to(torch.float32), scale


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
