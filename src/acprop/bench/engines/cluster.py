"""What Ray and SLURM share: runs on other machines, which see our store.

How far a run is stands in its lease; the cluster only says when it has ended.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from acprop import checks
from acprop.bench.engines.contract import End, Event, Job
from acprop.bench.store import Store

_LOOK_EVERY = 0.25  # seconds
_STOP_WITHIN = 60.0  # seconds, for checkpoints when we are interrupted


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """cpus, gpus: of each run. jobs: at most so many runs at once.

    threads: that a run uses of its cpus; another number is another last bit.
    """

    cpus: int = 1
    gpus: int = 0
    jobs: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        checks.integer("cpus", self.cpus)
        checks.integer("gpus", self.gpus, least=0)
        checks.integer("threads", self.threads)
        if self.threads > self.cpus:
            raise checks.UserError(
                f"threads must be at most cpus, {self.cpus}, got {self.threads}"
            )


@dataclass(slots=True)
class _Submitted:
    job: Job
    handle: Any  # the cluster's own name for it
    share: float = 0.0


class ClusterCrew(ABC):
    """Workers somewhere else."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._submitted: dict[str, _Submitted] = {}

    @abstractmethod
    def size(self) -> int:
        """How many runs there is room for."""

    @abstractmethod
    def begin(self, jobs: Sequence[Job]) -> Sequence[Any]:
        """Hand them to the cluster; its handle of each."""

    @abstractmethod
    def ended(self, handles: Sequence[Any]) -> Sequence[Any]:
        """Those that have ended."""

    @abstractmethod
    def end_of(self, handle: Any) -> End:
        """How one that has ended did so."""

    @abstractmethod
    def ask_to_stop(self, handles: Sequence[Any]) -> None:
        """Let them write a checkpoint and end."""

    def kill(self, handle: Any) -> None:
        """End one that has taken too long to stop, if there is a way."""
        del handle

    def room(self) -> int:
        """As `Crew.room`."""
        return self.size() - len(self._submitted)

    def submit(self, jobs: Sequence[Job]) -> None:
        """As `Crew.submit`."""
        device = "cuda" if self._options.gpus else "cpu"
        ours = [replace(j, threads=self._options.threads, device=device) for j in jobs]
        for job, handle in zip(ours, self.begin(ours), strict=True):
            self._submitted[job.spec.id] = _Submitted(job, handle)

    def wait(self, seconds: float) -> list[Event]:
        """As `Crew.wait`."""
        deadline = time.monotonic() + seconds
        while not (found := self._look()) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        return found

    def _look(self) -> list[Event]:
        found: list[Event] = []
        ended = self.ended([one.handle for one in self._submitted.values()])
        for run, one in list(self._submitted.items()):
            if one.handle in ended:
                del self._submitted[run]
                found.append((run, self.end_of(one.handle)))
                continue
            holder = Store(one.job.root).folder(one.job.spec).holder()
            if holder is not None and holder.share > one.share:
                one.share = holder.share
                found.append((run, one.share))
        return found

    def stop(self) -> None:
        """Give up what was submitted; what runs writes a checkpoint, if it can."""
        with suppress(Exception):  # the cluster may be what is broken
            self.ask_to_stop([one.handle for one in self._submitted.values()])
            deadline = time.monotonic() + _STOP_WITHIN
            while self._submitted and time.monotonic() < deadline:
                self.wait(_LOOK_EVERY)
        for one in self._submitted.values():
            with suppress(Exception):
                self.kill(one.handle)
