"""The settings of a task: plain values in, one frozen value out, checked by name."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from acprop import checks

T = TypeVar("T")


def read(kind: type[T], domain: str, plain: Mapping[str, Any]) -> T:
    """Make the value of a domain, "vision"; a setting that it has not is refused."""
    known = [f.name for f in fields(kind)]  # pyright: ignore[reportArgumentType]
    for name in plain:
        if name not in known:
            raise checks.UnknownNameError(
                name,
                f"a {domain} task's setting must be one of {', '.join(known)}, "
                f"got {name}{checks.meant(name, known)}",
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
        checks.whole(name, n)


def check_flags(settings: object, names: Iterable[str]) -> None:
    """True or False, and nothing that only looks like it."""
    for name in names:
        checks.flag(name, getattr(settings, name))


def check_clip_norm(value: object) -> None:
    """None leaves gradients as they are; otherwise the largest norm they may have."""
    if value is not None:
        checks.positive("clip_norm", value)
