"""Runs on disk: one folder each, every file whole or not there.

runs/<id>/run.json        what was asked, and how it ended
runs/<id>/metrics.jsonl   one line for each epoch
runs/<id>/checkpoint.pt   where to go on
runs/<id>/lock            held by the process that works on it
"""

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import torch

from acprop.bench.spec import RunSpec, from_plain
from acprop.records import RunRecord, jsonable

Plain = dict[str, Any]


class RunInUseError(BlockingIOError):
    """Another process works on this run."""


class Store:
    """The folder of all runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, spec: RunSpec) -> "RunFolder":
        """Where this run lives; nothing is written yet."""
        return RunFolder(self.root / spec.id)

    def finished(self, spec: RunSpec) -> bool:
        """Has it ended, one way or another?"""
        return self.folder(spec).status() in ("done", "diverged")


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the run; the system lets go of it even if this process is killed."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                raise RunInUseError(
                    f"run {self.path.name} must be free, got one in use by process "
                    f"{holder}; wait for it or stop it"
                ) from error
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def begin(self, spec: RunSpec, **about: Any) -> None:
        """Write down what is about to be run."""
        self._write_json(
            "run.json", {"spec": spec.plain(), "status": "running", **about}
        )

    def end(self, status: str, final: Plain, message: str = "") -> None:
        """Write down how it ended."""
        known = self.read()
        self._write_json(
            "run.json", {**known, "status": status, "final": final, "message": message}
        )

    def read(self) -> Plain:
        """What run.json says."""
        return json.loads((self.path / "run.json").read_text("utf-8"))

    def status(self) -> str | None:
        """None is: never begun."""
        return self.read()["status"] if (self.path / "run.json").exists() else None

    def write_metrics(self, history: list[Plain]) -> None:
        """All epochs so far: a file of at most some hundred lines, written anew."""
        lines = "".join(json.dumps(jsonable(entry)) + "\n" for entry in history)
        self._write("metrics.jsonl", lambda file: file.write(lines.encode()))

    def metrics(self) -> list[Plain]:
        """The epochs so far."""
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def save(self, state: Plain) -> None:
        """Write a checkpoint."""
        self._write("checkpoint.pt", lambda file: torch.save(state, file))

    def load(self) -> Plain | None:
        """The checkpoint, if there is one."""
        path = self.path / "checkpoint.pt"
        if not path.exists():
            return None
        return torch.load(path, map_location="cpu", weights_only=True)

    def forget(self) -> None:
        """Begin anew."""
        for name in ("run.json", "metrics.jsonl", "checkpoint.pt"):
            (self.path / name).unlink(missing_ok=True)

    def drop_checkpoint(self) -> None:
        """A finished run is not resumed."""
        (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def record(
        self, *, study: str, scale: str, asked: Plain | None = None
    ) -> RunRecord:
        """The run as a record, for the report.

        asked: its settings as a study names them; None is all that were resolved.
        """
        known = self.read()
        spec = from_plain(known["spec"])
        history = tuple(self.metrics())
        return RunRecord(
            run=self.path.name,
            study=study,
            optimizer=spec.optimizer,
            settings=spec.settings if asked is None else asked,
            seed=spec.seed,
            scale=scale,
            spec=spec.plain(),
            status=known["status"],
            history=history,
            final=known.get("final", {}),
            wall_seconds=sum(
                entry.get("wall_seconds", 0.0) or 0.0 for entry in history
            ),
            commit=known.get("commit", ""),
            machine=known.get("machine", {}),
            data=known.get("data", {}),
            message=known.get("message", ""),
        )

    def _write_json(self, name: str, value: Plain) -> None:
        text = json.dumps(jsonable(value), indent=1, ensure_ascii=False)
        self._write(name, lambda file: file.write(text.encode()))

    def _write(self, name: str, fill: Callable[[IO[bytes]], Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        # A name of its own: what a killed process left is overwritten, not in the way.
        part = self.path / f".{name}.part"
        with part.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path / name)


@cache
def commit() -> str:
    """The commit of the checkout this package runs from, if it is one."""
    here = Path(__file__).parent
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""


def machine() -> Plain:
    """What a reader needs to judge a wall time."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
