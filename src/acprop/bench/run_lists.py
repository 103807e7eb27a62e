"""Which runs a study has requested, so that its status is known without planning it.

run_lists/STUDY-SCALE-RULESET.jsonl in the store: the seconds of one run as the study
estimates them, then a line for each run, in the order of the requests. Whatever runs a
study writes it again; it can be deleted.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from acprop import files
from acprop.bench.spec import RunSpec
from acprop.checks import UserError
from acprop.plain import checked, to_line

T = TypeVar("T")
_Line = tuple[str, str, NonNegativeInt, PositiveInt]
_WRITE = "; delete the file, and acprop bench study writes it again"


@dataclass(frozen=True, slots=True)
class _Head:
    seconds: FiniteFloat
    n_runs: int


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that a study wants."""

    run: str
    optimizer: str
    seed: int
    epochs: int


@dataclass(frozen=True, slots=True)
class RunList:
    """seconds: of one run, as the study estimates it."""

    study: str
    scale: str
    ruleset: str
    seconds: float = 0.0
    runs: tuple[RequestedRun, ...] = ()

    def path(self, root: Path) -> Path:
        """Where it is kept."""
        name = f"{self.study.replace('/', '-')}-{self.scale}-{self.ruleset}.jsonl"
        return root / "run_lists" / name


def requested(specs: Iterable[RunSpec]) -> tuple[RequestedRun, ...]:
    """One of each, in their order."""
    unique = {spec.id: spec for spec in specs}
    return tuple(
        RequestedRun(run, spec.optimizer, spec.seed, spec.epochs)
        for run, spec in unique.items()
    )


def write(root: Path, wanted: RunList) -> None:
    """Keep it beside the runs, unless we may only read them, or the disk is full."""
    about = {"seconds": wanted.seconds, "n_runs": len(wanted.runs)}
    lines = [about, *([r.run, r.optimizer, r.seed, r.epochs] for r in wanted.runs)]
    with suppress(OSError):
        files.write(wanted.path(root), "".join(to_line(line) + "\n" for line in lines))


def read(root: Path, study: str, scale: str, ruleset: str) -> RunList | None:
    """What was requested; None if nothing was. A file that is not whole is named."""
    path = RunList(study, scale, ruleset).path(root)
    if not path.exists():
        return None
    first, *lines = path.read_bytes().splitlines() or [b""]
    head = _checked(_Head, path, 1, first)
    runs = [_checked(_Line, path, i, line) for i, line in enumerate(lines, 2)]
    if len(runs) != head.n_runs:
        raise UserError(f"{path} must have {head.n_runs} runs, got {len(runs)}{_WRITE}")
    wanted = tuple(RequestedRun(*run) for run in runs)
    return RunList(study, scale, ruleset, head.seconds, wanted)


def _checked(kind: type[T], path: Path, number: int, line: bytes) -> T:
    try:
        return checked(kind, line)
    except ValueError as error:
        raise UserError(f"{path}, line {number}: {error}{_WRITE}") from error
