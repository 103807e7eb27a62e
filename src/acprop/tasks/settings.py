"""The settings of a task: plain values in, one frozen value out, checked by name."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from acprop import checks
from acprop.checks import UserTypeError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """The settings that tasks with one network have for their steps.

    clip_norm: the largest norm a gradient may have; None leaves it.
    second_moment: also record the mean of the optimizer's second-moment buffer.
    """

    clip_norm: float | None = None
    second_moment: bool = False

    def __post_init__(self) -> None:
        check_types(self)
        if self.clip_norm is not None:
            checks.positive("clip_norm", self.clip_norm)


def read(kind: type[T], domain: str, plain: Mapping[str, Any]) -> T:
    """Make the value of a domain, "vision"; a setting that it has not is refused."""
    own: list[Field[Any]] = [*fields(kind)]  # pyright: ignore[reportArgumentType]
    own.sort(key=lambda field: field.kw_only is True)  # what every task has comes last
    known = [field.name for field in own]
    for name in plain:
        if name not in known:
            raise checks.UnknownNameError(
                name,
                f"a {domain} task's setting must be one of {', '.join(known)}, "
                f"got {name}{checks.meant(name, known)}",
            )
    return kind(**plain)


def check_types(settings: object) -> None:
    """Each field is what it is declared as; a whole number is 1 or more."""
    for name, kind in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(kind) is Literal:
            checks.one_of(name, value, get_args(kind))
            continue
        kinds = get_args(kind) or (kind,)  # int | None has two
        if value is None and type(None) in kinds:
            continue
        if bool in kinds:
            checks.flag(name, value)
        elif int in kinds:
            checks.integer(name, value)
        elif float in kinds:
            checks.number(name, value)
        elif type(value) is not str:
            raise UserTypeError(f"{name} must be a string, got {value!r}")
