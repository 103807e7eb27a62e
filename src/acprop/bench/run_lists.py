"""Which runs a study has requested, so that its status is known without planning it.

run_lists/STUDY-SCALE-RULESET.json in the store. Whatever runs a study writes it again;
one that is damaged counts as none, and it can be deleted.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from acprop import files
from acprop.bench.spec import RunSpec
from acprop.plain import checked


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that a study wants."""

    run: str
    optimizer: str
    seed: NonNegativeInt
    epochs: PositiveInt


@dataclass(frozen=True, slots=True)
class RunList:
    """seconds: of one run, as the study estimates it."""

    study: str
    scale: str
    ruleset: str
    seconds: FiniteFloat
    runs: tuple[RequestedRun, ...]


def requested(specs: Iterable[RunSpec]) -> tuple[RequestedRun, ...]:
    """One of each, in their order."""
    unique = {spec.id: spec for spec in specs}
    return tuple(
        RequestedRun(run, spec.optimizer, spec.seed, spec.epochs)
        for run, spec in unique.items()
    )


def write(root: Path, wanted: RunList) -> None:
    """Keep it beside the runs, unless we may only read them, or the disk is full."""
    path = _path(root, wanted.study, wanted.scale, wanted.ruleset)
    with suppress(OSError):
        files.write(path, json.dumps(asdict(wanted), ensure_ascii=False) + "\n")


def read(root: Path, study: str, scale: str, ruleset: str) -> RunList | None:
    """What was requested; None if nothing was."""
    try:
        return checked(RunList, _path(root, study, scale, ruleset).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _path(root: Path, study: str, scale: str, ruleset: str) -> Path:
    name = f"{study.replace('/', '-')}-{scale}-{ruleset}.json"
    return root / "run_lists" / name
