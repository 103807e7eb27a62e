"""The options of a parameter group: one line each, with its type, default and check.

Constructors, signatures, checks, groups and checkpoints derive from `Options`; the
docstring of `ACProp` says what each means. Every message has the form
`<argument> must <condition>, got <value>[; <remedy>]`.
"""

from collections.abc import Mapping
from copy import copy
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_type_hints

from torch import Tensor

from acprop import rule as rules
from acprop.optim import option_checks as check
from acprop.optim.constraints import Box, plain_box
from acprop.rule import Average, Center, Clip, Convention, Rule

Group = dict[str, Any]
Number = float | Tensor
ByConvention = Literal["convention"]


class Option(NamedTuple):
    """What is known of an option besides its type."""

    default: Any
    check: check.Check


class Keywords(TypedDict, total=False):
    """The options that are given by keyword; those of the rule not to every class."""

    average: Annotated[Average | ByConvention, Option("convention", check.of_rule)]
    nesterov: Annotated[bool | ByConvention, Option("convention", check.of_rule)]
    center: Annotated[Center | ByConvention, Option("convention", check.of_rule)]
    delay: Annotated[int, Option(1, check.of_rule)]
    reduction: Annotated[Literal["max", "mean"] | None, Option(None, check.of_rule)]
    convention: Annotated[str | Convention, Option("guarded", check.convention)]
    decoupled_weight_decay: Annotated[bool, Option(True, check.flag)]
    amsgrad: Annotated[bool, Option(False, check.flag)]
    clip: Annotated[Clip | ByConvention, Option("convention", check.clip)]
    constraint: Annotated[Box | None, Option(None, plain_box)]
    maximize: Annotated[bool, Option(False, check.flag)]
    foreach: Annotated[bool | None, Option(None, check.kernel)]
    fused: Annotated[bool | None, Option(None, check.kernel)]
    capturable: Annotated[bool, Option(False, check.flag)]
    differentiable: Annotated[bool, Option(False, check.flag)]
    kahan: Annotated[bool, Option(True, check.flag)]
    stochastic_rounding: Annotated[int | None, Option(None, check.seed)]
    small_state: Annotated[bool, Option(False, check.flag)]


class Options(Keywords, total=False):
    """All that a group holds besides its parameters.

    as_rmsprop: average and center as torch.optim.RMSprop has them, M = β1·M + u and
        (1 - β2)·Σ β2^i·g² - m² with m of the decay β2; set by `RMSprop` alone.
    """

    lr: Annotated[Number, Option(1e-3, check.amount)]
    betas: Annotated[tuple[Number, Number], Option((0.9, 0.999), check.betas)]
    eps: Annotated[float | None, Option(None, check.eps)]
    weight_decay: Annotated[Number, Option(0.0, check.amount)]
    as_rmsprop: Annotated[bool, Option(False, check.flag)]


OPTIONS: dict[str, Option] = {
    name: kind.__metadata__[0]
    for name, kind in get_type_hints(Options, include_extras=True).items()
}
RULE_OPTIONS = ("average", "nesterov", "center", "delay", "reduction")
# All options but lr, which changes most often and is read at every step.
_COMPARED = itemgetter(*(name for name in OPTIONS if name != "lr"))


def checked(options: Mapping[str, Any]) -> Group:
    """Check options and return them in the form a checkpoint keeps: plain values.

    What "convention" stands for is not filled in yet, see `resolved`.
    """
    plain = {
        name: option.check(name, check.to_python(options.get(name, option.default)))
        for name, option in OPTIONS.items()
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
    rule = rules.choose(convention, **{name: plain[name] for name in RULE_OPTIONS})
    rules.check_bounded(rule, convention, eps, clip)
    chosen = {name: getattr(rule, name) for name in RULE_OPTIONS}
    return {**plain, **chosen, "eps": eps, "clip": clip}


def rule_of(group: Mapping[str, Any]) -> Rule:
    """Read the rule out of a parameter group."""
    return Rule(**{name: group[name] for name in RULE_OPTIONS})


def from_rmsprop(
    given: Mapping[str, Any], betas: tuple[Number, Number] = (0.0, 0.99)
) -> Group:
    """Options in torch's words for RMSprop, alpha, momentum and centered, in ours.

    betas: what momentum and alpha are unless they are given.
    """
    beta1, beta2 = betas
    group = dict(given)
    if "alpha" in group or "momentum" in group:
        beta1 = check.decay("momentum", group.pop("momentum", beta1))
        group["betas"] = beta1, check.decay("alpha", group.pop("alpha", beta2))
        group["average"] = "after" if beta1 > 0 else None
    if "centered" in group:
        centered = check.to_python(group.pop("centered"))
        group["center"] = "m" if check.flag("centered", centered) else None
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
