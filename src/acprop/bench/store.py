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

import io
import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, FiniteFloat

from acprop import files
from acprop.bench import leases, locks
from acprop.bench.conditions import conditions, in_words, machine, ran_under
from acprop.bench.spec import RunSpec, from_plain
from acprop.plain import Plain, checked, jsonable, to_line
from acprop.records import Ruleset, RunRecord, RunStatus

VERSION = 2  # 1 had no leases and no store.json
_RUN = re.compile(r"[0-9a-f]{16}")
CHECKPOINT, OLDER = "checkpoint.pt", "checkpoint.older.pt"
_FILES = ("run.json", "metrics.jsonl", CHECKPOINT, OLDER)
_log = logging.getLogger(__name__)


class DamagedError(ValueError):
    """A file of a run is not what was written; nothing was changed."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Who worked on a run. under: which conditions, if they were noted."""

    __pydantic_config__ = ConfigDict(strict=True)
    under: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class _RunFile:
    """What run.json must say; it may say more."""

    __pydantic_config__ = ConfigDict(strict=True)
    spec: RunSpec
    status: RunStatus | Literal["running"]
    study: str = ""
    commit: str = ""
    message: str = ""
    machine: Plain = field(default_factory=dict[str, Any])
    data: Plain = field(default_factory=dict[str, Any])
    final: Plain = field(default_factory=dict[str, Any])
    attempts: list[_Attempt] = field(default_factory=list[_Attempt])


@dataclass(frozen=True, slots=True)
class _Epoch:
    """What a line of metrics.jsonl must say; it may say more."""

    __pydantic_config__ = ConfigDict(strict=True)
    wall_seconds: FiniteFloat | None = None


class Store:
    """The folder of all runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Refuse a store that a newer acprop wrote."""
        mark = self.root / "store.json"
        version = _read(mark, Plain).get("version") if mark.exists() else 1
        if not isinstance(version, int) or version > VERSION:
            raise ValueError(
                f"the store {self.root} must be of version {VERSION} or older, got "
                f"{version}; a newer acprop wrote it: update acprop, or give another "
                "folder"
            )

    def prepare(self) -> None:
        """Make it a store of this version, before anything is written to it."""
        self.check()
        mark = self.root / "store.json"
        if not mark.exists() or _read(mark, Plain)["version"] < VERSION:
            files.write(mark, to_line({"version": VERSION}) + "\n")

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
        with locks.held(self.path, self._dead) as self._lease:
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
        return _read(self.path / "run.json", _RunFile)

    def status(self) -> RunStatus | None:
        """How the run ended, or None if it was never begun."""
        try:
            return status_of(self.read())
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
            _checked(f"{path}, line {number}", _Epoch, line)
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
        import torch

        self._check()
        content = io.BytesIO()
        torch.save(state, content)
        content.write(files.seal(content.getbuffer()))
        self._write_checkpoint(content.getbuffer())

    def _write_checkpoint(self, content: bytes | memoryview) -> None:
        older = None if self._passed_over else self.path / OLDER
        files.write(self.path / CHECKPOINT, content, older=older)
        self._passed_over = []

    def load(self, check: Callable[[Plain], object] = bool) -> Plain | None:
        """The last checkpoint, or the one before if that one is damaged.

        check: raises a ValueError about one that cannot be of this run.
        """
        self._passed_over = []
        there = [n for n in (CHECKPOINT, OLDER) if (self.path / n).exists()]
        for name in there:
            try:
                saved = _read_checkpoint(self.path / name)
                check(saved)
            except ValueError as error:
                self._passed_over.append(
                    f"{self.path / name} must be a whole checkpoint of this run, got "
                    f"{error}"
                )
                continue
            if name == OLDER:
                why = self._passed_over or [f"{self.path / CHECKPOINT} is not there"]
                _log.warning(
                    "run %s goes on from the checkpoint before its last: %s",
                    self.path.name,
                    why[0],
                )
            return saved
        if there:
            raise DamagedError(
                f"{'; '.join(self._passed_over)}; delete {' and '.join(there)}, and "
                "the run begins again"
            )
        return None

    def forget(self) -> None:
        """Remove everything, so that the run can begin again."""
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / "artifacts", ignore_errors=True)

    def drop_checkpoint(self) -> None:
        """A finished run is not resumed."""
        for name in (CHECKPOINT, OLDER):
            (self.path / name).unlink(missing_ok=True)

    def pack(self, *, artifacts: bool = True) -> dict[str, bytes]:
        """All that is worth sending to another disk, by name."""
        names = [*_FILES]
        if artifacts:
            names += [f"artifacts/{name}" for name in self.artifacts()]
        contents: dict[str, bytes] = {}
        for name in names:
            with suppress(FileNotFoundError):  # it may go while we look
                contents[name] = (self.path / name).read_bytes()
        return contents

    def unpack(self, contents: Mapping[str, bytes]) -> None:
        """Write what another disk has sent.

        run.json comes last: before it is there, the run has not ended.
        """
        self._check()
        for name in sorted(contents, key="run.json".__eq__):
            if name == CHECKPOINT and OLDER not in contents:
                self._write_checkpoint(contents[name])
            else:
                files.write(self.path / name, contents[name])
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
            status=status_of(known),
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


def _read(path: Path, kind: type) -> Plain:
    return _checked(str(path), kind, path.read_bytes())


def _checked(place: str, kind: type, text: bytes) -> Plain:
    """The plain values of a text that is of this kind."""
    try:
        checked(kind, text)
        return checked(Plain, text)
    except ValueError as error:
        raise DamagedError(
            f"{place}: {error}; move the folder away and run it again"
        ) from error


def _read_checkpoint(path: Path) -> Plain:
    """ValueError if it is damaged: what there is instead, in words.

    Not in torch's: it advises to switch its protection off.
    """
    import torch

    try:
        content, words = files.read_sealed(path), ""
    except files.UnsealedError:  # of an acprop before SHA-256s, or cut short
        content, words = path.read_bytes(), "%s has no SHA-256: taken without a check"
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
    if words:
        _log.warning(words, path)
    return saved  # pyright: ignore[reportUnknownVariableType]


def _attempt(step: int) -> Plain:
    """Who goes on from where."""
    return {"host": leases.host(), "pid": os.getpid(), "from_step": step}


def status_of(known: Plain) -> RunStatus:
    """What run.json says; the first edition wrote "running" at the beginning."""
    said = known["status"]
    return RunStatus.INTERRUPTED if said == "running" else RunStatus(said)


@cache
def commit(package: Path = Path(__file__).parents[1]) -> str:
    """The commit of the checkout that a package runs from, if it is one.

    "-dirty" at its end: files of the package are not as the commit has them. What else
    is changed does not count: a study that writes to results/ must not spoil the next.
    """

    def git(*words: str) -> str:
        found = subprocess.run(
            ["git", *words],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return found.stdout.strip()

    try:
        name = git("describe", "--always", "--abbrev=12")
        return f"{name}-dirty" if git("status", "--porcelain", ".") else name
    except (OSError, subprocess.SubprocessError):
        return ""
