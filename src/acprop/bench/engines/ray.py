"""A Ray cluster: one task for each run, with its CPUs and GPUs.

Where the nodes see the driver's store, workers write to it, and hold the lease of their
run. Where they do not, a worker keeps the run on its own disk and sends it back while
it goes: what the driver has of it is enough to go on from on another node. The driver
then holds the lease.

A cluster that was there before stays when we leave; one that we started ends with us,
and listens on this machine only. Both require Ray's token.
"""

import fcntl
import logging
import os
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from glob import escape
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from acprop.bench import leases
from acprop.bench.engines import tokens
from acprop.bench.engines.agents import ending_with_us
from acprop.bench.engines.contract import (
    Crew,
    End,
    Event,
    Job,
    check_resources,
)
from acprop.bench.engines.courier import Mailbox, can_see, carry
from acprop.bench.locks import RunInUseError
from acprop.bench.store import RunFolder, Store
from acprop.records import RunStatus

_COUNT_EVERY = 2.0  # seconds, how many CPUs there are
_STOP_WITHIN = 60.0  # seconds, for checkpoints when we are interrupted
_HERE = "127.0.0.1"
_OBJECT_STORE = 128 * 2**20  # bytes; what is sent are a run's files


@dataclass(frozen=True, slots=True)
class RayEngine:
    """address: of a running cluster; None joins the one on this machine, or starts one.

    cpus, gpus: of each run. jobs: at most so many at once.
    threads: that a run uses of its cpus; another number is another last bit.
    send_back: None finds out whether the nodes see the store.
    """

    address: str | None = None
    cpus: int = 1
    gpus: int = 0
    jobs: int | None = None
    send_back: bool | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        check_resources(self.cpus, self.gpus, self.threads)

    @contextmanager
    def open(self, root: Path, n_runs: int) -> Generator[Crew]:
        """Join or start a cluster, and leave it as it was found."""
        del n_runs
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray: Any = import_module("ray")
        with ExitStack() as stack:
            if not ray.is_initialized():
                tokens.require()
                stack.enter_context(ending_with_us())
                stack.callback(ray.shutdown)  # leaves a cluster that others started
                _join(ray, self.address)
            tokens.check(ray)
            _check_fit(ray, self.cpus, self.gpus)
            with _token(root.absolute()) as token:
                crew = _RayCrew(ray, self, token)
                try:
                    yield crew
                except BaseException:
                    crew.stop()
                    raise


def _join(ray: Any, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS") or _found()
    if address in (None, "local"):  # Ray's own word for a new one
        _start(ray, quiet)
        return
    refused: type[Exception] = ray.exceptions.AuthenticationError
    try:
        ray.init(address=address, **quiet)
    except (refused, ConnectionError, ValueError, RuntimeError) as error:
        # With a wrong token Ray gives up at last, and quotes why.
        if isinstance(error, refused) or refused.__name__ in str(error.__cause__):
            raise tokens.refused(address) from error
        raise ValueError(
            f"address must be that of a Ray cluster that runs, got {address} "
            f"({_first_line(error)}); start one with ray start --head"
        ) from error


def _found() -> str | None:
    """A cluster on this machine, but for one that ends with another driver."""
    services: Any = import_module("ray._private.services")
    services.find_gcs_addresses.cache_clear()
    found = sorted(services.find_gcs_addresses())
    return next((a for a in found if not a.startswith(f"{_HERE}:")), None)


def _start(ray: Any, quiet: dict[str, Any]) -> None:
    """A cluster of our own, which listens on 127.0.0.1 and on no other interface."""
    tokens.make()
    new = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    constants: Any = import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False  # else Ray takes another address for 127.0.0.1
    try:
        ray.init(address="local", _node_ip_address=_HERE, **quiet, **new)
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _check_fit(ray: Any, cpus: int, gpus: int) -> None:
    """A task that fits no node would wait for ever."""
    for name, key, wanted in (("cpus", "CPU", cpus), ("gpus", "GPU", gpus)):
        most = max(node["Resources"].get(key, 0) for node in _nodes(ray))
        if wanted > most:
            raise ValueError(
                f"{name} must be at most {most:g}, what the largest node of the Ray "
                f"cluster has, got {wanted}"
            )


def _nodes(ray: Any) -> list[Any]:
    return [node for node in ray.nodes() if node["Alive"]]


@contextmanager
def _token(root: Path) -> Generator[Path]:
    """A file by which a node can tell that it sees this store, and not another.

    Its driver has a lock on it; those of drivers that were killed here are removed.
    """
    here = f"-{leases.host()}"  # locks of another machine may be unknown here
    for left in root.glob(f".seen-{'?' * 32}{escape(here)}"):
        with suppress(OSError), left.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
    token = root / f".seen-{uuid.uuid4().hex}{here}"
    with token.open("w") as file:
        with suppress(OSError):  # a disk without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            token.touch()  # another driver may have removed it before it was locked
            yield token
        finally:
            token.unlink(missing_ok=True)


class _Flight(NamedTuple):
    """A task under way. hold: the run's lock, where the driver has it."""

    run: str
    folder: RunFolder
    hold: ExitStack


class _RayCrew:
    def __init__(self, ray: Any, engine: RayEngine, token: Path) -> None:
        self._ray, self._engine = ray, engine
        here = ray.get_runtime_context().get_node_id()
        options = {"num_cpus": 0, "scheduling_strategy": _on(here)}
        self._mailbox = ray.remote(Mailbox).options(**options).remote()
        self._task = ray.remote(carry).options(
            num_cpus=engine.cpus,
            num_gpus=engine.gpus,
            max_retries=0,  # the driver tries again, from the newest checkpoint
        )
        sends = engine.send_back
        if sends is None:
            sends = not _is_shared(ray, token)
        self._token = None if sends else token
        self._flights: dict[Any, _Flight] = {}
        self._busy: list[Event] = []
        self._slots, self._counted = 0, -_COUNT_EVERY

    def room(self) -> int:
        """What the cluster's CPUs and GPUs are enough for; nodes may come and go."""
        if time.monotonic() - self._counted > _COUNT_EVERY:
            needs = {"CPU": self._engine.cpus, "GPU": self._engine.gpus}
            self._slots = sum(
                min(
                    int(node["Resources"].get(k, 0) // n) for k, n in needs.items() if n
                )
                for node in _nodes(self._ray)
            )
            self._counted = time.monotonic()
        most = self._engine.jobs or self._slots
        return min(self._slots, most) - len(self._flights)

    def submit(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            engine, run = self._engine, job.spec.id
            device = "cuda" if engine.gpus else job.device
            job = replace(job, threads=engine.threads, device=device)
            folder, hold = Store(job.root).folder(job.spec, dead=job.dead), ExitStack()
            contents: dict[str, bytes] = {}
            if self._token is None:
                try:
                    hold.enter_context(folder.locked())
                except RunInUseError as error:
                    busy = End(RunStatus.INTERRUPTED, str(error), "busy")
                    self._busy.append((run, busy))
                    continue
                contents = folder.pack()
            task = self._task.remote(job, self._mailbox, self._token, contents)
            self._flights[task] = _Flight(run, folder, hold)

    def wait(self, seconds: float) -> list[Event]:
        found, self._busy = self._busy, []
        tasks = list(self._flights)
        if not tasks:
            time.sleep(0.0 if found else seconds)
            return found
        self._ray.wait(tasks, timeout=0.0 if found else seconds)
        done, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)
        found += self._news()  # before the ends, which are newer
        for task in done:
            flight = self._flights.pop(task)
            end = self._end_of(task)
            if end.files:
                flight.folder.unpack(end.files)
            flight.hold.close()
            found.append((flight.run, replace(end, files={})))
        return found

    def _news(self) -> list[Event]:
        folders = {flight.run: flight.folder for flight in self._flights.values()}
        found: list[Event] = []
        for run, news in self._ray.get(self._mailbox.take.remote()).items():
            if run not in folders:
                continue  # from a worker that was given up
            if news.files:
                folders[run].unpack(news.files)
            folders[run].note(news.share)
            found.append((run, news.share))
        return found

    def _end_of(self, task: Any) -> End:
        errors = self._ray.exceptions
        try:
            return self._ray.get(task)
        except errors.OutOfMemoryError as error:
            message = f"out of memory: {_first_line(error)}"
            return End(RunStatus.ERROR, message, "killed")
        except errors.WorkerCrashedError:
            message = "a worker was killed, perhaps for lack of memory"
            return End(RunStatus.ERROR, message, "killed")
        except errors.RayError as error:
            message = f"its node is gone: {_first_line(error)}"
            return End(RunStatus.ERROR, message, "lost")

    def stop(self) -> None:
        """Let the runs write a checkpoint; end what takes too long for it."""
        errors = self._ray.exceptions
        with suppress(errors.RayError):
            self._ray.get(self._mailbox.stop.remote())
            deadline = time.monotonic() + _STOP_WITHIN
            while self._flights and time.monotonic() < deadline:
                self.wait(0.2)
        for task, flight in self._flights.items():
            with suppress(errors.RayError, ValueError):
                self._ray.cancel(task, force=True)
            flight.hold.close()


def _on(node: str) -> Any:
    strategies: Any = import_module("ray.util.scheduling_strategies")
    return strategies.NodeAffinitySchedulingStrategy(node, soft=False)


def _is_shared(ray: Any, token: Path) -> bool:
    """Does every node see the store?"""
    look = ray.remote(can_see)
    seen = [
        look.options(num_cpus=0, scheduling_strategy=_on(node["NodeID"])).remote(token)
        for node in _nodes(ray)
    ]
    return all(ray.get(seen))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
