"""Checks of options, one by one and together.

Each of one option returns the value as a checkpoint keeps it: plain.
"""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from acprop import checks
from acprop import rule as rules

Check = Callable[[str, Any], Any]


def to_python(value: Any) -> Any:
    """A numpy scalar as Python's own, which torch.load(weights_only=True) can read."""
    is_scalar = hasattr(value, "item") and value.ndim == 0
    return value.item() if is_scalar and not isinstance(value, Tensor) else value


def _or_tensor(check: Check) -> Check:
    """The check of a number, also of the one that a tensor holds."""

    def look(name: str, value: Any) -> float | Tensor:
        if not isinstance(value, Tensor):
            return check(name, to_python(value))
        if value.numel() != 1:
            raise ValueError(
                f"{name} must have one element if it is a tensor, "
                f"got shape {tuple(value.shape)}"
            )
        check(name, value.item())
        return value

    return look


amount = _or_tensor(checks.not_negative)
decay = _or_tensor(checks.decay)


def betas(name: str, value: Any) -> tuple[Any, Any]:
    """Two decays."""
    # Any pair: configuration libraries have lists of their own.
    is_one = isinstance(value, str | Tensor) or not isinstance(value, Iterable)
    pair: list[Any] = [] if is_one else list(value)  # pyright: ignore
    if len(pair) != 2:
        raise TypeError(f"{name} must be a pair of numbers, got {value!r}")
    return decay(f"{name}[0]", pair[0]), decay(f"{name}[1]", pair[1])


def eps(name: str, value: Any) -> float | None:
    """A number, or None for the convention's own."""
    return None if value is None else checks.not_negative(name, value)


def clip(name: str, value: Any) -> Any:
    """A bound, or "convention"."""
    return value if value == "convention" else rules.check_clip(name, value)


def convention(_: str, value: Any) -> rules.PlainConvention:
    """Any spelling of a convention, as a checkpoint keeps it."""
    return rules.plain(rules.convention(value))


def flag(name: str, value: Any, allowed: str = "True or False") -> bool:
    """True or False, also as 1 or 0."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name} must be {allowed}, got {value!r}")


def kernel(name: str, value: Any) -> bool | None:
    """A flag, or None where the choice is ours."""
    return None if value is None else flag(name, value, "None, True or False")


def seed(name: str, value: Any) -> int | None:
    """Of random bits, or None."""
    if value is not None and checks.integer(name, value, least=0) >= 2**32:
        raise ValueError(
            f"{name} must be below 2**32, got {value}; take a smaller seed"
        )
    return value


def of_rule(_: str, value: Any) -> Any:
    """Any: `Rule` itself looks at all of these together."""
    return value


def together(group: dict[str, Any]) -> None:
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
    # 8-bit state is advanced in blocks, one step behind at most.
    for name, possible in {
        "delay": group["delay"] in (0, 1),
        "reduction": group["reduction"] is None,
        "constraint": group["constraint"] is None,
        "differentiable": not group["differentiable"],
        "fused": not group["fused"],
    }.items():
        if group["small_state"] and not possible:
            raise ValueError(
                f"small_state must be False with {name}={group[name]!r}, got True"
            )
