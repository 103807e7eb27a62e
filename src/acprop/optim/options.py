"""The options of a parameter group: one line each, with its type, default and check.

Constructors, signatures, checks, groups and checkpoints derive from `Options`; the
docstring of `ACProp` says what each means. Every message has the form
`<argument> must <condition>, got <value>[; <remedy>]`.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_type_hints

import torch
from torch import Tensor

from acprop import checks
from acprop import rule as rules
from acprop.optim.constraints import Box, plain_box
from acprop.rule import Average, Center, Clip, Convention, Rule

Group = dict[str, Any]
Number = float | Tensor
ByConvention = Literal["convention"]
Check = Callable[[str, Any], Any]


# ---- checks: each returns the value as a checkpoint keeps it, plain ------------------


def _to_python(value: Any) -> Any:
    """A numpy scalar as Python's own, which torch.load(weights_only=True) can read."""
    is_scalar = hasattr(value, "item") and value.ndim == 0
    return value.item() if is_scalar and not isinstance(value, Tensor) else value


def _or_tensor(check: Check) -> Check:
    """The check of a number, also of the one that a tensor holds."""

    def look(name: str, value: Any) -> float | Tensor:
        if not isinstance(value, Tensor):
            return check(name, _to_python(value))
        if value.numel() != 1:
            raise ValueError(
                f"{name} must have one element if it is a tensor, "
                f"got shape {tuple(value.shape)}"
            )
        check(name, value.item())
        return value

    return look


_amount = _or_tensor(checks.not_negative)
_decay = _or_tensor(checks.decay)


def _betas(name: str, value: Any) -> tuple[Any, Any]:
    """Two decays."""
    # Any pair: configuration libraries have lists of their own.
    is_one = isinstance(value, str | Tensor) or not isinstance(value, Iterable)
    pair: list[Any] = [] if is_one else list(value)  # pyright: ignore
    if len(pair) != 2:
        raise TypeError(f"{name} must be a pair of numbers, got {value!r}")
    return _decay(f"{name}[0]", pair[0]), _decay(f"{name}[1]", pair[1])


def _eps(name: str, value: Any) -> float | None:
    """A number, or None for the convention's own."""
    return None if value is None else checks.not_negative(name, value)


def _clip(name: str, value: Any) -> Any:
    """A bound, or "convention"."""
    return value if value == "convention" else rules.check_clip(name, value)


def _convention(_: str, value: Any) -> rules.PlainConvention:
    """Any spelling of a convention, as a checkpoint keeps it."""
    return rules.plain(rules.convention(value))


def _flag(name: str, value: Any, allowed: str = "True or False") -> bool:
    """True or False, also as 1 or 0."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name} must be {allowed}, got {value!r}")


def _kernel(name: str, value: Any) -> bool | None:
    """A flag, or None where the choice is ours."""
    return None if value is None else _flag(name, value, "None, True or False")


def _seed(name: str, value: Any) -> int | None:
    """Of random bits, or None."""
    if value is not None and checks.integer(name, value, least=0) >= 2**32:
        raise ValueError(
            f"{name} must be below 2**32, got {value}; take a smaller seed"
        )
    return value


def _state_dtype(name: str, value: Any) -> Literal["bfloat16"] | None:
    """None, or bfloat16 by its name, which every checkpoint can hold."""
    if value is None or value in (torch.bfloat16, "bfloat16"):
        return None if value is None else "bfloat16"
    raise ValueError(
        f"{name} must be None or torch.bfloat16, got {value!r}; float16 has too few "
        "exponents for s, and float32 is what None means"
    )


def _of_rule(_: str, value: Any) -> Any:
    """Any: `Rule` itself looks at all of these together."""
    return value


# ---- the options ---------------------------------------------------------------------


class Option(NamedTuple):
    """What is known of an option besides its type."""

    default: Any
    check: Check


class Keywords(TypedDict, total=False):
    """The options that are given by keyword; those of the rule not to every class."""

    average: Annotated[Average | ByConvention, Option("convention", _of_rule)]
    nesterov: Annotated[bool | ByConvention, Option("convention", _of_rule)]
    center: Annotated[Center | ByConvention, Option("convention", _of_rule)]
    delay: Annotated[int, Option(1, _of_rule)]
    reduction: Annotated[Literal["max", "mean"] | None, Option(None, _of_rule)]
    convention: Annotated[str | Convention, Option("guarded", _convention)]
    decoupled_weight_decay: Annotated[bool, Option(True, _flag)]
    amsgrad: Annotated[bool, Option(False, _flag)]
    clip: Annotated[Clip | ByConvention, Option("convention", _clip)]
    constraint: Annotated[Box | None, Option(None, plain_box)]
    maximize: Annotated[bool, Option(False, _flag)]
    foreach: Annotated[bool | None, Option(None, _kernel)]
    fused: Annotated[bool | None, Option(None, _kernel)]
    capturable: Annotated[bool, Option(False, _flag)]
    differentiable: Annotated[bool, Option(False, _flag)]
    kahan: Annotated[bool, Option(True, _flag)]
    stochastic_rounding: Annotated[int | None, Option(None, _seed)]
    small_state: Annotated[bool, Option(False, _flag)]
    state_dtype: Annotated[
        torch.dtype | Literal["bfloat16"] | None, Option(None, _state_dtype)
    ]
    error_if_nonfinite: Annotated[bool, Option(False, _flag)]


class Options(Keywords, total=False):
    """All that a group holds besides its parameters.

    as_rmsprop: average and center as torch.optim.RMSprop has them, M = β1·M + u and
        (1 - β2)·Σ β2^i·g² - m² with m of the decay β2; set by `RMSprop` alone.
    """

    lr: Annotated[Number, Option(1e-3, _amount)]
    betas: Annotated[tuple[Number, Number], Option((0.9, 0.999), _betas)]
    eps: Annotated[float | None, Option(None, _eps)]
    weight_decay: Annotated[Number, Option(0.0, _amount)]
    as_rmsprop: Annotated[bool, Option(False, _flag)]


OPTIONS: dict[str, Option] = {
    name: kind.__metadata__[0]
    for name, kind in get_type_hints(Options, include_extras=True).items()
}
RULE_OPTIONS = ("average", "nesterov", "center", "delay", "reduction")
# All options but lr, which changes most often and is read at every step.
_COMPARED = itemgetter(*(name for name in OPTIONS if name != "lr"))


def _together(group: dict[str, Any]) -> None:
    """Refuse options that exclude each other."""
    if group["fused"] and group["foreach"]:
        raise ValueError("foreach must be None or False with fused=True, got True")
    if group["foreach"] and group["differentiable"]:
        raise ValueError(
            "foreach must be None or False with differentiable=True, got True; "
            "torch's list operations do not support autograd"
        )
    if group["stochastic_rounding"] is not None and group["kahan"]:
        raise ValueError(
            "kahan must be False with stochastic_rounding, got True; both mend the "
            "same rounding"
        )
    for name, value in {
        "betas[0]": group["betas"][0],
        "betas[1]": group["betas"][1],
        "weight_decay": group["weight_decay"],
    }.items():
        if isinstance(value, Tensor) and not group["differentiable"]:
            raise TypeError(
                f"{name} must be a number unless differentiable=True, got a tensor"
            )
    # What is rounded at random is advanced element by element, one step behind at most.
    for small in ("small_state", "state_dtype"):
        for name, possible in {
            "delay": group["delay"] in (0, 1),
            "reduction": group["reduction"] is None,
            "constraint": group["constraint"] is None,
            "differentiable": not group["differentiable"],
            "small_state": small == "small_state" or not group["small_state"],
        }.items():
            if group[small] and not possible:
                allowed = "False" if small == "small_state" else "None"
                raise ValueError(
                    f"{small} must be {allowed} with {name}={group[name]!r}, got "
                    f"{group[small]!r}"
                )


def checked(options: Mapping[str, Any]) -> Group:
    """Check options and return them in the form a checkpoint keeps: plain values.

    What "convention" stands for is not filled in yet, see `resolved`.
    """
    plain = {
        name: option.check(name, _to_python(options.get(name, option.default)))
        for name, option in OPTIONS.items()
    }
    resolved(plain)
    _together(plain)
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
        beta1 = _decay("momentum", group.pop("momentum", beta1))
        group["betas"] = beta1, _decay("alpha", group.pop("alpha", beta2))
        group["average"] = "after" if beta1 > 0 else None
    if "centered" in group:
        centered = _to_python(group.pop("centered"))
        group["center"] = "m" if _flag("centered", centered) else None
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
