"""Which runs a study has asked for, so that its status is known without planning it.

rosters/STUDY-SCALE-RULESET.jsonl in the store: what the study would cost for each run,
then a line for each run, in the order in which they were asked for. Every
`acprop bench study` writes it again; it can be deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from acprop import files
from acprop.bench.spec import RunSpec
from acprop.plain import checked, to_line

T = TypeVar("T")
_Line = tuple[str, str, NonNegativeInt, PositiveInt]
_WRITE = "; delete the file, and acprop bench study writes it again"


@dataclass(frozen=True, slots=True)
class _Head:
    seconds: FiniteFloat
    n_runs: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that was asked for."""

    run: str
    optimizer: str
    seed: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Roster:
    """seconds: of one run, as the study estimates it."""

    study: str
    scale: str
    ruleset: str
    seconds: float = 0.0
    runs: tuple[Asked, ...] = ()

    def path(self, root: Path) -> Path:
        """Where it is kept."""
        name = f"{self.study.replace('/', '-')}-{self.scale}-{self.ruleset}.jsonl"
        return root / "rosters" / name


def asked(specs: Iterable[RunSpec]) -> tuple[Asked, ...]:
    """One of each, in their order."""
    unique = {spec.id: spec for spec in specs}
    return tuple(
        Asked(run, spec.optimizer, spec.seed, spec.epochs)
        for run, spec in unique.items()
    )


def write(root: Path, roster: Roster) -> None:
    """Keep it beside the runs."""
    about = {"seconds": roster.seconds, "n_runs": len(roster.runs)}
    lines = [about, *([a.run, a.optimizer, a.seed, a.epochs] for a in roster.runs)]
    files.write(roster.path(root), "".join(to_line(line) + "\n" for line in lines))


def read(root: Path, study: str, scale: str, ruleset: str) -> Roster | None:
    """What was asked for; None if nothing was. A file that is not whole is named."""
    path = Roster(study, scale, ruleset).path(root)
    if not path.exists():
        return None
    first, *lines = path.read_bytes().splitlines() or [b""]
    head = _checked(_Head, path, 1, first)
    runs = [_checked(_Line, path, i, line) for i, line in enumerate(lines, 2)]
    if len(runs) != head.n_runs:
        raise ValueError(
            f"{path} must have {head.n_runs} runs, got {len(runs)}{_WRITE}"
        )
    wanted = tuple(Asked(*run) for run in runs)
    return Roster(study, scale, ruleset, head.seconds, wanted)


def _checked(kind: type[T], path: Path, number: int, line: bytes) -> T:
    try:
        return checked(kind, line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}{_WRITE}") from error
