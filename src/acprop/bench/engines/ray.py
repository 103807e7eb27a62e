"""A Ray cluster whose nodes see our store: one task for each run, with CPUs and GPUs.

Workers write to the store, and hold the lease of their run. A mark of the driver's in
the store shows a worker that it sees the right disk, and its end that it should stop.

A cluster that was there before stays when we leave; one that we started ends with us,
and listens on this machine only. Both require Ray's token.
"""

import logging
import os
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from acprop.bench import leases
from acprop.bench.engines import tokens
from acprop.bench.engines.agents import ending_with_us
from acprop.bench.engines.cluster import ClusterCrew, ClusterOptions
from acprop.bench.engines.contract import Crew, End, Job
from acprop.bench.engines.work import work
from acprop.checks import UserError
from acprop.records import RunStatus

_COUNT_EVERY = 2.0  # seconds, how many CPUs there are
_HERE = "127.0.0.1"
_OBJECT_STORE = 128 * 2**20  # bytes; what is sent are jobs and their ends


@dataclass(frozen=True)
class RayEngine(ClusterOptions):
    """address: of a cluster; None joins the one on this machine, or starts one."""

    address: str | None = None

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
            _check_fit(ray, self)
            mark = stack.enter_context(driver_mark(root.absolute()))
            crew = _RayCrew(ray, self, mark)
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
        raise UserError(
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


def _check_fit(ray: Any, engine: RayEngine) -> None:
    """A task that fits no node would wait for ever."""
    for name, wanted in (("cpus", engine.cpus), ("gpus", engine.gpus)):
        most = max(has.get(name.upper()[:-1], 0) for has in _resources(ray))
        if wanted > most:
            raise UserError(
                f"{name} must be at most {most:g}, what the largest node of the Ray "
                f"cluster has, got {wanted}"
            )


def _resources(ray: Any) -> list[dict[str, float]]:
    """Of every node: its CPU and GPU."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


@contextmanager
def driver_mark(root: Path) -> Generator[Path]:
    """A file by which a node can tell that it sees this store, and not another.

    Those of drivers that were killed on this machine are removed.
    """
    here = f"{leases.host()}-{leases.boot()}"
    for left in root.glob(".driver-*"):
        _, pid, started, place = left.name.split("-", 3)
        if place == here and started != leases.process_start(int(pid)):
            left.unlink(missing_ok=True)
    pid = os.getpid()
    mark = root / f".driver-{pid}-{leases.process_start(pid)}-{here}"
    mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


class _RayCrew(ClusterCrew):
    def __init__(self, ray: Any, engine: RayEngine, mark: Path) -> None:
        super().__init__(engine)
        self._ray, self._engine, self._mark = ray, engine, mark
        self._task = ray.remote(_work).options(
            num_cpus=engine.cpus,
            num_gpus=engine.gpus,
            max_retries=0,  # the driver tries again, from the newest checkpoint
        )
        self._slots, self._counted = 0, -_COUNT_EVERY

    def size(self) -> int:
        """What the cluster's CPUs and GPUs are enough for; nodes may come and go."""
        if time.monotonic() - self._counted > _COUNT_EVERY:
            needs = {"CPU": self._engine.cpus, "GPU": self._engine.gpus}
            self._slots = sum(
                min(int(has.get(k, 0) // n) for k, n in needs.items() if n)
                for has in _resources(self._ray)
            )
            self._counted = time.monotonic()
        return min(self._slots, self._engine.jobs or self._slots)

    def begin(self, jobs: Sequence[Job]) -> Sequence[Any]:
        return [self._task.remote(job, self._mark) for job in jobs]

    def ended(self, handles: Sequence[Any]) -> Sequence[Any]:
        tasks = list(handles)
        if not tasks:
            return []
        return self._ray.wait(tasks, num_returns=len(tasks), timeout=0)[0]

    def end_of(self, handle: Any) -> End:
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle)
        except errors.OutOfMemoryError as error:
            words, trouble = f"out of memory: {_first_line(error)}", "killed"
        except errors.WorkerCrashedError:
            words = "a worker was killed, perhaps for lack of memory"
            trouble = "killed"
        except errors.RayError as error:
            words, trouble = f"its node is gone: {_first_line(error)}", "lost"
        return End(RunStatus.ERROR, words, trouble)

    def ask_to_stop(self, handles: Sequence[Any]) -> None:
        del handles
        self._mark.unlink(missing_ok=True)

    def kill(self, handle: Any) -> None:
        self._ray.cancel(handle, force=True)


def _work(job: Job, mark: Path) -> End:
    """On a node."""
    if not mark.exists():
        message = (
            f"the node {leases.host()} does not see {job.root}; give --runs on a disk "
            "that all nodes share"
        )
        return End(RunStatus.ERROR, message, "failed")
    return work(job, lambda _: None, lambda: not mark.exists())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
