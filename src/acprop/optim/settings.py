"""What a step needs to know besides tensors: a group's options, and its scalars.

Every kernel computes the same four lines (letters of the paper; `reference.step` is
the long form):

    g      clamped to ±limit
    d    = mean · (what the numerator sums up) / (√(scale·s + floor) [+ ε])
    x    = x - lr·d
    m, s   updated

All the fine print of rule, convention and guard is in the scalars `limit`, `scale`,
`floor` and `mean`, computed once per tensor and step.
"""

import math
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from acprop import rule as rules
from acprop.optim.constraints import Constraint, from_plain
from acprop.rule import Convention, Rule

# A number, or a 0-dim tensor where the value lives on a device (capturable, compiled,
# guarded); the arithmetic below is written so that both pass.
Scalar = float | Tensor
Clip = float | Literal["t**0.25"] | None


class Settings(NamedTuple):
    """The options of one parameter group, resolved."""

    rule: Rule
    convention: Convention
    lr: Scalar
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    decoupled_weight_decay: bool
    amsgrad: bool
    clip: Clip
    constraint: Constraint | None
    maximize: bool
    # Does the step counter have to stay a tensor?
    on_device: bool
    differentiable: bool


def settings_of(group: dict[str, Any]) -> Settings:
    """Read a parameter group."""
    beta1, beta2 = group["betas"]
    return Settings(
        rule=rule_of(group),
        convention=rules.convention(group["convention"]),
        lr=_to_0_dim(group["lr"]),
        beta1=beta1,
        beta2=beta2,
        eps=group["eps"],
        weight_decay=group["weight_decay"],
        decoupled_weight_decay=group["decoupled_weight_decay"],
        amsgrad=group["amsgrad"],
        clip=group["clip"],
        constraint=from_plain(group["constraint"]),
        maximize=group["maximize"],
        on_device=group["capturable"] or torch.compiler.is_compiling(),
        differentiable=group["differentiable"],
    )


def rule_of(group: dict[str, Any]) -> Rule:
    """Read the rule out of a parameter group."""
    return Rule(
        centered=group["centered"],
        delay=group["delay"],
        numerator=group["numerator"],
        reduction=group["reduction"],
    )


def _to_0_dim(lr: Scalar) -> Scalar:
    """A one-element tensor of any shape must not lend its shape to what it scales."""
    return lr.squeeze() if isinstance(lr, Tensor) and lr.dim() > 0 else lr


def step_number(step: Tensor, state: Tensor, h: Settings) -> Scalar:
    """The step counter as a number, or as a tensor beside the state it will scale."""
    if not h.on_device:
        return step.item()
    return step.to(device=state.device, dtype=state.dtype)


class Scalars(NamedTuple):
    """The numbers of one step of one tensor.

    unseen: has s heard of no gradient yet?
    bound: on |d|, or None.
    eps_fed: what this step adds to the stored s ("accumulated" ε), else 0.
    """

    scale: Scalar
    floor: Scalar
    mean: Scalar
    unseen: bool | Tensor
    bound: Scalar | None
    eps_fed: Scalar


def scalars(h: Settings, t: Scalar, guard: Tensor | None) -> Scalars:
    """Compute the scalars of step t; guard is [..., (n, A, B)], see `record`.

    For a synchronous rule guard must have heard of g_t already, as s has.
    """
    k = _at_least_0(t - h.rule.delay)
    seen = _one_minus_power(h.beta2, k) if h.convention.bias_correction else 1.0
    floor: Scalar = h.eps if h.convention.eps_placement == "inside" else 0.0
    unseen = k == 0
    if guard is None:
        total = where(seen == 0, 1.0, seen) if h.convention.bias_correction else 1.0
    else:
        n, A, _ = guard.unbind(-1)
        q = (1 - h.beta2) * h.convention.n0 * h.beta2**k
        total = where(seen + q == 0, 1.0, seen + q)
        floor = (q / total + h.convention.kappa**2) * A + floor
        unseen = n == 0
    if h.convention.first_step == "stand still":
        # An unmeasured scale is infinite, and a step over infinity is none.
        floor = where(unseen, math.inf, floor)
    if h.convention.first_step == "one":
        floor = where(unseen, 1.0, floor)
    return Scalars(
        scale=1 / total,
        floor=floor,
        mean=_mean(h, t),
        unseen=unseen,
        bound=t**0.25 if h.clip == "t**0.25" else h.clip,
        eps_fed=_eps_fed(h, t),
    )


def limit(h: Settings, guard: Tensor) -> Tensor:
    """The largest magnitude at which a gradient element still counts in full."""
    n, _, B = guard.unbind(-1)
    return torch.where(n == 0, math.inf, h.convention.clamp * B)


def _mean(h: Settings, t: Scalar) -> Scalar:
    """The factor that turns the numerator's weighted sum into a mean."""
    if h.rule.numerator == "m":
        return 1 / _one_minus_power(h.beta1, t) if h.convention.bias_correction else 1.0
    if h.rule.delay <= 1:
        return 1.0
    n = _at_most(t, h.rule.delay)
    return (1 - h.beta1) / _one_minus_power(h.beta1, n)


def _eps_fed(h: Settings, t: Scalar) -> Scalar:
    if h.convention.eps_placement != "accumulated":
        return 0.0
    # Before the window is full nothing leaves it, so s hears of nothing.
    # In t's type: a bare comparison would make it float32 beside a float64 state.
    return where(t >= h.rule.delay, h.eps + 0 * t, 0.0)


def record(guard: Tensor, sums: tuple[Tensor, Tensor, Tensor], beta2: float) -> Tensor:
    """Update the guard's memory (n, A, B) with a gradient's (Σg², Σ|g|, max|g|).

        w = Σg² / Σ|g|         n = n + 1              B = max(B, max|g|)
        A = max(w², A + (w² - A)·max(1/n, (1 - β2)/10))

    A gradient that is zero throughout, or not finite, leaves no trace.
    """
    n_old, A_old, B_old = guard.unbind(-1)
    sum_sq, sum_abs, peak = sums
    # The inner where keeps 0/0 out of the backward pass of a differentiable step.
    w = sum_sq / torch.where(sum_abs == 0, 1.0, sum_abs)
    counts = (w > 0) & w.isfinite()
    n = n_old + counts
    pace = n.clamp(min=1).reciprocal().clamp(min=(1 - beta2) / 10)
    fallen = A_old + (w * w - A_old) * pace
    A = torch.where(counts, torch.maximum(w * w, fallen), A_old)
    B = torch.where(counts, torch.maximum(B_old, peak), B_old)
    return torch.stack([n, A, B], dim=-1)


def where(condition: bool | Tensor, yes: Any, no: Any) -> Any:
    """`torch.where` that leaves numbers alone when the condition is one."""
    if isinstance(condition, Tensor):
        return torch.where(condition, yes, no)
    return yes if condition else no


def clamp(d: Tensor, bound: Scalar | None) -> Tensor:
    """d within ±bound; None is no bound."""
    return d if bound is None else d.clamp(-bound, bound)  # type: ignore[arg-type]


def _at_least_0(x: Scalar) -> Scalar:
    return x.clamp(min=0) if isinstance(x, Tensor) else max(x, 0.0)


def _at_most(x: Scalar, bound: int) -> Scalar:
    return x.clamp(max=bound) if isinstance(x, Tensor) else min(x, bound)


def _one_minus_power(beta: float, t: Scalar) -> Scalar:
    if isinstance(t, Tensor) and beta > 0:
        # expm1, because in float32 the 1 - 0.999^1 of the first steps cancels.
        return -torch.expm1(t * math.log(beta))
    return 1 - beta**t
