"""What a parameter group may hold, checked at the door.

Every message has the form `<argument> must <condition>, got <value>[; <remedy>]`.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

from torch import Tensor

from acprop import rule as rules
from acprop.optim.constraints import to_plain
from acprop.optim.settings import rule_of

Group = dict[str, Any]


def checked(options: Group) -> Group:
    """Check a group's options and return them in the form a checkpoint keeps.

    That is: the convention by name (or by its fields), a constraint by its fields, and
    the convention's own ε where none was given.
    """
    convention = rules.convention(options["convention"])
    eps = convention.eps if options["eps"] is None else options["eps"]
    plain = {
        **options,
        "convention": rules.plain(convention),
        "constraint": to_plain(options["constraint"]),
        "eps": eps,
    }
    rule_of(plain)
    for name, check in _CHECKS.items():
        check(name, plain[name])
    _check_kernel_choice(plain)
    return plain


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lr(name: str, value: object) -> None:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise ValueError(
                f"{name} must have one element if it is a tensor, "
                f"got shape {tuple(value.shape)}"
            )
        value = value.item()
    _not_negative(name, value)


def _not_negative(name: str, value: Any) -> None:
    if not _is_number(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not (isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and 0 or more, got {value}")


def _betas(name: str, value: Any) -> None:
    if not (isinstance(value, tuple | list) and len(value) == 2):  # pyright: ignore[reportUnknownArgumentType]
        raise TypeError(f"{name} must be a pair of numbers, got {value!r}")
    pair: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    for i, beta in enumerate(pair):
        check_decay(f"{name}[{i}]", beta)


def check_decay(name: str, value: Any) -> None:
    """Refuse what cannot be the decay of a running mean."""
    if not _is_number(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value}")


def _clip(name: str, value: Any) -> None:
    if value is None or value == "t**0.25":
        return
    if not _is_number(value):
        raise TypeError(f'{name} must be None, "t**0.25" or a number, got {value!r}')
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value}; None switches it off")


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def _choice_of_kernel(name: str, value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{name} must be None, True or False, got {value!r}")


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "lr": _lr,
    "betas": _betas,
    "eps": _not_negative,
    "weight_decay": _not_negative,
    "clip": _clip,
    "centered": _flag,
    "decoupled_weight_decay": _flag,
    "amsgrad": _flag,
    "maximize": _flag,
    "capturable": _flag,
    "differentiable": _flag,
    "kahan": _flag,
    "error_if_nonfinite": _flag,
    "foreach": _choice_of_kernel,
    "fused": _choice_of_kernel,
}


def _check_kernel_choice(group: Group) -> None:
    if group["fused"] and group["foreach"]:
        raise ValueError("foreach must be None or False with fused=True, got True")
    if group["foreach"] and group["differentiable"]:
        raise ValueError(
            "foreach must be None or False with differentiable=True, got True; "
            "torch's list operations do not support autograd"
        )
