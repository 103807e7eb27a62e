"""SLURM, through submitit: one job for each run, as an array.

The store lies on the disk that the nodes share; jobs, their sbatch files and what they
print are in its folder slurm/. A job whose time is up, or that is preempted, writes a
checkpoint and is submitted again. Jobs outlive a driver that is killed: the next one
finds them at work by their leases, and waits for their results.
"""

import shutil
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from acprop import checks
from acprop.bench.engines.cluster import ClusterCrew, ClusterOptions
from acprop.bench.engines.contract import Crew, End, Job
from acprop.bench.engines.work import work
from acprop.records import RunStatus

_WARNED_BEFORE = 90  # seconds before its end, a job gets a signal to stop
_MOST = 1000  # jobs in the queue at once; many clusters allow no more


@dataclass(frozen=True)
class SlurmEngine(ClusterOptions):
    """minutes: of each job.

    cluster: "local" and "debug" are submitit's own, for a machine without SLURM.
    """

    minutes: int = 60
    partition: str | None = None
    cluster: Literal["slurm", "local", "debug"] = "slurm"

    def __post_init__(self) -> None:
        checks.integer("minutes", self.minutes)
        super().__post_init__()

    @contextmanager
    def open(self, root: Path, n_runs: int) -> Generator[Crew]:
        """Nothing is submitted yet."""
        submitit: Any = import_module("submitit")
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise checks.UserError(
                "executor must be local or ray here, got slurm; this machine has no "
                "sbatch"
            )
        folder = root.absolute() / "slurm"
        executor = submitit.AutoExecutor(folder, cluster=self.cluster)
        given: dict[str, Any] = {
            "name": "acprop",
            "timeout_min": self.minutes,
            "cpus_per_task": self.cpus,
            "gpus_per_node": self.gpus or None,
            "slurm_partition": self.partition,
            "slurm_signal_delay_s": _WARNED_BEFORE,
            "slurm_array_parallelism": self.jobs,
        }
        executor.update_parameters(**{k: v for k, v in given.items() if v is not None})
        crew = _SlurmCrew(executor, self, min(n_runs, self.jobs or _MOST))
        try:
            yield crew
        except BaseException:
            crew.stop()
            raise


class _SlurmCrew(ClusterCrew):
    def __init__(self, executor: Any, engine: SlurmEngine, size: int) -> None:
        super().__init__(engine)
        self._executor, self._size = executor, size
        self._is_debug = engine.cluster == "debug"

    def size(self) -> int:
        return self._size

    def begin(self, jobs: Sequence[Job]) -> Sequence[Any]:
        return self._executor.map_array(_work, jobs)

    def ended(self, handles: Sequence[Any]) -> Sequence[Any]:
        if self._is_debug:
            for queued in handles:
                queued.wait()  # it runs here, and now
        return [queued for queued in handles if queued.done()]

    def end_of(self, handle: Any) -> End:
        errors: Any = import_module("submitit.core.utils")
        try:
            return handle.result()
        except errors.UncompletedJobError:
            state = str(handle.state).split()[0]
            if state == "OUT_OF_MEMORY":
                return End(RunStatus.ERROR, "out of memory: SLURM ended it", "killed")
            if state in ("PREEMPTED", "NODE_FAIL", "TIMEOUT", "BOOT_FAIL"):
                return End(RunStatus.ERROR, f"SLURM ended it: {state}", "lost")
            words = f"its job ended as {state}, perhaps for lack of memory; see its log"
            return End(RunStatus.ERROR, words, "killed")
        except errors.FailedJobError as error:
            last = str(error).strip().splitlines()[-1]
            return End(RunStatus.ERROR, f"its job failed: {last}", "killed")

    def ask_to_stop(self, handles: Sequence[Any]) -> None:
        for queued in handles:
            queued.cancel()


def _work(job: Job) -> End:
    """In a job: the signal that its time is up is a request to stop."""

    def stop(number: int, frame: object) -> None:
        del number, frame
        signal.raise_signal(signal.SIGTERM)

    old = signal.signal(signal.SIGUSR2, stop)
    try:
        return work(job, lambda _: None)
    finally:
        signal.signal(signal.SIGUSR2, old)
