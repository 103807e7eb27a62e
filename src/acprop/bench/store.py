"""Runs on disk: plain files, one folder for each run, every file whole or not there.

store.json                the version of the store
runs/<id>/run.json        the spec, who worked on it, and how the run ended
runs/<id>/metrics.jsonl   one line for each epoch
runs/<id>/checkpoint.pt   where to continue, sealed with its SHA-256
runs/<id>/checkpoint.older.pt   the one before, in case that one is damaged
runs/<id>/artifacts/      what can be looked at, such as samples
runs/<id>/lock, lease.1   held by the process that works on it
index/                    derived from the runs; can be deleted
"""

import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acprop import checks, files
from acprop.bench import checkpoints, leases, locks, run_files
from acprop.bench.conditions import commit, conditions, in_words, machine, ran_under
from acprop.bench.spec import RunSpec, from_plain
from acprop.plain import Plain, jsonable, to_line
from acprop.records import Ruleset, RunRecord, RunStatus

VERSION = 2
_RUN = re.compile(r"[0-9a-f]{16}")
_FILES = ("metrics.jsonl", *checkpoints.NAMES, "run.json")
_log = logging.getLogger(__name__)


class Store:
    """The folder of all runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Refuse a store that a newer acprop wrote."""
        mark = self.root / "store.json"
        if not mark.exists():
            return
        version = run_files.read(mark, Plain).get("version")
        if not isinstance(version, int) or version > VERSION:
            raise checks.UserError(
                f"the store {self.root} must be of version {VERSION} or older, got "
                f"{version}; a newer acprop wrote it: update acprop, or give another "
                "folder"
            )

    def prepare(self) -> None:
        """Make it a store of this version, before anything is written to it."""
        self.check()
        if not (self.root / "store.json").exists():
            files.write(self.root / "store.json", to_line({"version": VERSION}) + "\n")

    def folder(self, spec: RunSpec, *, dead: leases.Seen | None = None) -> "RunFolder":
        """Where this run lives; nothing is written yet.

        dead: a lease that was watched and found dead.
        """
        return RunFolder(self.root / spec.id, dead=dead)

    def folders(self) -> "Iterator[RunFolder]":
        """Every run that was begun, in the order of their ids."""
        names = os.listdir(self.root) if self.root.is_dir() else []
        for name in sorted(filter(_RUN.fullmatch, names)):
            yield RunFolder(self.root / name)

    def finished(self, spec: RunSpec) -> bool:
        """Has it come to a result?"""
        status = self.folder(spec).status()
        return status is not None and status.is_result


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path, *, dead: leases.Seen | None = None) -> None:
        self.path = path
        self._dead = dead
        self._lease: leases.Lease | None = None
        self._passed_over: list[str] = []  # what was wrong with the last checkpoint

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the run; RunInUseError if another process does."""
        with locks.lock_run(self.path, self._dead) as self._lease:
            try:
                for part in self.path.glob(files.PARTS):  # of a killed process
                    part.unlink(missing_ok=True)
                yield
            finally:
                self._lease = None

    def holder(self) -> leases.Seen | None:
        """Who works on it, as far as one can see without waiting; None is nobody."""
        return locks.holder(self.path)

    def note(self, share: float) -> None:
        """Let others see how much of the run is done, if we hold it."""
        if self._lease is not None:
            self._lease.note(share)

    def begin(self, spec: RunSpec, **about: Any) -> None:
        """Write down what is about to be run.

        Until it ends otherwise it counts as interrupted: that is what a kill leaves.
        """
        begun = {"spec": spec.plain(), "status": RunStatus.INTERRUPTED, **about}
        self._write_run({**begun, "attempts": [_attempt(0)]})

    def end(self, status: RunStatus, final: Plain, message: str = "") -> None:
        """Write down how it ended."""
        end = {"status": status, "final": final, "message": message}
        self._write_run({**self.read(), **end})
        if status.is_result:
            leases.clear(self.path)

    def reopen(self, step: int, machine: Plain) -> None:
        """Write down that it continues: how it ended before is no longer true."""
        known = self.read()
        before, now = ran_under(known), conditions(machine)
        if before != [now]:
            _log.warning(
                "run %s goes on under %s; it came here under %s; its last bits may "
                "differ from those of a run under either alone",
                self.path.name,
                in_words(now),
                in_words(*before),
            )
        attempt = {**_attempt(step), "under": now}
        if self._passed_over:
            attempt["passed_over"] = self._passed_over
        attempts = [*known.get("attempts", []), attempt]
        begun: Plain = {"status": RunStatus.INTERRUPTED, "final": {}, "message": ""}
        self._write_run({**known, **begun, "attempts": attempts})

    def fail(self, spec: RunSpec, message: str) -> None:
        """Write down that an error ended it, perhaps before it began."""
        with self.locked():
            if self.status() is None:
                self.begin(spec, commit=commit(), machine=machine())
            self.end(RunStatus.ERROR, {}, message)

    def read(self) -> Plain:
        """What run.json says."""
        return run_files.read(self.path / "run.json", run_files.RunFile)

    def status(self) -> RunStatus | None:
        """How the run ended, or None if it was never begun."""
        try:
            return RunStatus(self.read()["status"])
        except FileNotFoundError:
            return None

    def write_metrics(self, history: list[Plain]) -> None:
        """Write all epochs so far: a file of at most some hundred lines."""
        self._check()
        lines = "".join(to_line(entry) + "\n" for entry in history)
        files.write(self.path / "metrics.jsonl", lines)

    def metrics(self) -> list[Plain]:
        """The epochs so far."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [
            run_files.read_text(f"{path}, line {number}", run_files.Epoch, line)
            for number, line in enumerate(lines, 1)
        ]

    def write_artifacts(self, contents: Mapping[str, bytes]) -> None:
        """Write files that can be looked at, each whole."""
        for name, content in contents.items():
            files.write(self.path / "artifacts" / name, content)

    def artifacts(self) -> tuple[str, ...]:
        """The names of those files; a link is none of ours."""
        found = (self.path / "artifacts").glob("[!.]*")
        return tuple(sorted(path.name for path in found if not path.is_symlink()))

    def save(self, state: Plain) -> None:
        """Write a checkpoint; the last one is kept, unless it was damaged."""
        self._check()
        checkpoints.save(self.path, state, keep_last=not self._passed_over)
        self._passed_over = []

    def load(self, check: Callable[[Plain], object] = bool) -> Plain | None:
        """The last checkpoint, or the one before if that one is damaged.

        check: raises a ValueError about one that cannot be of this run.
        """
        saved, self._passed_over = checkpoints.load(self.path, check)
        return saved

    def forget(self) -> None:
        """Remove everything, so that the run can begin again."""
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / "artifacts", ignore_errors=True)

    def drop_checkpoint(self) -> None:
        """A finished run is not resumed."""
        for name in checkpoints.NAMES:
            (self.path / name).unlink(missing_ok=True)

    def copy_from(self, source: "RunFolder") -> None:
        """Take another store's files of this run.

        run.json comes last: before it is there, the run has not ended.
        """
        artifacts = [f"artifacts/{name}" for name in source.artifacts()]
        for name in (*artifacts, *_FILES):
            if (source.path / name).exists():
                files.write(self.path / name, (source.path / name).read_bytes())
        status = self.status()
        if status is not None and status.is_result:
            self.drop_checkpoint()
            leases.clear(self.path)

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
            status=RunStatus(known["status"]),
            history=history,
            final=known.get("final", {}),
            wall_seconds=sum(
                entry.get("wall_seconds", 0.0) or 0.0 for entry in history
            ),
            commit=known.get("commit", ""),
            machine={**known.get("machine", {}), "ran_under": ran_under(known)},
            data=known.get("data", {}),
            message=known.get("message", ""),
            artifacts=self.artifacts(),
            ruleset=ruleset,
        )

    def _check(self) -> None:
        """Write nothing to a run that is another process's by now."""
        if self._lease is not None:
            self._lease.check()

    def _write_run(self, value: Plain) -> None:
        self._check()
        text = json.dumps(jsonable(value), indent=1, ensure_ascii=False)
        files.write(self.path / "run.json", text)


def _attempt(step: int) -> Plain:
    """Who goes on from where."""
    return {"host": leases.host(), "pid": os.getpid(), "from_step": step}
