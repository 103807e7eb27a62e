"""What a store knows about its runs, at a glance: derived, and free to be deleted.

A store of ten thousand runs has as many run.json files. The index keeps of each what a
table needs, with the file's own marks; a run whose file has other marks is read again.
The marks are compared for equality only, so a clock that jumps does no harm.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ConfigDict, FiniteFloat

from acprop import files
from acprop.bench.run_files import DamagedError
from acprop.bench.store import RunFolder, Store
from acprop.plain import checked
from acprop.records import RunStatus

INDEX = Path("index") / "runs.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One run. marks: of its run.json. damage: what is wrong with its files.

    epochs: that are done. wall_seconds: of them.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    run: str
    marks: tuple[int, ...]
    status: RunStatus
    study: str = ""
    optimizer: str = ""
    seed: int = 0
    epochs: int = 0
    wall_seconds: FiniteFloat = 0.0
    message: str = ""
    damage: str = ""

    @property
    def is_result(self) -> bool:
        """Is there nothing left to run?"""
        return not self.damage and self.status.is_result


def read(root: Path) -> dict[str, Row]:
    """A row for every run that was begun; the index is brought up to date."""
    store = Store(root)
    store.check()
    known = _load(root / INDEX)
    rows: dict[str, Row] = {}
    is_new = False
    for folder in store.folders():
        marks = _marks(folder.path / "run.json")
        if marks is None:
            continue  # claimed, and not yet begun
        row = known.get(folder.path.name)
        if row is None or row.marks != marks or not row.is_result:
            row = _row(folder, marks)
            is_new = True
        rows[row.run] = row
    if is_new or len(rows) != len(known):
        _save(root / INDEX, rows)
    return rows


def _marks(path: Path) -> tuple[int, ...] | None:
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_size


def _row(folder: RunFolder, marks: tuple[int, ...]) -> Row:
    name = folder.path.name
    try:
        known = folder.read()
        history = folder.metrics()
        return Row(
            name,
            marks,
            RunStatus(known["status"]),
            study=known.get("study", ""),
            optimizer=known["spec"]["optimizer"],
            seed=known["spec"]["seed"],
            epochs=len(history),
            wall_seconds=sum(entry.get("wall_seconds") or 0.0 for entry in history),
            message=known.get("message", ""),
        )
    except DamagedError as error:
        return Row(name, marks, RunStatus.ERROR, damage=str(error))


def _load(path: Path) -> dict[str, Row]:
    """What is not as we write it is derived again."""
    try:
        found = [checked(Row, line) for line in path.read_bytes().splitlines()]
    except (OSError, ValueError):
        return {}
    return {row.run: row for row in found}


def _save(path: Path, rows: dict[str, Row]) -> None:
    text = "".join(json.dumps(asdict(row)) + "\n" for row in rows.values())
    try:
        files.write(path, text)
    except OSError:
        return  # a full disk, or a store that we may only read
