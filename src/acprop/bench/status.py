"""How far a study is: what is done, what runs, what failed, and how long it will take.

Which runs a study has requested is kept in the store, in
run_lists/STUDY-SCALE-RULESET.json: whatever runs a study writes it again, and one that
is damaged counts as none. The time left is what is left of every run, times the mean
seconds of training of the finished runs of its optimizer (of all, or of the study's own
estimate, while there are none), divided by how many run now.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from acprop import files
from acprop.bench.run_files import DamagedError
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder, Store, wall_seconds
from acprop.plain import checked
from acprop.records import RunStatus

STATES = ("done", "diverged", "error", "timeout", "paused", "running", "waiting")


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

    def write(self, root: Path) -> None:
        """Keep it beside the runs, unless the disk is full or may only be read."""
        path = _list_path(root, self.study, self.scale, self.ruleset)
        with suppress(OSError):
            files.write(path, json.dumps(asdict(self), ensure_ascii=False) + "\n")


def requested(specs: Iterable[RunSpec]) -> tuple[RequestedRun, ...]:
    """One of each, in their order."""
    unique = {spec.id: spec for spec in specs}
    return tuple(
        RequestedRun(run, spec.optimizer, spec.seed, spec.epochs)
        for run, spec in unique.items()
    )


def read_run_list(root: Path, study: str, scale: str, ruleset: str) -> RunList | None:
    """What was requested; None if nothing was."""
    try:
        return checked(RunList, _list_path(root, study, scale, ruleset).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _list_path(root: Path, study: str, scale: str, ruleset: str) -> Path:
    name = f"{study.replace('/', '-')}-{scale}-{ruleset}.json"
    return root / "run_lists" / name


@dataclass(frozen=True, slots=True)
class OptimizerStatus:
    """One optimizer's runs: how many are in each state; seconds of work left."""

    optimizer: str
    counts: Mapping[str, int]
    seconds_left: float

    @property
    def n_runs(self) -> int:
        """All of them."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Status:
    """A study's lines. share: of all work that is done. workers: how many run now.

    seconds_left: with so many workers; if none runs, with one for each core here.
    troubles: a line for each message of a run without a result.
    """

    study: str
    scale: str
    ruleset: str
    lines: tuple[OptimizerStatus, ...]
    share: float
    workers: int
    seconds_left: float
    troubles: tuple[str, ...]

    def total(self, state: str) -> int:
        """How many runs are in this state."""
        return sum(line.counts.get(state, 0) for line in self.lines)

    @property
    def n_runs(self) -> int:
        """All runs."""
        return sum(line.n_runs for line in self.lines)


@dataclass(frozen=True, slots=True)
class _RunState:
    """share: of its work that is done. seconds: that it took so far."""

    optimizer: str
    state: str
    share: float = 0.0
    seconds: float = 0.0
    message: str = ""


def status_of(wanted: RunList, root: Path) -> Status:
    """Look at every run that the study has requested."""
    Store(root).check()
    runs = [_look(run, RunFolder(root / run.run)) for run in wanted.runs]
    done = [run.seconds for run in runs if run.state == "done"]
    guess = fmean(done) if done else wanted.seconds
    lines: list[OptimizerStatus] = []
    total = 0.0
    for optimizer in dict.fromkeys(run.optimizer for run in runs):
        own = [run for run in runs if run.optimizer == optimizer]
        done = [run.seconds for run in own if run.state == "done"]
        each = fmean(done) if done else guess
        total += each * len(own)
        left = each * sum(1 - run.share for run in own)
        counts = Counter(run.state for run in own)
        lines.append(OptimizerStatus(optimizer, dict(counts), left))
    workers = sum(run.state == "running" for run in runs)
    left = sum(line.seconds_left for line in lines)
    troubles = Counter(
        f"{run.state}: {run.message}"
        for run in runs
        if run.state in ("error", "timeout")
    )
    return Status(
        wanted.study,
        wanted.scale,
        wanted.ruleset,
        tuple(lines),
        share=1 - left / total if total else float(not left),
        workers=workers,
        seconds_left=left / (workers or os.cpu_count() or 1),
        troubles=tuple(f"{n} × {words}" for words, n in troubles.items()),
    )


def _look(wanted: RequestedRun, folder: RunFolder) -> _RunState:
    name = wanted.optimizer
    status, message, share, seconds = None, "", 0.0, 0.0
    try:
        known, history = folder.read(), folder.metrics()
        status, message = RunStatus(known["status"]), known.get("message", "")
        share, seconds = len(history) / wanted.epochs, wall_seconds(history)
        if status.is_result:
            return _RunState(name, status, 1.0, seconds)
    except FileNotFoundError:
        pass  # not yet begun
    except DamagedError as error:
        status, message = RunStatus.ERROR, str(error)
    holder = folder.holder()
    if holder is not None:
        return _RunState(name, "running", max(share, holder.share))
    if status is None:
        return _RunState(name, "waiting")
    state = "paused" if status is RunStatus.INTERRUPTED else status
    return _RunState(name, state, share, seconds, message)
