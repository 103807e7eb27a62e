"""Runs on disk: one folder each, every file whole or not there.

runs/<id>/run.json        the spec, and how the run ended
runs/<id>/metrics.jsonl   one line for each epoch
runs/<id>/checkpoint.pt   where to continue
runs/<id>/artifacts/      what can be looked at, such as samples
runs/<id>/lock            held by the process that works on it
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from acprop import files
from acprop.bench.spec import RunSpec, from_plain
from acprop.plain import Plain, jsonable, to_line
from acprop.records import Ruleset, RunRecord, RunStatus


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
        """Has it come to a result?"""
        status = self.folder(spec).status()
        return status is not None and status.is_result


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
                    f"run {self.path.name} is in use by process {holder}; wait for it "
                    "or stop it"
                ) from error
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            for part in self.path.glob(
                files.PARTS
            ):  # left by a process that was killed
                part.unlink(missing_ok=True)
            yield

    def begin(self, spec: RunSpec, **about: Any) -> None:
        """Write down what is about to be run.

        Until it ends otherwise it counts as interrupted: that is what a kill leaves.
        """
        self._write_run(
            {"spec": spec.plain(), "status": RunStatus.INTERRUPTED, **about}
        )

    def end(self, status: RunStatus, final: Plain, message: str = "") -> None:
        """Write down how it ended."""
        end = {"status": status, "final": final, "message": message}
        self._write_run({**self.read(), **end})

    def reopen(self) -> None:
        """Write down that it continues: how it ended before is no longer true."""
        self.end(RunStatus.INTERRUPTED, {})

    def fail(self, spec: RunSpec, message: str) -> None:
        """Write down that an error ended it, perhaps before it began."""
        with self.locked():
            if self.status() is None:
                self.begin(spec, commit=commit(), machine=machine())
            self.end(RunStatus.ERROR, {}, message)

    def read(self) -> Plain:
        """What run.json says."""
        return json.loads((self.path / "run.json").read_text("utf-8"))

    def status(self) -> RunStatus | None:
        """How the run ended, or None if it was never begun."""
        if not (self.path / "run.json").exists():
            return None
        return _status(self.read())

    def write_metrics(self, history: list[Plain]) -> None:
        """Write all epochs so far: a file of at most some hundred lines."""
        lines = "".join(to_line(entry) + "\n" for entry in history)
        files.write(self.path / "metrics.jsonl", lines)

    def metrics(self) -> list[Plain]:
        """The epochs so far."""
        path = self.path / "metrics.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def write_artifacts(self, contents: Mapping[str, bytes]) -> None:
        """Write files that can be looked at, each whole."""
        for name, content in contents.items():
            files.write(self.path / "artifacts" / name, content)

    def artifacts(self) -> tuple[str, ...]:
        """The names of those files."""
        folder = self.path / "artifacts"
        return tuple(sorted(path.name for path in folder.glob("[!.]*")))

    def save(self, state: Plain) -> None:
        """Write a checkpoint."""
        with files.replacing(self.path / "checkpoint.pt") as file:
            torch.save(state, file)

    def load(self) -> Plain | None:
        """The checkpoint, if there is one."""
        path = self.path / "checkpoint.pt"
        if not path.exists():
            return None
        return torch.load(path, map_location="cpu", weights_only=True)

    def forget(self) -> None:
        """Remove everything, so that the run can begin again."""
        for name in ("run.json", "metrics.jsonl", "checkpoint.pt"):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / "artifacts", ignore_errors=True)

    def drop_checkpoint(self) -> None:
        """A finished run is not resumed."""
        (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def record(
        self,
        *,
        study: str,
        scale: str,
        study_settings: Plain | None = None,
        ruleset: Ruleset = "paper",
    ) -> RunRecord:
        """The run as a record, for the report.

        study_settings: those that the study wrote down; None is all there are.
        """
        known = self.read()
        spec = from_plain(known["spec"])
        history = tuple(self.metrics())
        return RunRecord(
            run=self.path.name,
            study=study,
            optimizer=spec.optimizer,
            settings=spec.settings,
            study_settings=spec.settings if study_settings is None else study_settings,
            seed=spec.seed,
            scale=scale,
            spec=spec.plain(),
            status=_status(known),
            history=history,
            final=known.get("final", {}),
            wall_seconds=sum(
                entry.get("wall_seconds", 0.0) or 0.0 for entry in history
            ),
            commit=known.get("commit", ""),
            machine=known.get("machine", {}),
            data=known.get("data", {}),
            message=known.get("message", ""),
            artifacts=self.artifacts(),
            ruleset=ruleset,
        )

    def _write_run(self, value: Plain) -> None:
        text = json.dumps(jsonable(value), indent=1, ensure_ascii=False)
        files.write(self.path / "run.json", text)


def _status(known: Plain) -> RunStatus:
    """What run.json says; the first edition wrote "running" at the beginning."""
    said = known["status"]
    return RunStatus.INTERRUPTED if said == "running" else RunStatus(said)


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
