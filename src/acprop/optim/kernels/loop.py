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
            advance(slot, h)


class Memory(NamedTuple):
    """What a tensor remembers of its gradients, in the letters of the reference."""

    m: Tensor
    s: Tensor
    top: Tensor | None


def advance(slot: Slot, h: Settings) -> None:
    """Move one parameter; its step counter has been advanced."""
    t = step_number(slot.step, slot.exp_avg, h)
    guard = slot.guard
    if guard is not None and h.differentiable:
        guard = guard.clone()
    x, g, memory = read(slot, h, None if guard is None else limit(h, guard))
    past = [] if slot.past is None else list(slot.past.clone().unbind())
    window = [*past, g]
    if guard is not None and h.rule.delay == 0:
        guard = record(guard, sums(g), h.beta2)
    c = scalars(h, t, guard)
    x, memory = move(x, memory, window, h, c)
    if h.rule.delay > 0:
        left = window.pop(0)
        if guard is not None:
            guard = record(guard, sums(left), h.beta2)
    write(slot, x, memory)
    if slot.guard is not None and guard is not None:
        slot.guard.copy_(guard)
    if slot.past is not None:
        slot.past.copy_(torch.stack(window))


def read(
    slot: Slot, h: Settings, bound: Tensor | None
) -> tuple[Tensor, Tensor, Memory]:
    """x after weight decay, the gradient as the method sees it, and m, s, top."""
    x, g = read_param(slot), read_grad(slot)
    m, s, top = slot.exp_avg, slot.exp_avg_sq, slot.max_exp_avg_sq
    if h.differentiable:
        # Autograd remembers what it saw; `write` must not change that afterwards.
        x, m, s = x.clone(), m.clone(), s.clone()
        top = None if top is None else top.clone()
    if h.maximize:
        g = -g
    if h.weight_decay != 0:
        if h.decoupled_weight_decay:
            x = x * (1 - h.lr * h.weight_decay)
        else:
            g = g + h.weight_decay * x
    if bound is not None:
        # An infinity passes: an overflow must be seen, not made an ordinary step.
        g = torch.where(g.isinf(), g, clamp(g, bound))
    return x, g, Memory(m, s, top)


def write(slot: Slot, x: Tensor, memory: Memory) -> None:
    """The way back of `read`."""
    write_param(slot, x)
    slot.exp_avg.copy_(memory.m)
    slot.exp_avg_sq.copy_(memory.s)
    if slot.max_exp_avg_sq is not None and memory.top is not None:
        slot.max_exp_avg_sq.copy_(memory.top)


def move(
    x: Tensor, memory: Memory, window: list[Tensor], h: Settings, c: Scalars
) -> tuple[Tensor, Memory]:
    """Take the step, and let m and s hear of the oldest gradient of the window.

    Asynchronous means: divide by s before s has heard of this gradient. The order of
    the two calls is the whole difference between ACProp and AdaBelief.
    """
    if h.rule.delay == 0:
        memory = _observe(memory, window[0], h, h.eps)
        return _descend(x, memory, window, h, c)
    x, memory = _descend(x, memory, window, h, c)
    return x, _observe(memory, window[0], h, c.eps_fed)


def sums(g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Σg², Σ|g| and max|g|, for the guard."""
    size = g.abs()
    return whole((g * g).sum()), whole(size.sum()), whole(size.amax())


def _observe(memory: Memory, g: Tensor, h: Settings, eps_fed: Scalar) -> Memory:
    """Let m and s hear of one gradient."""
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
    return Memory(m, s, memory.top)


def _descend(
    x: Tensor, memory: Memory, window: list[Tensor], h: Settings, c: Scalars
) -> tuple[Tensor, Memory]:
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
    x = x - h.lr * clamp(d, c.bound)
    if h.constraint is not None:
        x = h.constraint.project(x, denominator)
    return x, memory._replace(top=top)


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
