"""What an engine is, what it is given, and what it gives back."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from acprop.bench.spec import RunSpec
from acprop.records import RunStatus

# Why a run has come to no end of its own:
#   busy    another process works on it
#   failed  an error, which the run's folder says
#   killed  its process was killed, and the run may be the reason
#   lost    its machine is gone, or took its process away
Trouble = Literal["busy", "failed", "killed", "lost"]


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be carried out, as it is sent to a worker.

    root: the store. study: what the run is made for, which it notes.
    time_limit: seconds, of this attempt. threads, device: what it may use.
    """

    spec: RunSpec
    root: Path
    study: str = ""
    time_limit: float = math.inf
    threads: int = 1
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class End:
    """How an attempt ended. trouble: None if the run ended by itself."""

    status: RunStatus
    message: str = ""
    trouble: Trouble | None = None


# A run's id, and either the share of it that is done or how its attempt ended.
Event = tuple[str, float | End]


class Crew(Protocol):
    """Workers that are ready."""

    def room(self) -> int:
        """How many more jobs it can begin now."""
        ...

    def submit(self, jobs: Sequence[Job]) -> None:
        """Begin them, or let them wait where they are begun."""
        ...

    def wait(self, seconds: float) -> list[Event]:
        """What has happened; empty after so many seconds without anything."""
        ...


class Engine(Protocol):
    """Where runs are carried out."""

    def open(self, root: Path, n_runs: int) -> AbstractContextManager[Crew]:
        """Get workers for so many runs; closed by an error, it stops what runs.

        What is stopped has written a checkpoint, if there was time for it.
        """
        ...
