"""How long a run takes on this machine, before it is run.

Seconds come from finished runs of the same task in the store; where there are none, a
few steps and one evaluation are measured; where the data are not here either, the
study's own estimate is taken. It says which.
"""

import io
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch

from acprop.bench.conditions import threads
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder, Store
from acprop.bench.tasks import dataset_of, prepare
from acprop.plain import Plain, canonical

_FOLDERS = 500  # of other runs that are looked at
_STEPS, _SECONDS = 10, 2.0  # that are measured, at most
_WARM = 2
START = 1.0  # seconds before a run's first step, about: a task is made, data are read


@dataclass(slots=True)
class _Cost:
    """Of one epoch, and of what a run leaves on disk."""

    seconds: float
    checkpoint: int
    source: str


@dataclass(slots=True)
class Clock:
    """How long runs take here. fallback: seconds of a run, by the study's own words."""

    runs: Path
    fallback: float
    _known: dict[str, dict[str, list[float]]] = field(
        default_factory=dict[str, dict[str, list[float]]]
    )
    _measured: dict[str, _Cost] = field(default_factory=dict[str, _Cost])
    _used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def learn(self, specs: Iterable[RunSpec]) -> None:
        """Read the finished runs among these, and some others of the store."""
        folders = [Store(self.runs).folder(spec) for spec in specs]
        there = [folder for folder in folders if folder.path.is_dir()]
        others = (RunFolder(path) for path in islice(_folders(self.runs), _FOLDERS))
        seen: set[Path] = set()
        for folder in (*there, *others):
            if folder.path not in seen:
                seen.add(folder.path)
                self._read(folder)

    def epoch_seconds(self, spec: RunSpec) -> float:
        """Of one epoch of training, and its evaluation."""
        return self._cost(spec).seconds

    def checkpoint_bytes(self, spec: RunSpec) -> int:
        """Of a run that is paused or under way; 0 if it was not measured."""
        return self._cost(spec).checkpoint

    def sources(self) -> tuple[str, ...]:
        """Where the seconds came from, in words."""
        return tuple(f"{len(n)} runs: {source}" for source, n in self._used.items())

    def _cost(self, spec: RunSpec) -> _Cost:
        key = canonical([spec.task, spec.task_settings, spec.optimizer])
        if key not in self._measured:
            self._measured[key] = self._found(spec)
        cost = self._measured[key]
        self._used.setdefault(cost.source, set()).add(spec.id)
        return cost

    def _found(self, spec: RunSpec) -> _Cost:
        of_task = self._known.get(_task_key(spec), {})
        if own := of_task.get(spec.optimizer):
            words = "finished runs of the same optimizer and task in the store"
            return _Cost(statistics.median(own), 0, words)
        if of_task:
            some = [seconds for every in of_task.values() for seconds in every]
            words = "finished runs of the same task in the store, other optimizers"
            return _Cost(statistics.median(some), 0, words)
        measured = _measure(spec)
        if measured is not None:
            return measured
        words = "the study's own estimate; its data are not here to measure with"
        return _Cost(self.fallback / spec.epochs, 0, words)

    def _read(self, folder: RunFolder) -> None:
        try:
            record = folder.record(study="", scale="")
        except (OSError, ValueError, KeyError, TypeError):
            return  # begun, or of another making: it tells nothing about time
        spec: Plain = record.spec
        spent = [_seconds(entry) for entry in record.history]
        if spent:
            key = canonical([spec["task"], spec["task_settings"]])
            of_task = self._known.setdefault(key, {})
            of_task.setdefault(record.optimizer, []).append(statistics.mean(spent))


def _task_key(spec: RunSpec) -> str:
    return canonical([spec.task, spec.task_settings])


def _seconds(entry: Plain) -> float:
    return sum(entry.get(n) or 0.0 for n in ("wall_seconds", "evaluation_seconds"))


def _folders(runs: Path) -> Iterable[Path]:
    return (path.parent for path in runs.glob("*/run.json")) if runs.is_dir() else ()


def _measure(spec: RunSpec) -> _Cost | None:
    """A few steps on one thread, as a worker takes them; None without the data."""
    from acprop.tasks.data import cache_folder

    dataset = dataset_of(spec)
    if dataset is not None and not (cache_folder() / dataset).is_dir():
        return None
    with threads(1):
        prepared = prepare(spec)
        session = prepared.task.begin(spec.seed, prepared.optimizer)
        for _ in range(_WARM):
            session.train_step()
        started, n = time.perf_counter(), 0
        while n < _STEPS and time.perf_counter() - started < _SECONDS:
            session.train_step()
            n += 1
        step = (time.perf_counter() - started) / n
        started = time.perf_counter()
        session.evaluate()
        evaluation = time.perf_counter() - started
        saved = io.BytesIO()
        torch.save(session.state_dict(), saved)
    seconds = step * session.steps_per_epoch + evaluation
    checkpoints = 2 * len(saved.getvalue())  # the last, and the one before
    return _Cost(seconds, checkpoints, f"{n} steps measured here")
