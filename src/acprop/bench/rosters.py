"""Which runs a study has asked for, so that its status is known without planning it.

rosters/STUDY-SCALE-RULESET.jsonl in the store: what the study would cost for each run,
then a line for each run, in the order in which they were asked for. Every
`acprop bench study` writes it again; it can be deleted.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acprop import files
from acprop.bench.spec import RunSpec
from acprop.plain import to_line


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
    """Keep it beside the runs, unless we may only read them, or the disk is full."""
    about = {"seconds": roster.seconds, "n_runs": len(roster.runs)}
    lines = [about, *([a.run, a.optimizer, a.seed, a.epochs] for a in roster.runs)]
    with suppress(OSError):
        files.write(roster.path(root), "".join(to_line(line) + "\n" for line in lines))


def read(root: Path, study: str, scale: str, ruleset: str) -> Roster | None:
    """What was asked for; None if nothing was, or if the file is not whole."""
    empty = Roster(study, scale, ruleset)
    try:
        lines = empty.path(root).read_text("utf-8").splitlines()
        about: Any = json.loads(lines[0])
        runs = tuple(Asked(*json.loads(line)) for line in lines[1:])
    except (OSError, ValueError, TypeError, IndexError):
        return None
    if len(runs) != about["n_runs"]:
        return None
    return Roster(study, scale, ruleset, about["seconds"], runs)
