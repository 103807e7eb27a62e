"""Large tensors in blocks that fit a cache: the CPU's kernel where there is no C.

The arithmetic is the loop kernel's. It makes a dozen temporaries, and as long as they
are whole tensors each of them goes through memory; a block's stay in the cache.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from acprop.optim.kernels import loop
from acprop.optim.params import (
    ParamWithState,
    elements_of,
    is_dense_alike,
    is_plain,
)
from acprop.optim.step_options import StepOptions, scalars, step_number

# 1 MiB of float32, of which a step holds about six; see perf/blocked.py.
BLOCK = 2**18


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step."""
    for item in items:
        item.step.add_(1)
        if _pays(item, h):
            _advance(item, h)
        elif item.param.numel() > 0:
            loop.advance(item, h)


def _pays(item: ParamWithState, h: StepOptions) -> bool:
    """Is the tensor large, and does its step fall apart into blocks?"""
    local = h.rule.reduction is None and h.constraint is None and h.rule.delay <= 1
    large = local and item.param.numel() > BLOCK
    return large and is_plain(item) and is_dense_alike(item)


def _advance(item: ParamWithState, h: StepOptions) -> None:
    t = step_number(item.step, item.exp_avg_sq, h)
    c = scalars(h, t, item.exp_avg_sq.dtype)
    for block in _blocks(item):
        x, g, memory = loop.read(block, h)
        x, memory = loop.move(x, memory, [g], h, c)
        loop.write(block, x, memory)


def _blocks(item: ParamWithState) -> Iterator[ParamWithState]:
    """Views of a block each, in the order of memory."""
    n = item.param.numel()
    # In one dimension whatever the layout: all are laid out alike.
    flat = {
        name: torch.as_strided(value, (n,), (1,))
        for name, value in elements_of(item).items()
    }
    for start in range(0, n, BLOCK):
        cut: dict[str, Any] = {
            name: value[start : start + BLOCK] for name, value in flat.items()
        }
        yield item._replace(**cut, offset=item.offset + start)
