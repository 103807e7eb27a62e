"""What every worker does with a job, on whatever machine: run it, or say why not."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress

from acprop.bench.conditions import threads
from acprop.bench.engines.contract import End, Job
from acprop.bench.leases import LeaseLostError
from acprop.bench.locks import RunInUseError
from acprop.bench.store import RunFolder, Store
from acprop.plain import Plain
from acprop.records import RunStatus

_REPORT_EVERY = 0.5  # seconds


def work(
    job: Job,
    tell: Callable[[float], None],
    is_stopping: Callable[[], bool] = bool,
) -> End:
    """Begin the run or go on with it, and write everything to its folder.

    tell: called now and then with the share that is done.
    is_stopping: has the run been asked to stop with a checkpoint?
    """
    folder = Store(job.root).folder(job.spec, dead=job.dead)
    try:
        status = folder.status()
        if status is not None and is_as_far(folder, status, job.until_epoch):
            return End(status)
        if folder.holder() not in (None, job.dead):  # before its data are loaded
            return End(RunStatus.INTERRUPTED, "another process has it", "busy")
        status = _run(job, folder, _Reporter(folder, tell, is_stopping))
    except (RunInUseError, LeaseLostError) as error:
        return End(RunStatus.INTERRUPTED, str(error), "busy")
    except Exception as error:  # one run's failure must not lose the others
        from acprop.bench.run import in_words

        message = in_words(error)
        with suppress(OSError, ValueError):  # a full disk, or a damaged file
            folder.fail(job.spec, message)
        return End(RunStatus.ERROR, message, "failed")
    is_stopped = status is RunStatus.INTERRUPTED and not is_as_far(
        folder, status, job.until_epoch
    )
    return End(status, trouble="lost" if is_stopped else None)


def is_as_far(folder: RunFolder, status: RunStatus, until_epoch: int | None) -> bool:
    """Has it a result, or has it paused at this epoch before?"""
    if status.is_result:
        return True
    if until_epoch is None or status is not RunStatus.INTERRUPTED:
        return False
    return len(folder.metrics()) >= until_epoch


def _run(job: Job, folder: RunFolder, reporter: "_Reporter") -> RunStatus:
    from acprop.bench.run import run
    from acprop.bench.tasks import prepare

    limit = {} if job.time_limit is None else {"time_limit": job.time_limit}
    with threads(job.threads):
        prepared = prepare(job.spec, device=job.device)
        return run(
            job.spec,
            folder,
            prepared.task,
            prepared.optimizer,
            resume=True,
            watcher=reporter,
            until_epoch=job.until_epoch,
            device=job.device,
            about={"study": job.study, "data": prepared.source},
            **limit,
        )


class _Reporter:
    """Says, now and then, what share of its run is done."""

    def __init__(
        self,
        folder: RunFolder,
        tell: Callable[[float], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self.folder, self.tell, self.is_stopping = folder, tell, is_stopping
        self.last = 0.0

    def step(self, step: int, total: int, loss: float) -> None:
        del loss
        now = time.monotonic()
        if now - self.last > _REPORT_EVERY or step == total:
            self.last = now
            self.folder.note(step / total)
            self.tell(step / total)
            if self.is_stopping():  # as if the system had asked for it
                signal.raise_signal(signal.SIGTERM)

    def epoch(self, entry: Plain) -> None:
        del entry
