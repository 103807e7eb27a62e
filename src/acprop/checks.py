"""Checks of arguments, for every room; each returns the value that it let pass.

What a user gave and we refuse is a UserError, which is a ValueError; of the wrong type,
a TypeError as well. The command line answers it with one line; every other error is a
defect of ours, and ends with its traceback. Every message has the form
`<argument> must <condition>, got <value>[; <remedy>]`.
"""

from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from math import inf, isfinite
from numbers import Real
from typing import Any, TypeVar

T = TypeVar("T")


class UserError(ValueError):
    """A mistake in what a user gave; its message says how to mend it."""


class UserTypeError(UserError, TypeError):
    """A value of the wrong type."""


class UnknownNameError(UserError):
    """There is no setting of that name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@contextmanager
def user_values() -> Generator[None]:
    """Around a call that only checks what a user gave: what it refuses is a UserError.

    For rooms that stand without this one, such as the rule and its conventions.
    """
    try:
        yield
    except UserError:
        raise
    except TypeError as error:
        raise UserTypeError(str(error)) from error
    except ValueError as error:
        raise UserError(str(error)) from error


def number(name: str, value: Any) -> float:
    """A real number, also ∞ or NaN; True is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UserTypeError(f"{name} must be a number, got {value!r}")
    return float(value)


def finite(name: str, value: Any) -> float:
    """A number that is neither ∞ nor NaN."""
    return _such(name, value, isfinite, "be finite")


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    return _such(name, value, lambda v: 0 < v < inf, "be finite and above 0")


def not_negative(name: str, value: Any) -> float:
    """A finite number, 0 or more."""
    return _such(name, value, lambda v: 0 <= v < inf, "be finite and 0 or more")


def decay(name: str, value: Any) -> float:
    """The decay of a running mean; also a share that must leave something."""
    return _such(name, value, lambda v: 0 <= v < 1, "be in [0, 1)")


def between(name: str, value: Any) -> float:
    """A number between 0 and 1, neither included."""
    return _such(name, value, lambda v: 0 < v < 1, "be between 0 and 1")


def _such(name: str, value: Any, is_such: Callable[[float], bool], words: str) -> float:
    if not is_such(number(name, value)):
        raise UserError(f"{name} must {words}, got {value}")
    return float(value)


def integer(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserTypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise UserError(f"{name} must be {least} or more, got {value}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise UserTypeError(f"{name} must be True or False, got {value!r}")
    return value


def one_of(name: str, value: T, known: Collection[Any]) -> T:
    """One of the values that there are; the remedy is the one that was meant."""
    if value not in known:
        raise UserError(
            f"{name} must be one of {_listed(known)}, got {value!r}"
            f"{meant(value, known)}"
        )
    return value


_MANY = 40  # more names than that are a wall, in which nobody finds the one he meant


def _listed(known: Collection[object]) -> str:
    if len(known) <= _MANY:
        return ", ".join(map(str, known)) or "none"
    first = ", ".join(map(str, islice(known, 3)))
    return f"{len(known)} names ({first} …)"


def meant(value: object, known: Iterable[object]) -> str:
    """The end of a message about a name that there is not: what was meant, perhaps."""
    names = [name for name in known if isinstance(name, str)]
    found = get_close_matches(value, names, n=1) if isinstance(value, str) else []
    return f"; did you mean {found[0]}?" if found else ""
