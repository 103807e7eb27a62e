"""All tensors of a kind at once, for devices where a launch costs more than the work.

The same arithmetic as the loop kernel, in torch's list operations.
"""

# torch's list operations are documented as private, and are what torch.optim uses.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from acprop.optim.params import (
    HALF,
    ParamWithState,
    StepMoments,
    is_half_state,
    read_grad,
    read_moments,
    read_param,
    real,
    reduced,
    write_moments,
    write_param,
)
from acprop.optim.step_options import (
    Scalar,
    Scalars,
    StepOptions,
    is_number,
    kept,
    scalars_of_all,
    where,
)

Tensors = list[Tensor]


class Columns(NamedTuple):
    """The moments of all tensors, in the letters of the reference; [] if none has."""

    m: Tensors
    s: Tensors
    top: Tensors
    M: Tensors


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step."""
    kinds: dict[tuple[torch.device, torch.dtype], list[ParamWithState]] = {}
    torch._foreach_add_([item.step for item in items], 1)
    for item in items:
        if item.param.numel() > 0:
            kinds.setdefault((item.param.device, item.param.dtype), []).append(item)
    for same in kinds.values():
        _update(same, h)


def _update(items: list[ParamWithState], h: StepOptions) -> None:
    if torch.compiler.is_compiling():
        # As a number it would be compiled in, and every new lr a new graph.
        h = h._replace(lr=h.lr * torch.ones((), device=items[0].param.device))
    half = items[0].param.dtype in HALF
    xs = [read_param(item) if half else real(item.param) for item in items]
    gs = [read_grad(item) for item in items]
    if h.maximize:
        gs = torch._foreach_neg(gs)
    if h.weight_decay != 0:
        if h.decoupled_weight_decay:
            torch._foreach_mul_(xs, 1 - h.lr * h.weight_decay)
        else:
            gs = torch._foreach_add(gs, xs, alpha=h.weight_decay)
    # One list for each step, oldest first.
    pasts = [item.past.clone().unbind() for item in items if item.past is not None]
    window = [list(step) for step in (*zip(*pasts, strict=True), gs)]
    moments = [read_moments(item) for item in items]
    columns = zip(*moments, strict=True)
    state = Columns(*([t for t in column if t is not None] for column in columns))
    steps = [item.step for item in items]
    cs = list(scalars_of_all(h, steps, [m.s for m in moments]))
    if h.rule.delay == 0:
        _observe(state, window[0], None, h, cs)
        _descend(state, xs, window, h, cs)
    else:
        expected = _descend(state, xs, window, h, cs)
        _observe(state, window[0], expected, h, cs)
        for i, item in enumerate(items):
            if item.past is not None:
                item.past.copy_(torch.stack([gs[i] for gs in window[1:]]))
    _write(items, xs, moments)


def _write(
    items: list[ParamWithState], xs: Tensors, moments: list[StepMoments]
) -> None:
    """What was not changed in place."""
    for item, x, numbers in zip(items, xs, moments, strict=True):
        if item.param.dtype in HALF:
            write_param(item, x)
        if is_half_state(item):
            write_moments(item, numbers)


def _observe(
    state: Columns,
    gs: Tensors,
    expected: Tensors | None,
    h: StepOptions,
    cs: list[Scalars],
) -> None:
    """Let every m and s learn of one gradient."""
    on_m = h.rule.center == "m"
    rs: Sequence[Tensor] = gs
    if on_m and h.convention.residual == "previous":
        rs = torch._foreach_sub(gs, state.m)
    if state.m:
        torch._foreach_mul_(state.m, h.beta_m)
        torch._foreach_add_(state.m, gs, alpha=1 - h.beta_m)
    if on_m and h.convention.residual == "current":
        rs = torch._foreach_sub(gs, state.m)
    if expected is not None:
        rs = torch._foreach_sub(gs, expected)
    torch._foreach_mul_(state.s, h.beta2)
    if h.rule.reduction is None:
        torch._foreach_addcmul_(state.s, rs, rs, value=h.gain)
    else:
        for s, r in zip(state.s, rs, strict=True):
            s.add_(h.gain * reduced(r * r, h.rule.reduction))
    if h.convention.eps_placement == "accumulated":
        _add(state.s, [c.eps_added for c in cs])


def _descend(
    state: Columns,
    xs: Tensors,
    window: list[Tensors],
    h: StepOptions,
    cs: list[Scalars],
) -> Tensors | None:
    """Divide by the roots of what s has seen so far, and move x.

    Return the gradients that the averages implied, if s is centered on these.
    """
    ss = state.s
    if state.top and h.convention.amsgrad == "raw":
        torch._foreach_maximum_(state.top, ss)
        ss = state.top
    roots = _multiply(ss, [c.scale for c in cs])
    floors = [c.floor for c in cs]
    if not _all_equal(floors, 0):
        _add(roots, floors)
    if state.top and h.convention.amsgrad == "corrected":
        torch._foreach_maximum_(roots, state.top)
        for top, radicand, c in zip(state.top, roots, cs, strict=True):
            top.copy_(where(c.unseen, top, radicand))
    roots = list(torch._foreach_sqrt(list(map(kept, roots))))
    if cs[0].eps != 0:
        torch._foreach_add_(roots, cs[0].eps)
    numerators = _numerators(state.m, window, h, [c.numerator_scale for c in cs])
    us = list(torch._foreach_div(numerators, roots))
    if h.convention.first_step == "sgd":
        for c, n, u in zip(cs, numerators, us, strict=True):
            u.copy_(where(c.unseen, n, u))
    us = _clip(us, [c.bound for c in cs])
    torch._foreach_add_(us, numerators, alpha=0)  # Note [Infinite gradients], loop.py
    expected = _expected(state.M, roots) if h.rule.center == "average" else None
    del roots  # their memory is needed for what follows
    ds = _averaged(state.M, us, h) if state.M else us
    del us
    if isinstance(h.lr, Tensor):
        torch._foreach_sub_(xs, torch._foreach_mul(ds, h.lr))
    else:
        torch._foreach_add_(xs, ds, alpha=-h.lr)
    if h.constraint is not None:
        for x in xs:
            x.copy_(h.constraint.project(x))
    return expected


def _expected(Ms: Tensors, roots: Tensors) -> Tensors:
    """The gradients that the averages so far imply."""
    expected = list(torch._foreach_clamp_max(Ms, 1.0))
    torch._foreach_clamp_min_(expected, -1.0)
    torch._foreach_mul_(expected, roots)
    return expected


def _averaged(Ms: Tensors, us: Tensors, h: StepOptions) -> Tensors:
    """Average every u, which is changed, and return the directions."""
    torch._foreach_mul_(us, 1 - h.beta1)
    us = list(map(kept, us))
    torch._foreach_mul_(Ms, h.beta1)
    torch._foreach_add_(Ms, us)
    if not h.rule.nesterov:
        return Ms
    return list(torch._foreach_add(us, list(map(kept, Ms)), alpha=h.beta1))


def _numerators(
    ms: Tensors, window: list[Tensors], h: StepOptions, means: list[Scalar]
) -> Tensors:
    """m_t, or the mean over the window, of every tensor."""
    if h.rule.average == "before":
        sums: Sequence[Tensor] = ms
        # With a delay m does not know the window yet.
        ahead = [*(window if h.rule.delay else []), *window[-1:] * h.rule.nesterov]
        for gs in ahead:
            sums = torch._foreach_mul(sums, h.beta1)
            torch._foreach_add_(sums, gs, alpha=1 - h.beta1)
    else:
        sums = window[0]
        for gs in window[1:]:
            sums = torch._foreach_mul(sums, h.beta1)
            torch._foreach_add_(sums, gs)
    return list(sums) if _all_equal(means, 1) else _multiply(sums, means)


def _clip(us: Tensors, bounds: list[Scalar | None]) -> Tensors:
    if bounds[0] is not None:
        # These two, because DTensor knows no list form of maximum and minimum.
        torch._foreach_clamp_max_(us, bounds)  # type: ignore[arg-type]
        lower = [-bound for bound in bounds]  # type: ignore[operator]
        torch._foreach_clamp_min_(us, lower)  # type: ignore[arg-type]
    return us


def _all_equal(numbers: list[Scalar], value: float) -> bool:
    return all(is_number(n, value) for n in numbers)


def _multiply(tensors: Sequence[Tensor], factors: list[Scalar]) -> Tensors:
    """A new list; the factors are all numbers or all tensors."""
    return list(torch._foreach_mul(tensors, factors))  # type: ignore[arg-type]


def _add(tensors: Tensors, terms: list[Scalar]) -> None:
    torch._foreach_add_(tensors, terms)  # type: ignore[arg-type]
