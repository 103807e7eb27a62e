"""Random bits without a generator: a function of seed, parameter, step and element.

There is no state to save, so a resumed run draws what the uninterrupted one would. A
shard draws what the whole tensor would at its place.
"""

from typing import Any

import torch
from torch import Tensor

from acprop.optim._torch_internals import first_indices

_MASK = 0xFFFFFFFF


def key(step: Tensor, stream: Tensor, seed: int = 0) -> Tensor:
    """What the elements of one parameter have in common at one step."""
    first = _mixed(_mixed(stream) + seed)
    if step.device == stream.device or torch.compiler.is_compiling():
        t = step.to(device=stream.device, dtype=torch.int64)
    else:
        t = int(step)  # of the host, where nothing has to be waited for
    return _mixed(first + t)


def bits(like: Tensor, key: Tensor, offset: int = 0) -> Tensor:
    """16 random bits for each element, as int32; see Note [Cheap bits].

    offset: the number of the first element in the whole tensor.
    """
    n = like.numel()
    numbers = torch.arange(offset, offset + n, device=like.device, dtype=torch.int64)
    x = (key + (numbers & _MASK) * 0x61C8864F) & _MASK
    x = ((x ^ (x >> 16)) * 0x2C1B3C6D) & _MASK
    return (x >> 16).to(torch.int32).view(like.shape)


# Note [Cheap bits]
# An element draws at every step, and what it needs is that its draws are uniform and do
# not depend on each other. The key is a full hash of the step, so it suffices that an
# element's bits are a one-to-one function of the key: they are as uniform as it is.
# What two elements draw at one step may be related; nothing depends on that. The
# factors are odd and below 2³¹, so that int64 does not overflow; the first is 2³² less
# the golden ratio's, which keeps neighbours apart. A product's upper bits depend on all
# bits of its factors; the lower half is not used.


def _mixed(x: Tensor) -> Tensor:
    """A hash of 32 bits; its factors, too, are below 2³¹."""
    x = x & _MASK
    x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & _MASK
    x = ((x ^ (x >> 12)) * 0x297A2D39) & _MASK
    return x ^ (x >> 15)


def offset_of(param: Any) -> int:
    """The number of this rank's first element, where the tensor is sharded by rows."""
    if not hasattr(param, "placements"):
        return 0
    number = 0
    for start, size in zip(first_indices(param), param.shape, strict=True):
        number = number * size + start
    return number
