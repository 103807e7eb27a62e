"""One process at a time on a run: the system's lock, and a lease for other machines."""

import errno
import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from acprop.bench import leases

_LOOK_EVERY = 0.5  # seconds
_LOOK_AGAIN, _LOOKS_END = 0.001, 10.0  # seconds, for a lock that others look at
# What a system says whose disk has no locks; the lease alone protects a run there.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class RunInUseError(BlockingIOError):
    """Another process works on this run."""


@contextmanager
def lock_run(folder: Path, dead: leases.Seen | None = None) -> Generator[leases.Lease]:
    """Hold a run's folder; the system lets go of it even if this process is killed.

    If a process of another machine seems to have it, watch that for a while. dead: a
    lease that was watched before, and found dead.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as lock:
        has_lock = _lock(folder, lock)
        lease = _take(folder, dead, has_lock=has_lock)
        try:
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield lease
        finally:
            lease.release()


def holder(folder: Path) -> leases.Seen | None:
    """Who works on a run, as far as one can see without waiting; None is nobody.

    A lease of this machine says so for as long as its process holds the lock. To see
    that, the lock is shared for a moment, and nothing is written.
    """
    seen = leases.newest(folder)
    if seen is None or not seen.is_here:
        return seen
    try:
        with (folder / "lock").open("rb") as lock:
            return None if _is_free(lock) else seen
    except FileNotFoundError:
        return None


def _is_free(lock: IO[Any]) -> bool:
    """Does nobody hold it? Others may look at the same time."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # somebody does, or there is no such thing
        return False
    fcntl.flock(lock, fcntl.LOCK_UN)
    return True


def _lock(folder: Path, lock: IO[str]) -> bool:
    """The system's lock; False where there is no such thing."""
    deadline = time.monotonic() + _LOOKS_END
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            if not _is_free(lock) or time.monotonic() > deadline:
                lock.seek(0)
                name = lock.read().strip() or "unknown"
                raise _in_use(folder, f"process {name}") from error
        time.sleep(_LOOK_AGAIN)  # somebody only looked


def _take(folder: Path, dead: leases.Seen | None, *, has_lock: bool) -> leases.Lease:
    """Make the next lease, once the last one is known to be nobody's."""
    watch, first = leases.Watch(), leases.newest(folder)
    seen = first
    while seen is not None and first is not None:
        if seen == dead or (has_lock and seen.is_here) or watch.is_dead(seen):
            break  # a holder on this machine that has lost its lock has ended
        if (seen.number, seen.beat) != (first.number, first.beat):
            raise _in_use(folder, f"process {seen.pid} on {seen.host}")
        time.sleep(_LOOK_EVERY)
        seen = leases.newest(folder)
    try:
        return leases.take(folder, after=seen)
    except FileExistsError as error:
        raise _in_use(folder, "a process that was faster") from error


def _in_use(folder: Path, who: str) -> RunInUseError:
    return RunInUseError(
        f"run {folder.name} is in use by {who}; wait for it or stop it"
    )
