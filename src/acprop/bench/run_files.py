"""What a run's plain files must say, and what is wrong with one that does not."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, FiniteFloat

from acprop import checks
from acprop.bench.spec import RunSpec
from acprop.plain import Plain, checked
from acprop.records import RunStatus


class DamagedError(checks.UserError):
    """A file of a run is not what was written; nothing was changed."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Who worked on a run. under: which conditions, if they were noted."""

    __pydantic_config__ = ConfigDict(strict=True)
    under: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RunFile:
    """What run.json must say; it may say more."""

    __pydantic_config__ = ConfigDict(strict=True)
    spec: RunSpec
    status: RunStatus
    study: str = ""
    commit: str = ""
    message: str = ""
    machine: Plain = field(default_factory=dict[str, Any])
    data: Plain = field(default_factory=dict[str, Any])
    final: Plain = field(default_factory=dict[str, Any])
    attempts: list[_Attempt] = field(default_factory=list[_Attempt])


@dataclass(frozen=True, slots=True)
class Epoch:
    """What a line of metrics.jsonl must say; it may say more."""

    __pydantic_config__ = ConfigDict(strict=True)
    wall_seconds: FiniteFloat | None = None


def read(path: Path, kind: type) -> Plain:
    return read_text(str(path), kind, path.read_bytes())


def read_text(place: str, kind: type, text: bytes) -> Plain:
    """The plain values of a text that is of this kind."""
    try:
        checked(kind, text)
        return checked(Plain, text)
    except ValueError as error:
        raise DamagedError(
            f"{place}: {error}; move the folder away and run it again"
        ) from error
