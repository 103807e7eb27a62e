"""The settings of a task: plain values in, one frozen value out, checked by name."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def read(kind: type[T], domain: str, plain: Mapping[str, Any]) -> T:
    """Make the value of a domain, "vision"; a setting that it has not is refused."""
    known = [f.name for f in fields(kind)]  # pyright: ignore[reportArgumentType]
    for name in plain:
        if name not in known:
            raise ValueError(
                f"a {domain} task's setting must be one of {', '.join(known)}, "
                f"got {name}"
            )
    return kind(**plain)


def check_counts(
    settings: object, names: Iterable[str], *, optional: Iterable[str] = ()
) -> None:
    """Whole numbers from 1 on; those that are optional may also be None."""
    for name in names:
        n = getattr(settings, name)
        if n is None and name in optional:
            continue
        if type(n) is not int:
            raise TypeError(f"{name} must be a whole number, got {n!r}")
        if n < 1:
            raise ValueError(f"{name} must be 1 or more, got {n}")


def check_flags(settings: object, names: Iterable[str]) -> None:
    """True or false, and nothing that only looks like it."""
    for name in names:
        value = getattr(settings, name)
        if type(value) is not bool:
            raise TypeError(f"{name} must be true or false, got {value!r}")


def check_clip_norm(value: object) -> None:
    """None leaves gradients as they are; otherwise the largest norm they may have."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"clip_norm must be a number, got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"clip_norm must be finite and above 0, got {value}")
