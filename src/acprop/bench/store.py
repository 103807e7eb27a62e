"""Runs on disk: plain files, one folder for each run, every file whole or not there.

store.json                the version of the store
runs/<id>/run.json        the spec, who worked on it, and how the run ended
runs/<id>/metrics.jsonl   one line for each epoch
runs/<id>/checkpoint.pt   where to continue, sealed with its SHA-256
runs/<id>/checkpoint.older.pt   the one before, in case that one is damaged
runs/<id>/artifacts/      what can be looked at, such as samples
runs/<id>/lease.1         of the process that works on it
run_lists/                which runs a study requested; can be deleted
"""

import json
import logging
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acprop import checks, files
from acprop.bench import leases, run_files
from acprop.bench.conditions import commit, conditions, in_words, machine, ran_under
from acprop.bench.run_files import DamagedError
from acprop.bench.spec import RunSpec
from acprop.plain import Plain, jsonable, to_line
from acprop.records import Ruleset, RunRecord, RunStatus

VERSION = 2
_CHECKPOINTS = _LAST, _OLDER = "checkpoint.pt", "checkpoint.older.pt"
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

    def folder(self, spec: RunSpec) -> "RunFolder":
        """Where this run lives; nothing is written yet."""
        return RunFolder(self.root / spec.id)

    def restore(self, record: RunRecord, artifacts: Path) -> None:
        """Take over a result that a record tells of, unless it is here already.

        artifacts: the folder where the files to look at of all runs lie.
        """
        spec = RunSpec(**record.spec)
        if record.status.is_result and not self.finished(spec):
            self.prepare()
            folder = self.folder(spec)
            with folder.locked():
                folder.restore(record, files.below(artifacts, record.run))

    def finished(self, spec: RunSpec) -> bool:
        """Has it come to a result?"""
        return self.folder(spec).has_result()


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: leases.HeldRun | None = None
        self._passed_over: list[str] = []  # what was wrong with the last checkpoint

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the run; RunInUseError if another process does."""
        with leases.hold(self.path) as self._held:
            try:
                for part in self.path.glob(files.PARTS):  # of a killed process
                    part.unlink(missing_ok=True)
                yield
            finally:
                self._held = None

    def holder(self) -> leases.Lease | None:
        """Who works on it, as far as one can see without waiting; None is nobody."""
        return leases.holder(self.path)

    def note(self, share: float) -> None:
        """Let others see how much of the run is done, if we hold it."""
        if self._held is not None:
            self._held.note(share)

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

    def restore(self, record: RunRecord, artifacts: Path) -> None:
        """Write down what a record tells of this run, and what is beside it."""
        self.forget()
        self.write_metrics(list(record.history))
        there = {n: files.below(artifacts, n) for n in record.artifacts}
        self.write_artifacts(
            {name: path.read_bytes() for name, path in there.items() if path.is_file()}
        )
        machine = dict(record.machine)
        attempts = [{"under": each} for each in machine.pop("ran_under", [])]
        names = ("spec", "status", "study", "commit", "data", "final", "message")
        known = {name: getattr(record, name) for name in names}
        self._write_run({**known, "machine": machine, "attempts": attempts})
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

    def has_result(self) -> bool:
        """Is there nothing left to run?"""
        status = self.status()
        return status is not None and status.is_result

    def write_metrics(self, history: list[Plain]) -> None:
        """Write all epochs so far: a file of at most some hundred lines."""
        lines = "".join(to_line(entry) + "\n" for entry in history)
        self._check()
        files.write(self.path / "metrics.jsonl", lines)

    def metrics(self) -> list[Plain]:
        """The epochs so far."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [
            run_files.parse(f"{path}, line {number}", run_files.Epoch, line)
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
        older = None if self._passed_over else self.path / _OLDER
        run_files.write_checkpoint(self.path / _LAST, state, older=older)
        self._passed_over = []

    def load(self, check: Callable[[Plain], object] = bool) -> Plain | None:
        """The last checkpoint, or the one before if that one is damaged.

        check: raises a ValueError about one that cannot be of this run.
        """
        damaged = self._passed_over = list[str]()
        there = [name for name in _CHECKPOINTS if (self.path / name).exists()]
        for name in there:
            path = self.path / name
            try:
                saved = run_files.read_checkpoint(path)
                check(saved)
            except ValueError as error:
                damaged.append(
                    f"{path} must be a whole checkpoint of this run, got {error}"
                )
                continue
            if name == _OLDER:
                _log.warning(
                    "run %s goes on from the checkpoint before its last: %s",
                    self.path.name,
                    damaged[0] if damaged else f"{self.path / _LAST} is not there",
                )
            return saved
        if there:
            raise DamagedError(
                f"{'; '.join(damaged)}; delete {' and '.join(there)}, and the run "
                "begins again"
            )
        return None

    def forget(self) -> None:
        """Remove everything, so that the run can begin again."""
        self.drop_checkpoint()
        for name in ("metrics.jsonl", "run.json"):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / "artifacts", ignore_errors=True)

    def drop_checkpoint(self) -> None:
        """A finished run is not resumed."""
        for name in _CHECKPOINTS:
            (self.path / name).unlink(missing_ok=True)

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
        spec = RunSpec(**known["spec"])
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
            wall_seconds=wall_seconds(history),
            commit=known.get("commit", ""),
            machine={**known.get("machine", {}), "ran_under": ran_under(known)},
            data=known.get("data", {}),
            message=known.get("message", ""),
            artifacts=self.artifacts(),
            ruleset=ruleset,
        )

    def _check(self) -> None:
        """Write nothing to a run that is another process's by now."""
        if self._held is not None:
            self._held.check()

    def _write_run(self, value: Plain) -> None:
        self._check()
        text = json.dumps(jsonable(value), indent=1, ensure_ascii=False)
        files.write(self.path / "run.json", text)


def wall_seconds(history: Iterable[Plain]) -> float:
    """Of training, in these epochs."""
    return sum(entry.get("wall_seconds") or 0.0 for entry in history)


def _attempt(step: int) -> Plain:
    """Who goes on from where."""
    return {"host": leases.host(), "pid": os.getpid(), "from_step": step}
