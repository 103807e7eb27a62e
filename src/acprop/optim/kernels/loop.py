"""One tensor at a time: the readable kernel, and the one torch.compile compiles.

Nothing is changed in place before the last lines, so that the same code can be
compiled, differentiated, and run in float32 for a half-precision parameter.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from acprop.optim.params import (
    ParamWithState,
    full_tensor,
    peak,
    read_grad,
    read_param,
    write_param,
)
from acprop.optim.step_options import (
    Scalar,
    Scalars,
    StepOptions,
    clamp,
    scalars,
    step_number,
    where,
)


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step."""
    for item in items:
        item.step.add_(1)
        if item.param.numel() > 0:
            advance(item, h)


class Moments(NamedTuple):
    """What a tensor remembers of its gradients, in the letters of the reference."""

    m: Tensor | None
    s: Tensor
    top: Tensor | None
    M: Tensor | None


def advance(item: ParamWithState, h: StepOptions) -> None:
    """Move one parameter; its step counter has been advanced."""
    t = step_number(item.step, item.exp_avg_sq, h)
    x, g, memory = read(item, h)
    past = [] if item.past is None else list(item.past.clone().unbind())
    window = [*past, g]
    x, memory = move(x, memory, window, h, scalars(h, t, item.exp_avg_sq.dtype))
    write(item, x, memory)
    if item.past is not None:
        item.past.copy_(torch.stack(window[1:]))


def read(item: ParamWithState, h: StepOptions) -> tuple[Tensor, Tensor, Moments]:
    """x after weight decay, the gradient as the method sees it, and the memory."""
    x, g = read_param(item), read_grad(item)
    memory = Moments(
        item.exp_avg, item.exp_avg_sq, item.max_exp_avg_sq, item.momentum_buffer
    )
    if h.differentiable:
        # Autograd remembers what it saw; `write` must not change that afterwards.
        x = x.clone()
        memory = Moments(*(None if v is None else v.clone() for v in memory))  # type: ignore[arg-type]
    if h.maximize:
        g = -g
    if isinstance(h.weight_decay, Tensor) or h.weight_decay != 0:
        if h.decoupled_weight_decay:
            x = x * (1 - h.lr * h.weight_decay)
        else:
            g = g + h.weight_decay * x
    return x, g, memory


def write(item: ParamWithState, x: Tensor, memory: Moments) -> None:
    """The way back of `read`."""
    write_param(item, x)
    if item.exp_avg is not None and memory.m is not None:
        item.exp_avg.copy_(memory.m)
    item.exp_avg_sq.copy_(memory.s)
    if item.max_exp_avg_sq is not None and memory.top is not None:
        item.max_exp_avg_sq.copy_(memory.top)
    if item.momentum_buffer is not None and memory.M is not None:
        item.momentum_buffer.copy_(memory.M)


def move(
    x: Tensor, memory: Moments, window: list[Tensor], h: StepOptions, c: Scalars
) -> tuple[Tensor, Moments]:
    """Take the step, and let m and s learn of the oldest gradient of the window.

    Asynchronous means: divide by s before s knows this gradient. The order of the two
    calls is the difference between ACProp and its synchronous twins.
    """
    if h.rule.delay == 0:
        memory = _observe(memory, window[0], None, h, h.eps)
        x, memory, _ = _descend(x, memory, window, h, c)
        return x, memory
    x, moved, denominator = _descend(x, memory, window, h, c)
    expected = None
    if h.rule.center == "average" and memory.M is not None:
        # Within ±1: an average of large steps must not make s feed on itself.
        expected = denominator * memory.M.clamp(-1, 1)
    return x, _observe(moved, window[0], expected, h, c.eps_added)


def _observe(
    memory: Moments,
    g: Tensor,
    expected: Tensor | None,
    h: StepOptions,
    eps_added: Scalar,
) -> Moments:
    """Let m and s learn of one gradient; `expected` is what the average implied."""
    m, r = memory.m, g
    if memory.m is not None:
        m = h.beta_m * memory.m + (1 - h.beta_m) * g
    if h.rule.center == "m":
        mean = m if h.convention.residual == "current" else memory.m
        assert mean is not None  # `Rule.keeps_m`
        r = g - mean
    if expected is not None:
        r = g - expected
    r2 = r * r
    if h.rule.reduction is not None:
        r2 = peak(r2) if h.rule.reduction == "max" else full_tensor(r2.mean())
    s = h.beta2 * memory.s + h.gain * r2
    if h.convention.eps_placement == "accumulated":
        s = s + eps_added
    return memory._replace(m=m, s=s)


def _descend(
    x: Tensor, memory: Moments, window: list[Tensor], h: StepOptions, c: Scalars
) -> tuple[Tensor, Moments, Tensor]:
    """Divide by the root of what s has seen so far, and move x.

    The denominator is returned too.
    """
    s, top = memory.s, memory.top
    if top is not None and h.convention.amsgrad == "raw":
        s = top = torch.maximum(top, s)
    radicand = c.scale * s + c.floor
    if top is not None and h.convention.amsgrad == "corrected":
        radicand = torch.maximum(top, radicand)
        # Where nothing was seen yet the radicand is no measurement to remember.
        top = where(c.unseen, top, radicand)
    denominator = _root(radicand, h) + h.eps_outside(s.dtype)
    numerator = _numerator(memory.m, window, h) * c.numerator_scale
    u = numerator / denominator
    if h.convention.first_step == "sgd":
        u = where(c.unseen, numerator, u)
    u = clamp(u, c.bound) + 0 * numerator  # Note [Infinite gradients]
    d = u
    if memory.M is not None:
        d = h.beta1 * memory.M + (1 - h.beta1) * u
        memory = memory._replace(M=d)
        if h.rule.nesterov:
            d = h.beta1 * d + (1 - h.beta1) * u
    x = x - h.lr * d
    if h.constraint is not None:
        x = h.constraint.project(x)
    return x, memory._replace(top=top), denominator


# Note [Infinite gradients]
# A bound would make an ordinary step of an infinite gradient. s would be infinite from
# then on, no later step of that element would be other than 0, and nobody would see it.
# 0 · ∞ is NaN, and 0 · g is 0 otherwise: it shows in the parameter at once, as it does
# in torch.optim.


def _root(radicand: Tensor, h: StepOptions) -> Tensor:
    if not h.differentiable:
        return radicand.sqrt()
    # The slope of √ at 0 is infinite; behind a bound that hides it, it must be 0.
    seen = radicand > 0
    return torch.where(seen, torch.where(seen, radicand, 1.0).sqrt(), 0.0)


def _numerator(m: Tensor | None, window: list[Tensor], h: StepOptions) -> Tensor:
    """The weighted sum of gradients that `mean` divides: m_t, or over the window."""
    if h.rule.average == "before":
        assert m is not None  # `Rule.keeps_m`
        if h.rule.delay > 0:  # m does not know the window yet
            for g in window:
                m = h.beta1 * m + (1 - h.beta1) * g
        if h.rule.nesterov:
            m = h.beta1 * m + (1 - h.beta1) * window[-1]
        return m
    if h.rule.delay == 0:
        return window[-1]
    total = window[0]
    for g in window[1:]:
        total = h.beta1 * total + g
    return total
