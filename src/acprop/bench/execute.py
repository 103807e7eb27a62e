"""Many runs on one machine: one process for each core, one thread in each.

Runs of small networks gain nothing from a second thread and everything from a second
process. Workers resume what they find and say how far they are through a queue. Stopped
by Ctrl-C, or left alone by a parent that was killed, they write a checkpoint and end.
"""

import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from acprop.bench.spec import RunSpec, from_plain
from acprop.bench.store import RunInUseError, Store
from acprop.bench.studies import Planned
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
            if _stop.is_set():
                signal.raise_signal(signal.SIGINT)  # the loop writes a checkpoint

    def epoch(self, entry: Plain) -> None:
        del entry


# What a worker was given: the queue to its parent, and the event that ends all runs.
_said: Any = None
_stop: Any = None


def _prepare_worker(said: Any, stop: Any) -> None:
    global _said, _stop
    _said, _stop = said, stop
    said.cancel_join_thread()  # what nobody reads any more must not keep us
    # A terminal sends Ctrl-C to all of us. During a run the loop takes it; between
    # runs only the parent does, and it says so through the event.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_with_parent()
    import torch

    torch.set_num_threads(1)


def leave_with_parent() -> None:
    """End this worker when its parent is gone; a pool's workers would wait for ever."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        while True:  # a run in work writes its checkpoint first; the next one ends us
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_REPORT_EVERY)

    threading.Thread(target=watch, daemon=True).start()


def _work(plain: Plain, root: str, study: str) -> tuple[str, str]:
    from acprop.bench.run import run
    from acprop.bench.tasks import prepare

    spec = from_plain(plain)
    store = Store(Path(root))
    if _stop.is_set():
        return "interrupted", _STOPPED
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
    work: Callable[[Plain], tuple[str, str]],
    todo: list[RunSpec],
    jobs: int,
    on_progress: Callable[[str, float], None] | None,
    note: Callable[[Outcome], None],
) -> None:
    context = get_context("spawn")
    said, stop = context.Queue(), context.Event()
    with ProcessPoolExecutor(
        min(jobs, len(todo)),
        mp_context=context,
        initializer=_prepare_worker,
        initargs=(said, stop),
    ) as pool:
        waiting = {pool.submit(work, spec.plain()): spec for spec in todo}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED")
                _pass_on(said, on_progress)
                for future in done:
                    note(Outcome(waiting.pop(future), *_ended(future)))
        except BaseException:
            # Runs in work write their checkpoints; those that wait in the pool's own
            # queue, which cannot be cancelled, see the event and do not begin.
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _pass_on(said: Any, on_progress: Callable[[str, float], None] | None) -> None:
    while True:
        try:
            run, share = said.get_nowait()
        except queue.Empty:
            return
        if on_progress is not None and math.isfinite(share):
            on_progress(run, share)
