"""Axes on the command line: lists with commas."""

import math

from acprop import checks


def numbers(name: str, text: str) -> tuple[float, ...]:
    """Parse "0.5,0.9"."""
    out: list[float] = []
    for item in words(name, text):
        try:
            value = float(item)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise checks.UserError(
                f"{name} must be numbers with commas between them, got {item!r}"
            )
        out.append(value)
    return tuple(out)


def whole(name: str, text: str) -> tuple[int, ...]:
    """Parse "3,5,10"."""
    out: list[int] = []
    for item in words(name, text):
        if not item.lstrip("+-").isdecimal():
            raise checks.UserError(
                f"{name} must be whole numbers with commas between them, got {item!r}"
            )
        out.append(int(item))
    return tuple(out)


def words(name: str, text: str) -> tuple[str, ...]:
    """Parse "acprop,adam"; nothing empty, nothing twice."""
    items = tuple(item.strip() for item in text.split(","))
    if not all(items):
        raise checks.UserError(
            f"{name} must be a list with commas between, got {text!r}"
        )
    if len(set(items)) < len(items):
        raise checks.UserError(f"{name} must not repeat a value, got {text!r}")
    return items


def inside(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """Check that every β lies between 0 and 1, neither included."""
    return tuple(checks.between(name, value) for value in values)
