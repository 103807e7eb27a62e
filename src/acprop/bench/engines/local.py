"""Processes of this machine: one for each core, one thread in each.

Runs of small networks gain nothing from a second thread and everything from a second
process; and another number of threads is another sum, in the last bits.
"""

import os
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from acprop import checks
from acprop.bench.engines.contract import Crew, End, Event, Job
from acprop.bench.engines.work import work
from acprop.bench.workers import Pool, WorkerDiedError, report_progress
from acprop.records import RunStatus


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """jobs: how many runs at once; None is as many as the cores allow.

    threads: of each run.
    """

    jobs: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        checks.integer("threads", self.threads)

    @contextmanager
    def open(self, root: Path, n_runs: int) -> Generator[Crew]:
        """Processes are started as they are needed."""
        del root
        size = min(self.jobs or max(1, (os.cpu_count() or 1) // self.threads), n_runs)
        with Pool(_work, size) as pool:
            yield _LocalCrew(pool, self.threads)


class _LocalCrew:
    def __init__(self, pool: Pool[Job, End], threads: int) -> None:
        self._pool, self._threads = pool, threads

    def room(self) -> int:
        return self._pool.room

    def submit(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._pool.submit(replace(job, threads=self._threads))

    def wait(self, seconds: float) -> list[Event]:
        return [
            (job.spec.id, _end_of(news) if isinstance(news, Future) else news)
            for job, news in self._pool.wait(seconds)
        ]


def _work(job: Job) -> End:
    return work(job, report_progress)


def _end_of(future: Future[End]) -> End:
    try:
        return future.result()
    except WorkerDiedError as error:
        return End(RunStatus.ERROR, str(error), "killed")
