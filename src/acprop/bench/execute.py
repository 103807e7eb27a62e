"""Many runs, by whatever engine: none is lost, and none is made twice.

What is finished is skipped, what was begun goes on, what fails is tried once more and
then recorded. Several calls may share a store, also on several machines: what another
works on is left to it, and taken over once the other has ended without a result.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from acprop.bench import leases
from acprop.bench.engines import Crew, End, Engine, Job, LocalEngine
from acprop.bench.leases import Watch
from acprop.bench.run_files import DamagedError
from acprop.bench.signals import StopRequested, signals_at_end
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.records import RunStatus

# A run's id, and the share of it that is done.
OnProgress = Callable[[str, float], None]
_LOOK_EVERY = 0.2  # seconds, for a signal and for what the workers report
_VISIT_EVERY = 1.0  # seconds, for runs that others work on
# How often a run is tried again. A machine may go for no fault of the run's; a run that
# was stopped goes on as long as it gets farther.
_AGAIN = {"failed": 1, "killed": 1, "lost": 5}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; message: more about the status."""

    spec: RunSpec
    status: RunStatus
    message: str = ""


def execute(
    specs: Iterable[RunSpec],
    root: Path,
    *,
    engine: Engine | None = None,
    jobs: int | None = None,
    studies: Mapping[str, str] | None = None,
    on_progress: OnProgress | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run them all, resuming what was begun; the outcomes in the order of the specs.

    Args:
        engine: where they run; by default `jobs` processes here.
        studies: for a run's id the study that it is made for, which the run notes.
    """
    store = Store(root)
    store.check()
    unique = {spec.id: spec for spec in specs}
    driver = _Driver(store, studies or {}, on_progress, on_end)
    driver.waiting += [s for s in unique.values() if not driver.is_over(s)]
    if driver.waiting:  # else no process is started, and the disk may be read-only
        store.prepare()
        n_runs = len(driver.waiting)
        with (
            signals_at_end(),
            (engine or LocalEngine(jobs)).open(root, n_runs) as crew,
            signals_at_end() as stop_requested,
        ):
            driver.go(crew, stop_requested)
    return [driver.outcomes[run] for run in unique]


@dataclass(slots=True)
class _Driver:
    """Gives jobs to a crew until no run is left.

    waiting    runs that nobody works on
    running    runs that our crew has
    elsewhere  runs that others have, each with what was seen of its lease
    """

    store: Store
    studies: Mapping[str, str]
    on_progress: OnProgress | None
    on_end: Callable[[Outcome], None] | None
    waiting: deque[RunSpec] = field(default_factory=deque[RunSpec])
    running: dict[str, RunSpec] = field(default_factory=dict[str, RunSpec])
    elsewhere: dict[str, tuple[RunSpec, Watch]] = field(
        default_factory=dict[str, tuple[RunSpec, Watch]]
    )
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    tries: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    shares: dict[str, float] = field(default_factory=dict[str, float])
    lost_at: dict[str, float] = field(default_factory=dict[str, float])
    visited: float = 0.0

    def is_over(self, spec: RunSpec) -> bool:
        """Is there nothing to do? Then its outcome is noted."""
        try:
            status = self.store.folder(spec).status()
            if status is None or not status.is_result:
                return False
            self._note(Outcome(spec, status))
        except DamagedError as error:  # what is left of it is for a person to look at
            self._note(Outcome(spec, RunStatus.ERROR, str(error)))
        return True

    def go(self, crew: Crew, stop_requested: StopRequested) -> None:
        """Return when every run has an outcome; a signal raises KeyboardInterrupt."""
        while self.waiting or self.running or self.elsewhere:
            self._submit(crew)
            found = crew.wait(_LOOK_EVERY)
            if stop_requested():  # what has ended may have died of the same signal
                raise KeyboardInterrupt
            for run, news in found:
                if isinstance(news, End):
                    self._ended(self.running.pop(run), news)
                else:
                    self._progress(run, news)
            if time.monotonic() - self.visited > _VISIT_EVERY:
                self._visit()
                self.visited = time.monotonic()

    def _note(self, outcome: Outcome) -> None:
        self.outcomes[outcome.spec.id] = outcome
        self._progress(outcome.spec.id, 1.0)
        if self.on_end is not None:
            self.on_end(outcome)

    def _progress(self, run: str, share: float) -> None:
        self.shares[run] = share
        if self.on_progress is not None:
            self.on_progress(run, share)

    def _submit(self, crew: Crew) -> None:
        jobs: list[Job] = []
        room = crew.room()
        while self.waiting and len(jobs) < room:
            spec = self.waiting.popleft()
            if self.is_over(spec):
                continue  # since we began, by another
            if self.store.folder(spec).holder() is not None:
                self.elsewhere[spec.id] = spec, Watch()
                continue
            self.running[spec.id] = spec
            study = self.studies.get(spec.id, "")
            jobs.append(Job(spec, self.store.root.absolute(), study))
        if jobs:
            crew.submit(jobs)

    def _ended(self, spec: RunSpec, end: End) -> None:
        """Once more, or that was it."""
        if end.trouble is None:
            self._note(Outcome(spec, end.status, end.message))
            return
        if end.trouble == "busy":
            self.elsewhere[spec.id] = spec, Watch()
            return
        key, share = (spec.id, end.trouble), self.shares.get(spec.id, 0.0)
        if end.trouble == "lost" and share > self.lost_at.get(spec.id, 0.0):
            self.tries[key] = 0
            self.lost_at[spec.id] = share
        self.tries[key] += 1
        if self.tries[key] <= _AGAIN[end.trouble]:
            self.waiting.append(spec)
            return
        if end.trouble != "failed":  # else its worker has recorded it
            with suppress(OSError, DamagedError):
                self.store.folder(spec).fail(spec, end.message)
        self._note(Outcome(spec, RunStatus.ERROR, end.message))

    def _visit(self) -> None:
        """Look at what others work on: it may be done, or they may have died."""
        for run, (spec, watch) in list(self.elsewhere.items()):
            if self.is_over(spec):
                del self.elsewhere[run]
                continue
            folder = self.store.folder(spec)
            holder = folder.holder()
            if holder is not None and holder.share:
                self._progress(run, holder.share)
            if holder is not None and watch.is_dead(holder):
                leases.end(folder.path, holder)
                holder = None
            if holder is None:
                del self.elsewhere[run]
                self.waiting.append(spec)
