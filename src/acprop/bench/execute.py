"""Many runs on one machine: one process for each core, one thread in each.

Runs of small networks gain nothing from a second thread and everything from a second
process. Workers resume what they find and say how far they are through a queue.
"""

import math
import os
import queue
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from acprop.bench.spec import RunSpec, from_plain

Plain = dict[str, Any]
_REPORT_EVERY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; message says what went wrong, if something did."""

    spec: RunSpec
    status: str
    message: str = ""


class _Reporter:
    """Tells the parent, now and then, what share of its run is done."""

    def __init__(self, run: str, said: Any) -> None:
        self.run, self.said, self.last = run, said, 0.0

    def step(self, step: int, total: int, loss: float) -> None:
        del loss
        now = time.monotonic()
        if now - self.last > _REPORT_EVERY or step == total:
            self.last = now
            # After Ctrl-C nobody may be listening any more; the run still ends cleanly.
            with suppress(OSError, EOFError):
                self.said.put((self.run, step / total))

    def epoch(self, entry: Plain) -> None:
        del entry


_said: Any = None


def _prepare_worker(said: Any) -> None:
    global _said
    _said = said
    import torch

    torch.set_num_threads(1)


def _work(plain: Plain, root: str, study: str) -> tuple[str, str]:
    from acprop.bench.run import run
    from acprop.bench.store import RunInUseError, Store
    from acprop.bench.tasks import prepare

    spec = from_plain(plain)
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
            watcher=_Reporter(spec.id, _said),
            about={"study": study, "data": prepared.source},
        )
    except RunInUseError as error:
        return "error", str(error)
    except Exception as error:  # one run's failure must not lose the others
        return "error", f"{type(error).__name__}: {error}"
    return status, ""


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
    context = get_context("spawn")
    outcomes: dict[str, Outcome] = {}
    with context.Manager() as manager:
        said = manager.Queue()
        with ProcessPoolExecutor(
            jobs or os.cpu_count() or 1,
            mp_context=context,
            initializer=_prepare_worker,
            initargs=(said,),
        ) as pool:
            waiting: dict[Future[tuple[str, str]], RunSpec] = {
                pool.submit(_work, spec.plain(), str(root), study): spec
                for spec in unique
            }
            try:
                while waiting:
                    done, _ = wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED")
                    _pass_on(said, on_progress)
                    for future in done:
                        spec = waiting.pop(future)
                        outcome = Outcome(spec, *future.result())
                        outcomes[spec.id] = outcome
                        if on_progress is not None:
                            on_progress(spec.id, 1.0)
                        if on_end is not None:
                            on_end(outcome)
            except BaseException:
                # The workers have had the signal too and write their checkpoints.
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    return [outcomes[spec.id] for spec in unique]


def _pass_on(said: Any, on_progress: Callable[[str, float], None] | None) -> None:
    while True:
        try:
            run, share = said.get_nowait()
        except queue.Empty:
            return
        if on_progress is not None and math.isfinite(share):
            on_progress(run, share)
