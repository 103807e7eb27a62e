"""SLURM, through submitit: one job for each run, as an array.

The store lies on the disk that the nodes share; jobs, their sbatch files and what they
print are in its folder slurm/. A job whose time is up, or that is preempted, writes a
checkpoint and is submitted again. Jobs outlive a driver that is killed: the next one
finds them at work by their leases, and waits for their results.
"""

import shlex
import shutil
import signal
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from acprop import checks
from acprop.bench.engines.contract import (
    Crew,
    End,
    Event,
    Job,
    check_resources,
)
from acprop.bench.engines.work import work
from acprop.bench.store import Store
from acprop.records import RunStatus

_LOOK_EVERY = 0.5  # seconds
_STOP_WITHIN = 60.0  # seconds, for checkpoints when we are interrupted
_WARNED_BEFORE = 90  # seconds before its end, a job is told to stop
_MOST = 1000  # jobs in the queue at once; many clusters allow no more


@dataclass(frozen=True, slots=True)
class SlurmEngine:
    """minutes: of each job. cpus, gpus: of each run. jobs: how many at once.

    threads: that a run uses of its cpus; another number is another last bit.
    cluster: "local" and "debug" are submitit's own, for a machine without SLURM.
    """

    minutes: int = 60
    partition: str | None = None
    cpus: int = 1
    gpus: int = 0
    jobs: int | None = None
    cluster: Literal["slurm", "local", "debug"] = "slurm"
    threads: int = 1

    def __post_init__(self) -> None:
        checks.whole("minutes", self.minutes)
        check_resources(self.cpus, self.gpus, self.threads)

    @contextmanager
    def open(self, root: Path, n_runs: int) -> Generator[Crew]:
        """Nothing is submitted yet."""
        submitit: Any = import_module("submitit")
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise ValueError(
                "executor must be local or ray here, got slurm; this machine has no "
                "sbatch"
            )
        executor = submitit.AutoExecutor(_folder(root), cluster=self.cluster)
        executor.update_parameters(**self._parameters())
        crew = _SlurmCrew(executor, self, min(n_runs, self.jobs or _MOST))
        try:
            yield crew
        except BaseException:
            crew.stop()
            raise

    def script(self, root: Path, n_runs: int) -> str:
        """The file that would be given to sbatch for so many runs."""
        slurm: Any = import_module("submitit.slurm.slurm")
        names = {"timeout_min": "time", "slurm_partition": "partition"}
        names |= {"slurm_signal_delay_s": "signal_delay_s", "name": "job_name"}
        names |= {"slurm_array_parallelism": "array_parallelism"}
        given = {names.get(k, k): v for k, v in self._parameters().items()}
        words = [sys.executable, "-u", "-m", "submitit.core._submit"]
        command = shlex.join([*words, str(_folder(root))])
        return slurm._make_sbatch_string(
            command=command, folder=_folder(root), map_count=n_runs, **given
        )

    def _parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "name": "acprop",
            "timeout_min": self.minutes,
            "cpus_per_task": self.cpus,
            "gpus_per_node": self.gpus or None,
            "slurm_partition": self.partition,
            "slurm_signal_delay_s": _WARNED_BEFORE,
            "slurm_array_parallelism": self.jobs,
        }
        return {key: value for key, value in given.items() if value is not None}


def _folder(root: Path) -> Path:
    return root.absolute() / "slurm"


class _Flight(NamedTuple):
    job: Job
    queued: Any  # submitit's


class _SlurmCrew:
    def __init__(self, executor: Any, engine: SlurmEngine, size: int) -> None:
        self._executor, self._engine, self._size = executor, engine, size
        self._flights: dict[str, _Flight] = {}

    def room(self) -> int:
        return self._size - len(self._flights)

    def submit(self, jobs: Sequence[Job]) -> None:
        engine = self._engine
        device = "cuda" if engine.gpus else "cpu"
        ours = [replace(job, threads=engine.threads, device=device) for job in jobs]
        queued = self._executor.map_array(_work, ours)
        for job, one in zip(ours, queued, strict=True):
            self._flights[job.spec.id] = _Flight(job, one)

    def wait(self, seconds: float) -> list[Event]:
        deadline = time.monotonic() + max(seconds, _LOOK_EVERY)
        while not (found := self._look()) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY / 2)
        return found

    def _look(self) -> list[Event]:
        found: list[Event] = []
        for run, (job, queued) in list(self._flights.items()):
            if self._engine.cluster == "debug":
                queued.wait()  # it runs here, and now
            if queued.done():
                del self._flights[run]
                found.append((run, _end_of(queued)))
                continue
            holder = Store(job.root).folder(job.spec).holder()
            if holder is not None and holder.share:
                found.append((run, holder.share))
        return found

    def stop(self) -> None:
        """Cancel what we submitted; what runs writes a checkpoint before it ends."""
        for _, queued in self._flights.values():
            with suppress(Exception):
                queued.cancel()
        deadline = time.monotonic() + _STOP_WITHIN
        while time.monotonic() < deadline and not all(
            queued.done() for _, queued in self._flights.values()
        ):
            time.sleep(_LOOK_EVERY)


def _end_of(queued: Any) -> End:
    errors: Any = import_module("submitit.core.utils")
    try:
        return queued.result()
    except errors.UncompletedJobError:
        state = str(queued.state).split()[0]
        if state == "OUT_OF_MEMORY":
            return End(RunStatus.ERROR, "out of memory: SLURM ended it", "killed")
        if state in ("PREEMPTED", "NODE_FAIL", "TIMEOUT", "BOOT_FAIL"):
            return End(RunStatus.ERROR, f"SLURM ended it: {state}", "lost")
        message = f"its job ended as {state}, perhaps for lack of memory; see its log"
        return End(RunStatus.ERROR, message, "killed")
    except errors.FailedJobError as error:
        said = str(error).strip().splitlines()[-1]
        return End(RunStatus.ERROR, f"its job failed: {said}", "killed")


def _work(job: Job) -> End:
    """In a job: what tells it that its time is up is a request to stop."""

    def stop(number: int, frame: object) -> None:
        del number, frame
        signal.raise_signal(signal.SIGTERM)

    old = signal.signal(signal.SIGUSR2, stop)
    try:
        return work(job, lambda _: None)
    finally:
        signal.signal(signal.SIGUSR2, old)
