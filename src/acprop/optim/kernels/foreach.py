"""All tensors of a kind at once, for devices where a launch costs more than the work.

The same arithmetic as the loop kernel, in torch's list operations. Scalars that differ
from tensor to tensor travel as one vector and are handed out by `unbind`, so nothing
waits for the device.
"""

# torch's list operations are documented as private, and are what torch.optim uses.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Sequence
from typing import Any

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
from acprop.optim.slots import (
    HALF,
    Slot,
    read_grad,
    read_param,
    real,
    whole,
    write_param,
)

Tensors = list[Tensor]


def update(slots: Sequence[Slot], h: Settings) -> None:
    """Move every parameter by one step."""
    for slot in slots:
        slot.step.add_(1)
    kinds: dict[tuple[torch.device, torch.dtype], list[Slot]] = {}
    for slot in slots:
        if slot.param.numel() > 0:
            kinds.setdefault((slot.param.device, slot.param.dtype), []).append(slot)
    for same in kinds.values():
        _update(same, h)


def _update(slots: list[Slot], h: Settings) -> None:
    if torch.compiler.is_compiling():
        # As a number it would be compiled in, and every new lr a new graph.
        h = h._replace(lr=h.lr * torch.ones((), device=slots[0].param.device))
    half = slots[0].param.dtype in HALF
    xs = [read_param(slot) if half else real(slot.param) for slot in slots]
    gs = [read_grad(slot) for slot in slots]
    if h.maximize:
        gs = torch._foreach_neg(gs)
    if h.weight_decay != 0:
        if h.decoupled_weight_decay:
            torch._foreach_mul_(xs, 1 - h.lr * h.weight_decay)
        else:
            gs = torch._foreach_add(gs, xs, alpha=h.weight_decay)
    gs = list(gs)
    if slots[0].guard is not None:
        bounds = limit(h, _stack([slot.guard for slot in slots])).unbind()
        gs = [
            torch.where(g.isinf(), g, g.clamp(-bound, bound))
            for g, bound in zip(gs, bounds, strict=True)
        ]
    window = [*_past(slots), gs]
    if h.rule.delay == 0:
        _observe(slots, gs, h, [h.eps] * len(slots))
        _descend(slots, xs, window, h, _scalars(slots, h))
    else:
        cs = _scalars(slots, h)
        _descend(slots, xs, window, h, cs)
        _observe(slots, window[0], h, [c.eps_fed for c in cs])
        for i, slot in enumerate(slots):
            if slot.past is not None:
                slot.past.copy_(torch.stack([gs[i] for gs in window[1:]]))
    if half:
        for slot, x in zip(slots, xs, strict=True):
            write_param(slot, x)


def _past(slots: list[Slot]) -> list[Tensors]:
    """The window but for g_t: one list of tensors per past step, oldest first."""
    pasts = [slot.past.clone().unbind() for slot in slots if slot.past is not None]
    return [list(gs) for gs in zip(*pasts, strict=True)]


def _scalars(slots: list[Slot], h: Settings) -> list[Scalars]:
    """The scalars of each tensor; one vector computation where they are tensors."""
    steps = [step_number(slot.step, slot.exp_avg, h) for slot in slots]
    if slots[0].guard is None:
        return [scalars(h, t, None) for t in steps]
    guards = _stack([slot.guard for slot in slots])
    if not h.on_device and len(set(steps)) == 1:
        together = scalars(h, steps[0], guards)
    else:
        together = scalars(
            h, torch.stack([torch.as_tensor(t) for t in steps]).to(guards), guards
        )
    return [_nth(together, i) for i in range(len(slots))]


def _nth(together: Scalars, i: int) -> Scalars:
    fields: list[Any] = [f[i] if isinstance(f, Tensor) else f for f in together]
    return Scalars(*fields)


def _stack(guards: Sequence[Tensor | None]) -> Tensor:
    return torch.stack([guard for guard in guards if guard is not None])


def _observe(
    slots: list[Slot], gs: Tensors, h: Settings, eps_fed: list[Scalar]
) -> None:
    """Let every m, s and guard hear of one gradient."""
    ms = [slot.exp_avg for slot in slots]
    ss = [slot.exp_avg_sq for slot in slots]
    rs: Sequence[Tensor] = gs
    if h.rule.centered and h.convention.residual == "previous":
        rs = torch._foreach_sub(gs, ms)
    torch._foreach_mul_(ms, h.beta1)
    torch._foreach_add_(ms, gs, alpha=1 - h.beta1)
    if h.rule.centered and h.convention.residual == "current":
        rs = torch._foreach_sub(gs, ms)
    torch._foreach_mul_(ss, h.beta2)
    if h.rule.reduction is None:
        torch._foreach_addcmul_(ss, rs, rs, value=1 - h.beta2)
    else:
        for s, r in zip(ss, rs, strict=True):
            r2 = (r * r).amax() if h.rule.reduction == "max" else (r * r).mean()
            s.add_((1 - h.beta2) * whole(r2))
    if h.convention.eps_placement == "accumulated":
        _add(ss, eps_fed)
    if slots[0].guard is not None:
        sums = _sum_sq(gs), _norms(gs, 1), _norms(gs, float("inf"))
        guards = record(_stack([slot.guard for slot in slots]), sums, h.beta2)
        for slot, guard in zip(slots, guards.unbind(), strict=True):
            if slot.guard is not None:
                slot.guard.copy_(guard)


def _norms(gs: Tensors, order: float) -> Tensor:
    return torch.stack([whole(norm) for norm in torch._foreach_norm(gs, order)])


def _sum_sq(gs: Tensors) -> Tensor:
    return _norms(gs, 2).square()


def _descend(
    slots: list[Slot],
    xs: Tensors,
    window: list[Tensors],
    h: Settings,
    cs: list[Scalars],
) -> None:
    """Divide the numerators by the roots of what s has seen so far, and move x."""
    ss = [slot.exp_avg_sq for slot in slots]
    tops = [slot.max_exp_avg_sq for slot in slots if slot.max_exp_avg_sq is not None]
    if tops and h.convention.amsgrad == "raw":
        torch._foreach_maximum_(tops, ss)
        ss = tops
    roots = _multiply(ss, [c.scale for c in cs])
    _add(roots, [c.floor for c in cs])
    if tops and h.convention.amsgrad == "corrected":
        torch._foreach_maximum_(roots, tops)
        for top, radicand, c in zip(tops, roots, cs, strict=True):
            top.copy_(where(c.unseen, top, radicand))
    torch._foreach_sqrt_(roots)
    if h.convention.eps_placement != "inside":
        torch._foreach_add_(roots, h.eps)
    numerators = _numerators(slots, window, h, [c.mean for c in cs])
    ds = list(torch._foreach_div(numerators, roots))
    if h.convention.first_step == "sgd":
        ds = [where(c.unseen, n, d) for c, n, d in zip(cs, numerators, ds, strict=True)]
    if h.clip is not None:
        ds = [clamp(d, c.bound) for c, d in zip(cs, ds, strict=True)]
    if isinstance(h.lr, Tensor):
        torch._foreach_sub_(xs, torch._foreach_mul(ds, h.lr))
    else:
        torch._foreach_add_(xs, ds, alpha=-h.lr)
    if h.constraint is not None:
        for x, root in zip(xs, roots, strict=True):
            x.copy_(h.constraint.project(x, root))


def _numerators(
    slots: list[Slot], window: list[Tensors], h: Settings, means: list[Scalar]
) -> Tensors:
    """m_t, or the mean over the window, of every tensor."""
    ms = [slot.exp_avg for slot in slots]
    if h.rule.delay == 0:
        sums = ms if h.rule.numerator == "m" else window[-1]
    elif h.rule.numerator == "m":  # m has not heard of the window yet
        sums = ms
        for gs in window:
            sums = torch._foreach_mul(sums, h.beta1)
            torch._foreach_add_(sums, gs, alpha=1 - h.beta1)
    else:
        sums = window[0]
        for gs in window[1:]:
            sums = torch._foreach_mul(sums, h.beta1)
            torch._foreach_add_(sums, gs)
    return list(sums) if _all_one(means) else _multiply(sums, means)


def _all_one(factors: list[Scalar]) -> bool:
    return all(not isinstance(f, Tensor) and f == 1 for f in factors)


def _multiply(tensors: Sequence[Tensor], factors: list[Scalar]) -> Tensors:
    """A new list; the factors are all numbers or all tensors."""
    return list(torch._foreach_mul(tensors, factors))  # type: ignore[arg-type]


def _add(tensors: Tensors, terms: list[Scalar]) -> None:
    torch._foreach_add_(tensors, terms)  # type: ignore[arg-type]
