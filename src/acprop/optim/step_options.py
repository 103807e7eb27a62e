"""What a step needs to know besides tensors: a group's options, and its scalars.

Every kernel computes the same lines (letters of the paper; `reference.step` is the
long form):

    u       = numerator_scale · (its weighted sum) / (√(scale·s + floor) + ε) in ±bound
    x       = x - lr·u             or the average of u, which may look one step ahead
    m, M, s   updated

All the fine print of rule and convention is in the scalars `scale`, `floor`,
`numerator_scale` and `bound`, computed once per tensor and step.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from acprop import rule as rules
from acprop.optim.constraints import Box, box_of
from acprop.optim.options import rule_of
from acprop.rule import Clip, Convention, Rule

# A number, or a 0-dim tensor where the value lives on a device (capturable, compiled)
# or is differentiated; the arithmetic below is written so that both pass.
Scalar = float | Tensor


class StepOptions(NamedTuple):
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
    as_rmsprop: bool
    clip: Clip
    constraint: Box | None
    maximize: bool
    # Does the step counter have to stay a tensor?
    on_device: bool
    differentiable: bool

    def safe_eps(self, dtype: torch.dtype) -> float:
        """ε. Where there is a bound, 0/0 must be 0: one too small for the type becomes
        its smallest normal number, beside which every root of a nonzero s is large.
        """
        guarded = self.convention.clip is not None
        return max(self.eps, torch.finfo(dtype).tiny) if guarded else self.eps

    @property
    def beta_m(self) -> float:
        """The decay of m, the mean of gradients."""
        own = self.as_rmsprop and self.rule.center == "m"
        return self.beta2 if own else self.beta1

    @property
    def gain(self) -> float:
        """The weight of a squared residual in s."""
        gain = 1 - self.beta2
        if self.rule.center == "average":
            # The average of the past has a variance of its own: E r² = 2/(1 + β1)·σ².
            gain = gain * (1 + self.beta1) / 2
        return gain


def step_options_of(group: dict[str, Any]) -> StepOptions:
    """Read a parameter group."""
    beta1, beta2 = group["betas"]
    lr = group["lr"]
    if isinstance(lr, Tensor) and lr.dim() > 0:
        # One element of any shape must not lend its shape to what it scales.
        lr = lr.squeeze()
    own = {
        "rule": rule_of(group),
        "convention": rules.convention(group["convention"]),
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "constraint": box_of(group["constraint"]),
        "on_device": group["capturable"] or torch.compiler.is_compiling(),
    }
    return StepOptions(
        **own, **{name: group[name] for name in StepOptions._fields if name not in own}
    )


class Scalars(NamedTuple):
    """The numbers of one step of one tensor.

    floor, eps: ε under the root, or beside it.
    unseen: does s know no gradient yet? Only where it matters, else False.
    bound: on |u|, or None.
    eps_added: what this step adds to the stored s ("accumulated" ε), else 0.
    """

    scale: Scalar
    floor: Scalar
    eps: float
    numerator_scale: Scalar
    unseen: bool | Tensor
    bound: Scalar | None
    eps_added: Scalar


def scalars_of_all(
    h: StepOptions, steps: list[Tensor], states: list[Tensor]
) -> Iterable[Scalars]:
    """Compute the scalars of a step, for the counter and the state of every tensor.

    One after the other, as tensors need memory. Compiled, for all at once: what is
    traced and compiled for each tensor by itself costs time for each.
    """
    if not torch.compiler.is_compiling():
        return (scalars(h, t, s) for t, s in zip(steps, states, strict=True))
    kinds: dict[Any, list[int]] = {}
    for i, (t, s) in enumerate(zip(steps, states, strict=True)):
        kinds.setdefault((t.device, t.dtype, s.device, s.dtype), []).append(i)
    found: dict[int, Scalars] = {}
    for places in kinds.values():
        together = torch.stack([steps[i] for i in places])
        columns = [
            kept(c).unbind() if isinstance(c, Tensor) else [c] * len(places)
            for c in scalars(h, together, states[places[0]])
        ]
        for i, *row in zip(places, *columns, strict=True):
            found[i] = Scalars(*row)
    return [found[i] for i in range(len(steps))]


def scalars(h: StepOptions, step: Tensor, state: Tensor) -> Scalars:
    """Compute the scalars of a step for state of this type."""
    dtype = torch.float32 if state.dtype == torch.bfloat16 else state.dtype
    # The counter as a number, or as a tensor beside the state it will scale.
    t: Scalar = step.item() if not h.on_device else step.to(state.device, dtype)
    unseen = t <= h.rule.delay
    total: Scalar = 1.0
    if h.convention.bias_correction:
        n_seen = t - h.rule.delay if isinstance(t, Tensor) else max(t - h.rule.delay, 0)
        total = where(unseen, 1.0, _one_minus_power(h.beta2, n_seen))
    eps = h.safe_eps(dtype)
    inside = h.convention.eps_placement == "inside"
    floor: Scalar = eps if inside else 0.0
    if h.convention.first_step == "one":
        floor = where(unseen, 1.0, floor)
    scale, mean = 1 / total, _numerator_scale(h, t)
    bound = t**0.25 if h.clip == "t**0.25" else h.clip
    if h.as_rmsprop:
        scale = scale * _variance(h)
        if h.rule.average == "after":  # a sum, M = β1·M + u
            mean = 1 / (1 - h.beta1)
            bound = None if bound is None else bound * mean
    beside = 0.0 if inside else eps
    if h.convention.first_step != "sgd" and not h.amsgrad:
        unseen = False
    return Scalars(scale, floor, beside, mean, unseen, bound, _eps_added(h, t))


def _variance(h: StepOptions) -> float:
    """What makes of s, the mean of (g - m)², that of g² less m²; exact for one decay.

    With m of the decay β2, s = β2·s + (1 - β2)·(g - m_t)² is β2 times it.
    """
    if h.rule.center != "m":
        return 1.0
    return h.beta2 if h.convention.residual == "previous" else 1 / (h.beta2 or 1.0)


def _numerator_scale(h: StepOptions, t: Scalar) -> Scalar:
    """The factor that turns the numerator's weighted sum into a mean."""
    if h.rule.average == "before":
        if not h.convention.bias_correction:
            return 1.0
        return 1 / _one_minus_power(h.beta1, t + 1 if h.rule.nesterov else t)
    if h.rule.delay <= 1:
        return 1.0
    n = where(t < h.rule.delay, t, float(h.rule.delay))
    return (1 - h.beta1) / _one_minus_power(h.beta1, n)


def _eps_added(h: StepOptions, t: Scalar) -> Scalar:
    if h.convention.eps_placement != "accumulated":
        return 0.0
    # Before the window is full nothing leaves it, so s learns of nothing.
    # In t's type: a bare comparison would make it float32 beside a float64 state.
    return where(t >= h.rule.delay, h.eps + 0 * t, 0.0)


def where(condition: bool | Tensor, yes: Any, no: Any) -> Any:
    """`torch.where` that leaves numbers alone when the condition is one."""
    if isinstance(condition, Tensor):
        return torch.where(condition, yes, no)
    return yes if condition else no


def is_number(scalar: Scalar, value: float) -> bool:
    """Is it this number? Of a tensor nobody knows before it is computed."""
    return not isinstance(scalar, Tensor) and scalar == value


def kept(x: Tensor) -> Tensor:
    """x itself; of a compiler it asks to compute this once for all that use it.

    Inductor writes what is no memory of its own into every formula that uses it, and
    those into others: a step would be three times as long, and so the compilation.
    Where state is written it also makes a buffer of every operation that read the
    state or something not kept, so what is kept early costs least.
    """
    if not torch.compiler.is_compiling() or hasattr(x, "placements"):
        return x
    return x.as_strided(x.size(), x.stride())


def weighted_sum(weight: Scalar, x: Tensor, y: Tensor) -> Tensor:
    """weight·x + y; for a compiler one operation, which it rounds like these two."""
    if torch.compiler.is_compiling() and not isinstance(weight, Tensor):
        return torch.add(y, x, alpha=weight)
    return weight * x + y


def clamp(d: Tensor, bound: Scalar | None) -> Tensor:
    """d within ±bound; None is no bound."""
    return d if bound is None else d.clamp(-bound, bound)  # type: ignore[arg-type]


def _one_minus_power(beta: float, t: Scalar) -> Scalar:
    if isinstance(t, Tensor) and beta > 0:
        # expm1, because in float32 the 1 - 0.999^1 of the first steps cancels.
        return -torch.expm1(t * math.log(beta))
    return 1 - beta**t
