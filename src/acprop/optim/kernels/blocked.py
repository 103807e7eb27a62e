"""Large tensors in blocks that fit a cache: the CPU's kernel where there is no C.

The arithmetic is the loop kernel's. It makes a dozen temporaries, and as long as they
are whole tensors each of them goes through memory; a block's stay in the cache.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from acprop.optim.kernels import loop
from acprop.optim.settings import Settings, scalars, step_number
from acprop.optim.slots import Slot, is_dense_alike, is_plain

# 1 MiB of float32, of which a step holds about six; see perf/blocked.py.
BLOCK = 2**18


def update(slots: Sequence[Slot], h: Settings) -> None:
    """Move every parameter by one step."""
    for slot in slots:
        slot.step.add_(1)
        if _pays(slot, h):
            _advance(slot, h)
        elif slot.param.numel() > 0:
            loop.advance(slot, h)


def _pays(slot: Slot, h: Settings) -> bool:
    """Is the tensor large, and does its step fall apart into blocks?"""
    local = h.rule.reduction is None and h.constraint is None and h.rule.delay <= 1
    large = local and slot.param.numel() > BLOCK
    return large and is_plain(slot) and is_dense_alike(slot)


def _advance(slot: Slot, h: Settings) -> None:
    t = step_number(slot.step, slot.exp_avg, h)
    c = scalars(h, t, slot.exp_avg.dtype)
    for block in _blocks(slot):
        x, g, memory = loop.read(block, h)
        x, memory = loop.move(x, memory, [g], h, c)
        loop.write(block, x, memory)


def _blocks(slot: Slot) -> Iterator[Slot]:
    """Slots of a block each, as views in the order of memory."""
    n = slot.param.numel()
    # In one dimension whatever the layout: all are laid out alike.
    flat = [
        None
        if value is None or name in ("step", "past")
        else torch.as_strided(value, (n,), (1,))
        for name, value in slot._asdict().items()
    ]
    for start in range(0, n, BLOCK):
        cut: list[Any] = [v if v is None else v[start : start + BLOCK] for v in flat]
        yield Slot(*cut)
