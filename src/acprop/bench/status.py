"""How far a study is: what is done, what runs, what failed, and how long it will take.

The time left is what is left of every run, times the mean seconds of training of the
finished runs of its optimizer (of all, or of the study's own estimate, while there are
none), divided by how many run now.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from acprop.bench import index
from acprop.bench.index import Row
from acprop.bench.run_lists import RequestedRun, RunList
from acprop.bench.store import RunFolder

STATES = ("done", "diverged", "error", "timeout", "paused", "running", "waiting")


@dataclass(frozen=True, slots=True)
class Line:
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
    lines: tuple[Line, ...]
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
class _Run:
    wanted: RequestedRun
    state: str
    share: float  # of its work that is done


def status_of(wanted: RunList, root: Path) -> Status:
    """Look at every run that the study has requested."""
    rows = index.read(root)
    runs = [_look(one, rows.get(one.run), root) for one in wanted.runs]
    seconds = _seconds(runs, rows, wanted.seconds)
    lines = tuple(
        _line(optimizer, [r for r in runs if r.wanted.optimizer == optimizer], seconds)
        for optimizer in dict.fromkeys(run.wanted.optimizer for run in runs)
    )
    workers = sum(run.state == "running" for run in runs)
    left = sum(line.seconds_left for line in lines)
    total = sum(seconds[run.wanted.optimizer] for run in runs)
    return Status(
        wanted.study,
        wanted.scale,
        wanted.ruleset,
        lines,
        share=1 - left / total if total else float(not left),
        workers=workers,
        seconds_left=left / (workers or os.cpu_count() or 1),
        troubles=_troubles(runs, rows),
    )


def _look(wanted: RequestedRun, row: Row | None, root: Path) -> _Run:
    if row is not None and row.is_result:
        return _Run(wanted, row.status, 1.0)
    done = row.epochs / wanted.epochs if row is not None else 0.0
    folder = RunFolder(root / wanted.run)
    holder = folder.holder() if folder.path.exists() else None
    if holder is not None:
        return _Run(wanted, "running", max(done, holder.share))
    if row is None:
        return _Run(wanted, "waiting", 0.0)
    return _Run(wanted, "paused" if row.status == "interrupted" else row.status, done)


def _seconds(
    runs: Iterable[_Run], rows: Mapping[str, Row], guess: float
) -> dict[str, float]:
    """What one run of each optimizer takes."""
    taken: dict[str, list[float]] = {}
    for run in runs:
        known = taken.setdefault(run.wanted.optimizer, [])
        if run.state == "done":
            known.append(rows[run.wanted.run].wall_seconds)
    everything = [seconds for known in taken.values() for seconds in known]
    mean = fmean(everything) if everything else guess
    return {name: fmean(known) if known else mean for name, known in taken.items()}


def _line(optimizer: str, runs: list[_Run], seconds: Mapping[str, float]) -> Line:
    left = sum(1 - run.share for run in runs) * seconds[optimizer]
    return Line(optimizer, dict(Counter(run.state for run in runs)), left)


def _troubles(runs: Iterable[_Run], rows: Mapping[str, Row]) -> tuple[str, ...]:
    messages = Counter(
        f"{run.state}: {row.damage or row.message}"
        for run in runs
        if run.state in ("error", "timeout") and (row := rows.get(run.wanted.run))
    )
    return tuple(f"{n} × {words}" for words, n in messages.items())
