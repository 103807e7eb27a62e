"""The options of a parameter group: one field each, with its default and its meaning.

Constructors, signatures, `help`, checks and checkpoints derive from `Options`; the
numbers of a step from `step_options`. Every message has the form
`<argument> must <condition>, got <value>[; <remedy>]`.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any, Literal, TypedDict

from torch import Tensor

from acprop import rule as rules
from acprop.optim import option_checks as check
from acprop.optim.constraints import Box, to_plain
from acprop.rule import Clip, Convention, Rule

Group = dict[str, Any]
Betas = tuple[float | Tensor, float | Tensor]
ClipOption = Clip | Literal["convention"]


def option(default: Any, is_allowed: check.Check, meaning: str) -> Any:
    """A field of `Options`."""
    return field(default=default, metadata={"check": is_allowed, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a parameter group holds besides its parameters."""

    lr: float | Tensor = option(
        1e-3, check.amount, "learning rate; a one-element tensor is allowed."
    )
    betas: Betas = option(
        (0.9, 0.999),
        check.betas,
        "(β1, β2), the decay of the average and of the surprise.",
    )
    eps: float | None = option(
        None,
        check.eps,
        "ε; None takes the convention's own: 1e-30 guarded, 1e-8 as in torch.optim, "
        "1e-16 otherwise.",
    )
    weight_decay: float | Tensor = option(0.0, check.amount, "λ.")
    convention: str | Convention = option(
        "guarded",
        check.convention,
        '"guarded", or to the letter of a publication: "paper" (Algorithm 2), '
        '"authors" (their repository, rectification off), "optax" '
        "(optax.contrib.acprop). A `Convention` of your own is welcome too: "
        "`dataclasses.replace(acprop.GUARDED, clip=10.0)`.",
    )
    decoupled_weight_decay: bool = option(
        True,
        check.flag,
        "True: x = x - lr·λ·x before the step, as AdamW does. False: g = g + λ·x, as "
        "Adam does.",
    )
    amsgrad: bool = option(
        False,
        check.flag,
        'divide by the largest root so far; with "guarded" and "paper" no step size '
        "then ever grows, as the appendix's momentum theorem needs it.",
    )
    average: rules.Average | Literal["convention"] = option(
        "convention",
        check.of_rule,
        'what is averaged with β1: None, nothing, as in Algorithm 2; "before", the '
        'gradient, before it is divided, as Adam does; "after", the normalised '
        'gradient; or "convention": "after" if guarded, else None.',
    )
    nesterov: bool | Literal["convention"] = option(
        "convention",
        check.of_rule,
        'does the average look one step ahead? "convention": as the convention\'s own '
        "average does; another average does not.",
    )
    center: rules.Center | Literal["convention"] = option(
        "convention",
        check.of_rule,
        'what s is centered on: None, nothing; "m", the running mean of gradients, as '
        'in the paper; "average", what the average itself implies, which needs no m; '
        'or "convention": "average" for the guarded convention\'s own average, else '
        '"m".',
    )
    delay: int = option(
        1,
        check.of_rule,
        "by how many steps s lags behind; a larger delay divides the mean of the "
        "newest `delay` gradients; 0 is synchronous.",
    )
    reduction: Literal["max", "mean"] | None = option(
        None,
        check.of_rule,
        '"max" or "mean" shares one second moment among all elements of a tensor; '
        "None keeps one for each element.",
    )
    as_rmsprop: bool = option(
        False,
        check.flag,
        "average and center as torch.optim.RMSprop has them, M = β1·M + u and "
        "(1 - β2)·Σ β2^i·g² - m² with m of the decay β2.",
    )
    clip: ClipOption = option(
        "convention",
        check.clip,
        'bound on |u|, the normalised gradient: a number, "t**0.25", which grows with '
        'the step, None for none, or "convention": the growing one if guarded, else '
        "none.",
    )
    constraint: Box | None = option(
        None,
        lambda _, value: to_plain(value),
        "`Box(lo, hi)`: where every element is to stay.",
    )
    maximize: bool = option(False, check.flag, "ascend.")
    foreach: bool | None = option(
        None,
        check.kernel,
        "use torch's list operations; None does so where torch.optim would.",
    )
    fused: bool | None = option(
        None,
        check.kernel,
        "True demands the native one-pass kernel of the CPU, or an error at the step "
        "that says why not; None takes it for all that it can do; False never.",
    )
    capturable: bool = option(
        False, check.flag, "keep the step counter on the device, for graph capture."
    )
    differentiable: bool = option(
        False,
        check.flag,
        "let autograd run through the step; betas and λ may be tensors.",
    )
    kahan: bool = option(
        True,
        check.flag,
        "carry along what half-precision parameters lose in rounding, so that updates "
        "below their resolution add up; one more buffer of their type.",
    )
    stochastic_rounding: int | None = option(
        None,
        check.seed,
        "a seed below 2**32: round bfloat16 parameters at random, so that it is right "
        "on average, and keep no compensation; needs kahan=False. None does not.",
    )
    small_state: bool = option(
        False,
        check.flag,
        "keep the average and s of matrices and larger tensors in 8 bits per element: "
        "2.1 bytes per parameter instead of 8; docs/small-state.md.",
    )
    error_if_nonfinite: bool = option(
        False,
        check.flag,
        "raise, naming the parameter, before a NaN or infinite gradient changes "
        "anything; False does what torch.optim does.",
    )


_OF_RULE = ("average", "center", "delay", "nesterov", "reduction")
FIELDS = {f.name: f for f in fields(Options)}
# All options but lr, which changes most often and is read at every step.
_COMPARED = itemgetter(*(name for name in FIELDS if name != "lr"))


class Keywords(TypedDict, total=False):
    """The options that every class takes by keyword, for type checkers.

    A test compares names and types with `Options`.
    """

    convention: str | Convention
    decoupled_weight_decay: bool
    amsgrad: bool
    clip: ClipOption
    constraint: Box | None
    maximize: bool
    foreach: bool | None
    fused: bool | None
    capturable: bool
    differentiable: bool
    kahan: bool
    stochastic_rounding: int | None
    small_state: bool
    error_if_nonfinite: bool


def checked(options: Mapping[str, Any]) -> Group:
    """Check options and return them in the form a checkpoint keeps: plain values.

    What "convention" stands for is not filled in yet, see `resolved`.
    """
    plain = {
        name: f.metadata["check"](name, options.get(name, f.default))
        for name, f in FIELDS.items()
    }
    resolved(plain)
    check.together(plain)
    return plain


def resolved(plain: Group) -> Group:
    """Checked options with what is left to their convention filled in."""
    convention = rules.convention(plain["convention"])
    eps, clip = plain["eps"], plain["clip"]
    eps = convention.eps if eps is None else eps
    clip = convention.clip if clip == "convention" else clip
    rule = rules.choose(convention, **{name: plain[name] for name in _OF_RULE})
    rules.check_bounded(rule, convention, eps, clip)
    return {
        **plain,
        "eps": eps,
        "clip": clip,
        "average": rule.average,
        "nesterov": rule.nesterov,
        "center": rule.center,
    }


def rule_of(group: Mapping[str, Any]) -> Rule:
    """Read the rule out of a parameter group."""
    return Rule(**{name: group[name] for name in _OF_RULE})


def from_rmsprop(given: Mapping[str, Any], betas: Betas = (0.0, 0.99)) -> Group:
    """Options in torch's words for RMSprop, alpha, momentum and centered, in ours.

    betas: what alpha and momentum are unless they are given.
    """
    beta1, beta2 = betas
    group = dict(given)
    if "alpha" in group or "momentum" in group:
        beta1 = check.decay("momentum", group.pop("momentum", beta1))
        group["betas"] = beta1, check.decay("alpha", group.pop("alpha", beta2))
        group["average"] = "after" if beta1 > 0 else None
    if "centered" in group:
        group["center"] = "m" if check.flag("centered", group.pop("centered")) else None
    return group


def snapshot(group: Group) -> tuple[Any, ...]:
    """The options of a group but lr, for `is_unchanged`."""
    return tuple(
        copy(value) if type(value) in (list, dict) else value  # changed in place
        for value in _COMPARED(group)
    )


def is_unchanged(group: Group, kept: tuple[Any, ...]) -> bool:
    """Are the options still those of the snapshot?"""
    try:
        return _COMPARED(group) == kept
    except (KeyError, ValueError, RuntimeError):  # one is gone; arrays, large tensors
        return False
