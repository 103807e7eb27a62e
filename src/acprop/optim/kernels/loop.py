"""One tensor at a time: the readable kernel, and the one torch.compile compiles.

Nothing is changed in place before the last lines, so that the same code can be
compiled, differentiated, and run in float32 for a half-precision parameter.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from acprop.optim.params import (
    ParamWithState,
    StepMoments,
    read_grad,
    read_moments,
    read_param,
    reduced,
    write_moments,
    write_param,
)
from acprop.optim.step_options import (
    Scalars,
    StepOptions,
    clamp,
    is_number,
    kept,
    scalars_of_all,
    weighted_sum,
    where,
)


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step."""
    for item in items:
        item.step.add_(1)
    items = [item for item in items if item.param.numel() > 0]
    steps, states = [i.step for i in items], [i.exp_avg_sq for i in items]
    for item, c in zip(items, scalars_of_all(h, steps, states), strict=True):
        _advance(item, h, c)


def _advance(item: ParamWithState, h: StepOptions, c: Scalars) -> None:
    # A function, so that its temporaries are freed before the next tensor.
    x, g, moments = read(item, h)
    past = [] if item.past is None else list(item.past.clone().unbind())
    window = [*past, g]
    x, moments = move(x, moments, window, h, c)
    write(item, x, moments)
    if item.past is not None:
        item.past.copy_(torch.stack(window[1:]))


def read(item: ParamWithState, h: StepOptions) -> tuple[Tensor, Tensor, StepMoments]:
    """x after weight decay, the gradient as the method sees it, and the moments."""
    x, g, moments = read_param(item), read_grad(item), read_moments(item)
    if h.differentiable:
        # Autograd remembers what it saw; `write` must not change that afterwards.
        x = x.clone()
        moments = StepMoments(*(None if v is None else v.clone() for v in moments))  # type: ignore[arg-type]
    if h.maximize:
        g = -g
    if isinstance(h.weight_decay, Tensor) or h.weight_decay != 0:
        if h.decoupled_weight_decay:
            x = x * (1 - h.lr * h.weight_decay)
        else:
            g = g + h.weight_decay * x
    return x, g, moments


def write(item: ParamWithState, x: Tensor, moments: StepMoments) -> None:
    """The way back of `read`."""
    write_param(item, x)
    write_moments(item, moments)


def move(
    x: Tensor, moments: StepMoments, window: list[Tensor], h: StepOptions, c: Scalars
) -> tuple[Tensor, StepMoments]:
    """Take the step, and let m and s learn of the oldest gradient of the window.

    Asynchronous means: divide by s before s knows this gradient. The order of the two
    calls is the difference between ACProp and its synchronous twins.
    """
    if h.rule.delay == 0:
        moments = _observe(moments, window[0], None, h, c)
        x, moments, _ = _descend(x, moments, window, h, c)
        return x, moments
    x, moved, denominator = _descend(x, moments, window, h, c)
    expected = None
    if h.rule.center == "average" and moments.M is not None:
        # Within ±1: an average of large steps must not make s feed on itself.
        expected = denominator * kept(moments.M.clamp(-1, 1))
    return x, _observe(moved, window[0], expected, h, c)


def _observe(
    moments: StepMoments,
    g: Tensor,
    expected: Tensor | None,
    h: StepOptions,
    c: Scalars,
) -> StepMoments:
    """Let m and s learn of one gradient; `expected` is what the average implied."""
    m, r = moments.m, g
    if moments.m is not None:
        m = h.beta_m * moments.m + (1 - h.beta_m) * g
    if h.rule.center == "m":
        mean = m if h.convention.residual == "current" else moments.m
        assert mean is not None  # `Rule.keeps_m`
        r = g - mean
    if expected is not None:
        r = g - expected
    r2 = r.square()
    if h.rule.reduction is not None:
        r2 = reduced(r2, h.rule.reduction)
    s = weighted_sum(h.beta2, moments.s, h.gain * r2)
    if h.convention.eps_placement == "accumulated":
        s = s + c.eps_added
    return moments._replace(m=m, s=s)


def _descend(
    x: Tensor, moments: StepMoments, window: list[Tensor], h: StepOptions, c: Scalars
) -> tuple[Tensor, StepMoments, Tensor]:
    """Divide by the root of what s has seen so far, and move x.

    The denominator is returned too.
    """
    s, top = moments.s, moments.top
    if top is not None and h.convention.amsgrad == "raw":
        s = top = torch.maximum(top, s)
    radicand = kept(c.scale * s)
    if not is_number(c.floor, 0):
        radicand = radicand + c.floor
    if top is not None and h.convention.amsgrad == "corrected":
        radicand = torch.maximum(top, radicand)
        # Where nothing was seen yet the radicand is no measurement to remember.
        top = where(c.unseen, top, radicand)
    denominator = _root(radicand, h) + c.eps
    numerator = _numerator(moments.m, window, h)
    if not is_number(c.numerator_scale, 1):
        numerator = numerator * c.numerator_scale
    u = numerator / denominator
    if h.convention.first_step == "sgd":
        u = where(c.unseen, numerator, u)
    u = torch.add(clamp(u, c.bound), numerator, alpha=0)  # Note [Infinite gradients]
    d = u
    if moments.M is not None:
        new = kept((1 - h.beta1) * u)
        d = kept(weighted_sum(h.beta1, moments.M, new))
        moments = moments._replace(M=d)
        if h.rule.nesterov:
            d = h.beta1 * d + new
    x = x - h.lr * d
    if h.constraint is not None:
        x = h.constraint.project(x)
    return x, moments._replace(top=top), denominator


# Note [Infinite gradients]
# A bound would make an ordinary step of an infinite gradient. s would be infinite from
# then on, no later step of that element would be other than 0, and nobody would see it.
# 0 · ∞ is NaN, and 0 · g is 0 otherwise: it shows in the parameter at once, as it does
# in torch.optim. As `alpha`, because Inductor takes the product 0 * g for 0.


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
    total = window[0]
    for g in window[1:]:
        total = h.beta1 * total + g
    return total
