"""A run's files: what each must say, and what is wrong with one that does not.

A checkpoint is a table of tensors and plain values, sealed with its SHA-256. The other
files are read without torch, so it is imported when it is needed.
"""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, FiniteFloat

from acprop import checks, files
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
    """A file of JSON, checked to be of this kind."""
    return parse(str(path), kind, path.read_bytes())


def parse(place: str, kind: type, text: bytes) -> Plain:
    """The plain values of a text that is of this kind."""
    try:
        checked(kind, text)
        return checked(Plain, text)
    except ValueError as error:
        raise DamagedError(
            f"{place}: {error}; move the folder away and run it again"
        ) from error


def write_checkpoint(path: Path, state: Plain, *, older: Path | None) -> None:
    """older: where the checkpoint that is there is kept."""
    import torch

    content = io.BytesIO()
    torch.save(state, content)
    content.write(files.seal(content.getbuffer()))
    files.write(path, content.getbuffer(), older=older)


def read_checkpoint(path: Path) -> Plain:
    """ValueError if it is damaged: what there is instead, in words.

    Not in torch's: it advises to switch its protection off.
    """
    import torch

    try:
        content = files.read_sealed(path)
    except files.UnsealedError:
        raise ValueError("one without its SHA-256") from None
    except ValueError:
        raise ValueError("another SHA-256 than its own") from None
    try:
        saved = torch.load(io.BytesIO(content), "cpu", weights_only=True)
    except Exception:  # torch raises whatever its parsers raise
        saved = None
    if not isinstance(saved, dict):
        raise ValueError(
            f"{len(content)} bytes that are no table of tensors and plain values"
        )
    return saved  # pyright: ignore[reportUnknownVariableType]
