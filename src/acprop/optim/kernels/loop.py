"""One tensor at a time: the readable kernel, and the one torch.compile compiles.

Nothing is changed in place before the last lines, so that the same code can be
compiled, differentiated, and run in float32 for a half-precision parameter.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from acprop.optim.settings import (
    Scalar,
    Scalars,
    Settings,
    clamp,
    limit,
    record,
    scalars,
    step_number,
    where,
)
from acprop.optim.slots import Slot, read_grad, read_param, whole, write_param


def update(slots: Sequence[Slot], h: Settings) -> None:
    """Move every parameter by one step."""
    for slot in slots:
        slot.step.add_(1)
        if slot.param.numel() > 0:
            _update(slot, h)


class Memory(NamedTuple):
    """What a tensor remembers of its gradients, in the letters of the reference."""

    m: Tensor
    s: Tensor
    top: Tensor | None
    guard: Tensor | None


def _update(slot: Slot, h: Settings) -> None:
    t = step_number(slot.step, slot.exp_avg, h)
    x, g, memory, past = _read(slot, h)
    if h.maximize:
        g = -g
    if h.weight_decay != 0:
        if h.decoupled_weight_decay:
            x = x * (1 - h.lr * h.weight_decay)
        else:
            g = g + h.weight_decay * x
    if memory.guard is not None:
        g = _clamp(g, limit(h, memory.guard))

    # Asynchronous means: divide by s before s has heard of this gradient. The order
    # of the two calls is the whole difference between ACProp and AdaBelief.
    window = [*past, g]
    if h.rule.delay == 0:
        memory = _observe(memory, g, h, h.eps)
        c = scalars(h, t, memory.guard)
        memory, x = _descend(memory, x, window, h, c)
    else:
        c = scalars(h, t, memory.guard)
        memory, x = _descend(memory, x, window, h, c)
        memory = _observe(memory, window.pop(0), h, c.eps_fed)
    _write(slot, x, memory, window)


def _read(slot: Slot, h: Settings) -> tuple[Tensor, Tensor, Memory, list[Tensor]]:
    x, g = read_param(slot), read_grad(slot)
    memory = Memory(slot.exp_avg, slot.exp_avg_sq, slot.max_exp_avg_sq, slot.guard)
    past = [] if slot.past is None else list(slot.past.clone().unbind())
    if h.differentiable:
        # Autograd remembers what it saw; `_write` must not change that afterwards.
        x = x.clone()
        memory = Memory(*(None if v is None else v.clone() for v in memory))  # type: ignore[arg-type]
    return x, g, memory, past


def _write(slot: Slot, x: Tensor, memory: Memory, past: list[Tensor]) -> None:
    write_param(slot, x)
    slot.exp_avg.copy_(memory.m)
    slot.exp_avg_sq.copy_(memory.s)
    if slot.max_exp_avg_sq is not None and memory.top is not None:
        slot.max_exp_avg_sq.copy_(memory.top)
    if slot.guard is not None and memory.guard is not None:
        slot.guard.copy_(memory.guard)
    if slot.past is not None:
        slot.past.copy_(torch.stack(past))


def _clamp(g: Tensor, bound: Tensor) -> Tensor:
    # An infinity passes: an overflow must be seen, not made an ordinary large step.
    return torch.where(g.isinf(), g, g.clamp(-bound, bound))


def _observe(memory: Memory, g: Tensor, h: Settings, eps_fed: Scalar) -> Memory:
    """Let m, s and the guard hear of one gradient."""
    m = h.beta1 * memory.m + (1 - h.beta1) * g
    r = g
    if h.rule.centered:
        r = g - (m if h.convention.residual == "current" else memory.m)
    r2 = r * r
    if h.rule.reduction is not None:
        r2 = whole(r2.amax() if h.rule.reduction == "max" else r2.mean())
    s = h.beta2 * memory.s + (1 - h.beta2) * r2
    if h.convention.eps_placement == "accumulated":
        s = s + eps_fed
    guard = memory.guard
    if guard is not None:
        size = g.abs()
        sums = whole((g * g).sum()), whole(size.sum()), whole(size.amax())
        guard = record(guard, sums, h.beta2)
    return Memory(m, s, memory.top, guard)


def _descend(
    memory: Memory, x: Tensor, window: list[Tensor], h: Settings, c: Scalars
) -> tuple[Memory, Tensor]:
    """Divide the numerator by the root of what s has seen so far, and move x."""
    s, top = memory.s, memory.top
    if top is not None and h.convention.amsgrad == "raw":
        s = top = torch.maximum(top, s)
    radicand = c.scale * s + c.floor
    if top is not None and h.convention.amsgrad == "corrected":
        radicand = torch.maximum(top, radicand)
        # Where nothing was seen yet the radicand is no measurement to remember.
        top = where(c.unseen, top, radicand)
    denominator = radicand.sqrt()
    if h.convention.eps_placement != "inside":
        denominator = denominator + h.eps
    numerator = _numerator(memory.m, window, h) * c.mean
    d = numerator / denominator
    if h.convention.first_step == "sgd":
        d = where(c.unseen, numerator, d)
    if c.bound is not None:
        d = clamp(d, c.bound)
    x = x - h.lr * d
    if h.constraint is not None:
        x = h.constraint.project(x, denominator)
    return memory._replace(top=top), x


def _numerator(m: Tensor, window: list[Tensor], h: Settings) -> Tensor:
    """The weighted sum of gradients that `mean` divides: m_t, or over the window."""
    if h.rule.delay == 0:
        return m if h.rule.numerator == "m" else window[-1]
    if h.rule.numerator == "m":  # m has not heard of the window yet
        for g in window:
            m = h.beta1 * m + (1 - h.beta1) * g
        return m
    total = window[0]
    for g in window[1:]:
        total = h.beta1 * total + g
    return total
