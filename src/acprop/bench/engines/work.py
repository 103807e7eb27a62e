"""What every worker does with a job, on whatever machine: run it, or say why not."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from acprop.bench.conditions import threads
from acprop.bench.engines.contract import End, Job
from acprop.bench.leases import LeaseLostError, RunInUseError
from acprop.bench.store import RunFolder, Store
from acprop.plain import Plain
from acprop.records import RunStatus

if TYPE_CHECKING:
    from acprop.bench.run import Watcher

_REPORT_EVERY = 0.5  # seconds


def work(
    job: Job,
    report_progress: Callable[[float], None],
    is_stopping: Callable[[], bool] = bool,
) -> End:
    """Begin the run or go on with it, and write everything to its folder.

    report_progress: called now and then with the share that is done.
    is_stopping: should the run stop with a checkpoint?
    """
    folder = Store(job.root).folder(job.spec)
    try:
        status = folder.status()
        if status is not None and status.is_result:
            return End(status)
        if folder.holder() is not None:  # before its data are loaded
            return End(RunStatus.INTERRUPTED, "another process has it", "busy")
        status = train(job, folder, _Reporter(folder, report_progress, is_stopping))
    except (RunInUseError, LeaseLostError) as error:
        return End(RunStatus.INTERRUPTED, str(error), "busy")
    except Exception as error:  # one run's failure must not lose the others
        from acprop.bench.run import in_words

        message = in_words(error)
        with suppress(OSError, ValueError):  # a full disk, or a damaged file
            folder.fail(job.spec, message)
        return End(RunStatus.ERROR, message, "failed")
    return End(status, trouble="lost" if status is RunStatus.INTERRUPTED else None)


def train(
    job: Job,
    folder: RunFolder,
    watcher: "Watcher",
    *,
    resume: bool = True,
    restart: bool = False,
    checkpoint_seconds: float = 60.0,
) -> RunStatus:
    """Load what the job needs and run it; also `acprop bench run`, in any rank."""
    from acprop.bench.run import run
    from acprop.bench.tasks import prepare

    with threads(job.threads):
        prepared = prepare(job.spec, device=job.device)
        return run(
            job.spec,
            folder,
            prepared.task,
            prepared.optimizer,
            resume=resume,
            restart=restart,
            watcher=watcher,
            checkpoint_seconds=checkpoint_seconds,
            time_limit=job.time_limit,
            device=job.device,
            about={"study": job.study, "data": prepared.source},
        )


class _Reporter:
    """Reports, now and then, what share of its run is done."""

    def __init__(
        self,
        folder: RunFolder,
        report_progress: Callable[[float], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self.folder, self.report_progress = folder, report_progress
        self.is_stopping = is_stopping
        self.last = 0.0

    def step(self, step: int, total: int, loss: float) -> None:
        del loss
        now = time.monotonic()
        if now - self.last > _REPORT_EVERY or step == total:
            self.last = now
            self.folder.note(step / total)
            self.report_progress(step / total)
            if self.is_stopping():  # as if the system had sent it
                signal.raise_signal(signal.SIGTERM)

    def epoch(self, entry: Plain) -> None:
        del entry
