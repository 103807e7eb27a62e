"""Many runs on one machine: one process for each core, one thread in each.

Runs of small networks gain nothing from a second thread and everything from a second
process. Workers resume what they find and say how far they are through a queue.
"""

import math
import os
import queue
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from acprop.bench.spec import RunSpec
from acprop.bench.store import RunInUseError, Store
from acprop.bench.studies import Planned
from acprop.bench.workers import spread
from acprop.records import RunRecord

Plain = dict[str, Any]
_REPORT_EVERY = 0.5  # seconds
_STOPPED = "stopped; call it again and it goes on"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; message says what went wrong, if something did."""

    spec: RunSpec
    status: str
    message: str = ""


class _Reporter:
    """Tells the parent, now and then, what share of its run is done."""

    def __init__(self, run: str) -> None:
        self.run, self.last = run, 0.0

    def step(self, step: int, total: int, loss: float) -> None:
        del loss
        now = time.monotonic()
        if now - self.last > _REPORT_EVERY or step == total:
            self.last = now
            _said.put((self.run, step / total))

    def epoch(self, entry: Plain) -> None:
        del entry


_said: Any = None  # what a worker was given: the queue to its parent


def _prepare_worker(said: Any) -> None:
    global _said
    _said = said
    said.cancel_join_thread()  # what nobody reads any more must not keep us
    import torch

    torch.set_num_threads(1)


def _work(spec: RunSpec, root: str, study: str) -> tuple[str, str]:
    from acprop.bench.run import run
    from acprop.bench.tasks import prepare

    store = Store(Path(root))
    if store.finished(spec):
        return store.folder(spec).status() or "", ""
    try:
        prepared = prepare(spec)
        status = run(
            spec,
            store.folder(spec),
            prepared.task,
            prepared.optimizer,
            resume=True,
            watcher=_Reporter(spec.id),
            about={"study": study, "data": prepared.source},
        )
    except RunInUseError as error:
        return "error", str(error)
    except Exception as error:  # one run's failure must not lose the others
        return "error", f"{type(error).__name__}: {error}"
    return status, _STOPPED if status == "interrupted" else ""


def _ended(future: Future[tuple[str, str]]) -> tuple[str, str]:
    try:
        return future.result()
    except BrokenProcessPool:
        return "error", "a worker was killed, perhaps for want of memory; call it again"


def execute(
    specs: Iterable[RunSpec],
    root: Path,
    *,
    study: str = "",
    jobs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run them all, resuming what was begun; the outcomes in the order of the specs."""
    unique = list({spec.id: spec for spec in specs}.values())
    outcomes: dict[str, Outcome] = {}

    def note(outcome: Outcome) -> None:
        outcomes[outcome.spec.id] = outcome
        if on_progress is not None:
            on_progress(outcome.spec.id, 1.0)
        if on_end is not None:
            on_end(outcome)

    todo: list[RunSpec] = []
    for spec in unique:
        if Store(root).finished(spec):
            note(Outcome(spec, Store(root).folder(spec).status() or ""))
        else:
            todo.append(spec)
    if todo:  # else no process is started
        work = partial(_work, root=str(root), study=study)
        _spread(work, todo, jobs or os.cpu_count() or 1, on_progress, note)
    return [outcomes[spec.id] for spec in unique]


def execute_planned(
    planned: Sequence[Planned],
    root: Path,
    *,
    study: str,
    scale: str,
    jobs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> tuple[list[RunRecord], list[str]]:
    """Runs of a study: the records of those that ended, and what befell the others."""
    specs = [p.spec for p in planned]
    outcomes = execute(specs, root, study=study, jobs=jobs, on_progress=on_progress)
    failed = {o.spec.id: o for o in outcomes if o.status in ("error", "interrupted")}
    records = [
        Store(root).folder(p.spec).record(study=study, scale=scale, asked=p.asked)
        for p in planned
        if p.spec.id not in failed
    ]
    complaints = [
        f"{o.spec.optimizer} {o.spec.settings} seed {o.spec.seed}: {o.message}"
        for o in failed.values()
    ]
    return records, complaints


def _spread(
    work: Callable[[RunSpec], tuple[str, str]],
    todo: list[RunSpec],
    jobs: int,
    on_progress: Callable[[str, float], None] | None,
    note: Callable[[Outcome], None],
) -> None:
    said = get_context("spawn").Queue()

    def ended(spec: RunSpec, future: Future[tuple[str, str]]) -> None:
        _pass_on(said, on_progress)  # what it said before it ended comes first
        note(Outcome(spec, *_ended(future)))

    spread(
        work,
        todo,
        jobs,
        ended,
        prepare=(_prepare_worker, said),
        meanwhile=partial(_pass_on, said, on_progress),
    )


def _pass_on(said: Any, on_progress: Callable[[str, float], None] | None) -> None:
    while True:
        try:
            run, share = said.get_nowait()
        except queue.Empty:
            return
        if on_progress is not None and math.isfinite(share):
            on_progress(run, share)
