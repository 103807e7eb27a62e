"""Many runs on one machine: one process for each core, one thread in each.

Runs of small networks gain nothing from a second thread and everything from a second
process. Workers resume what they find, and report their progress through a queue.
"""

import math
import os
import queue
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder, RunInUseError, Store
from acprop.bench.studies import PlannedRun
from acprop.bench.workers import spread
from acprop.plain import Plain
from acprop.records import RunRecord, RunStatus

OnProgress = Callable[
    [str, float], None
]  # a run's id, and the share of it that is done
_REPORT_EVERY = 0.5  # seconds


class _End(NamedTuple):
    """What a worker returns."""

    status: RunStatus
    message: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; message: more about the status."""

    spec: RunSpec
    status: RunStatus
    message: str = ""


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of a study's runs.

    records     of all that ended, also by an error
    complaints  a line for each that has no result
    missing     those of these lines whose runs have no record
    """

    records: list[RunRecord]
    complaints: list[str]
    missing: list[str]


class _Reporter:
    """Tells the parent, now and then, what share of its run is done."""

    def __init__(self, run: str) -> None:
        self.run, self.last = run, 0.0

    def step(self, step: int, total: int, loss: float) -> None:
        del loss
        now = time.monotonic()
        if now - self.last > _REPORT_EVERY or step == total:
            self.last = now
            _to_parent.put((self.run, step / total))

    def epoch(self, entry: Plain) -> None:
        del entry


_to_parent: Any = None  # in a worker: the queue to its parent


def _prepare_worker(to_parent: Any) -> None:
    global _to_parent
    _to_parent = to_parent
    to_parent.cancel_join_thread()  # what nobody reads any more must not keep us
    import torch

    torch.set_num_threads(1)


def _work(
    spec: RunSpec, root: str, studies: Mapping[str, str], until_epoch: int | None
) -> _End:
    from acprop.bench.run import in_words, run
    from acprop.bench.tasks import prepare

    store = Store(Path(root))
    folder = store.folder(spec)
    status = folder.status()
    if status is not None and status.is_result:
        return _End(status)
    try:
        prepared = prepare(spec)
        status = run(
            spec,
            folder,
            prepared.task,
            prepared.optimizer,
            resume=True,
            watcher=_Reporter(spec.id),
            until_epoch=until_epoch,
            about={"study": studies.get(spec.id, ""), "data": prepared.source},
        )
    except RunInUseError as error:
        return _End(RunStatus.ERROR, str(error))
    except Exception as error:  # one run's failure must not lose the others
        message = in_words(error)
        with suppress(OSError):  # a full disk, or another process has it by now
            folder.fail(spec, message)
        return _End(RunStatus.ERROR, message)
    return _End(status)


def _end_of(future: Future[_End]) -> _End:
    try:
        return future.result()
    except BrokenProcessPool:
        advice = "a worker was killed, perhaps for lack of memory; run it again"
        return _End(RunStatus.ERROR, advice)


def execute(
    specs: Iterable[RunSpec],
    root: Path,
    *,
    studies: Mapping[str, str] | None = None,
    jobs: int | None = None,
    until_epoch: int | None = None,
    on_progress: OnProgress | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run them all, resuming what was begun; the outcomes in the order of the specs.

    studies: for a run's id the study that it is made for, which the run notes.
    until_epoch: where runs pause, with a checkpoint and as interrupted.
    """
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
        folder = Store(root).folder(spec)
        status = folder.status()
        if status is not None and (
            status.is_result or _is_as_far(folder, status, until_epoch)
        ):
            note(Outcome(spec, status))
        else:
            todo.append(spec)
    if todo:  # else no process is started
        work = partial(
            _work, root=str(root), studies=studies or {}, until_epoch=until_epoch
        )
        _spread(work, todo, jobs or os.cpu_count() or 1, on_progress, note)
    return [outcomes[spec.id] for spec in unique]


def _is_as_far(folder: RunFolder, status: RunStatus, until_epoch: int | None) -> bool:
    """Has a paused run come to this epoch before?"""
    if until_epoch is None or status is not RunStatus.INTERRUPTED:
        return False
    return len(folder.metrics()) >= until_epoch


def collect(
    planned: Sequence[PlannedRun],
    outcomes: Iterable[Outcome],
    root: Path,
    *,
    study: str,
    scale: str,
) -> Executed:
    """What became of a study's runs. outcomes: also those of other studies."""
    ours = {p.spec.id for p in planned}
    records: dict[str, RunRecord] = {}
    for plan in planned:
        folder = Store(root).folder(plan.spec)
        if folder.status() not in (None, RunStatus.INTERRUPTED):
            records.setdefault(
                plan.spec.id,
                folder.record(
                    study=study, scale=scale, study_settings=plan.study_settings
                ),
            )
    complaints = {
        o.spec.id: f"{o.spec.optimizer} {o.spec.settings} seed {o.spec.seed}: "
        f"{o.message or o.status.message}"
        for o in outcomes
        if o.spec.id in ours and not o.status.is_result
    }
    return Executed(
        list(records.values()),
        complaints=list(complaints.values()),
        missing=[line for run, line in complaints.items() if run not in records],
    )


def _spread(
    work: Callable[[RunSpec], _End],
    todo: list[RunSpec],
    jobs: int,
    on_progress: OnProgress | None,
    note: Callable[[Outcome], None],
) -> None:
    from_workers = get_context("spawn").Queue()

    def ended(spec: RunSpec, future: Future[_End]) -> None:
        _pass_on(from_workers, on_progress)  # what it reported before it ended
        note(Outcome(spec, *_end_of(future)))

    spread(
        work,
        todo,
        jobs,
        ended,
        prepare=(_prepare_worker, from_workers),
        meanwhile=partial(_pass_on, from_workers, on_progress),
    )


def _pass_on(from_workers: Any, on_progress: OnProgress | None) -> None:
    while True:
        try:
            run, share = from_workers.get_nowait()
        except queue.Empty:
            return
        if on_progress is not None and math.isfinite(share):
            on_progress(run, share)
