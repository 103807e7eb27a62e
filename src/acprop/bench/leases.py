"""One process at a time on a run: a lease in its folder, here and on a shared disk.

The holder of a run is whoever made the lease with the largest number:

    runs/<id>/lease.3    the third holder: its machine, its process, its last beat

A lease is made by a link, which succeeds for one process alone. Its holder writes the
next beat every few seconds. On the holder's own machine its process says whether it is
dead. Elsewhere it is if its beat has not changed for a minute by the reader's own
monotonic clock: no clock is compared with another's. Who finds a lease dead makes the
next one, and the old holder, should it wake up, sees that and stops before it writes
again.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

BEAT_EVERY = 5.0  # seconds
PATIENCE = 60.0  # seconds without a beat, and a lease is dead
_LOOK_EVERY = 0.5  # seconds


class RunInUseError(BlockingIOError):
    """Another process works on this run."""


class LeaseLostError(OSError):
    """Another process has taken over this run."""


@dataclass(frozen=True, slots=True)
class Lease:
    """As it stands in its file. boot: of the machine. share: of the run that is done.

    started: what tells its process from others of that number; "" where nothing does.
    is_released: its holder is done with it. The file stays: its number must not be
    given again while somebody may believe to hold it.
    """

    number: int
    host: str
    boot: str
    pid: int
    beat: int = 0
    share: float = 0.0
    is_released: bool = False
    started: str = ""

    def is_alive(self) -> bool | None:
        """Is there its process? None if its beats alone can say."""
        if not self.started or (self.host, self.boot) != (host(), boot()):
            return None
        return process_start(self.pid) == self.started


class Watch:
    """Is a lease alive? It remembers when the beat last changed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[int, int] | None = None
        self._since = 0.0

    def is_dead(self, lease: Lease) -> bool:
        """Has it been silent for so long as we have looked, and for long enough?"""
        if (lease.number, lease.beat) != self._last:
            self._last, self._since = (lease.number, lease.beat), self._clock()
        is_silent = self._clock() - self._since >= PATIENCE
        return is_silent and not lease.is_alive()


class HeldRun:
    """A run that is ours; a thread writes its beats until it is released."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        pid = os.getpid()
        self._lease = Lease(number, host(), boot(), pid, started=process_start(pid))
        self._released = threading.Event()
        self._writing = threading.Lock()
        _write(folder, self._lease, os.link)
        for old in _numbers(folder):
            if old < number:
                _path(folder, old).unlink(missing_ok=True)
        threading.Thread(target=self._beat, daemon=True).start()

    def note(self, share: float) -> None:
        """Say with the next beat how much is done."""
        self._lease = replace(self._lease, share=share)

    def check(self) -> None:
        """Raise an error if another process has taken over."""
        if any(number > self._lease.number for number in _numbers(self._folder)):
            raise LeaseLostError(
                f"run {self._folder.name} was taken over by another process while this "
                "one stood still; its result will be there"
            )

    def release(self) -> None:
        """Let go of it."""
        with self._writing:
            self._released.set()
            self._update(is_released=True)

    def _beat(self) -> None:
        while not self._released.wait(BEAT_EVERY):
            with self._writing:
                if not self._released.is_set():
                    self._update(beat=self._lease.beat + 1)

    def _update(self, **changed: Any) -> None:
        """A disk that is full for a while must not end the run."""
        self._lease = replace(self._lease, **changed)
        with suppress(OSError):
            if _path(self._folder, self._lease.number).exists():  # else taken over
                _write(self._folder, self._lease, os.replace)


@contextmanager
def hold(folder: Path) -> Generator[HeldRun]:
    """Hold a run's folder; RunInUseError if another process does.

    On another machine, its next beat shows that it does, or none for a minute that not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    watch, first = Watch(), holder(folder)
    lease = first
    while lease is not None and first is not None and not watch.is_dead(lease):
        has_beaten = (lease.number, lease.beat) != (first.number, first.beat)
        if has_beaten or lease.is_alive():
            raise _in_use(folder, f"process {lease.pid} on {lease.host}")
        time.sleep(_LOOK_EVERY)
        lease = holder(folder)
    last = lease.number if lease else max(_numbers(folder), default=0)
    try:
        held = HeldRun(folder, last + 1)
    except FileExistsError as error:
        raise _in_use(folder, "a process that was faster") from error
    try:
        held.check()  # somebody may have been here and gone since we looked
        yield held
    finally:
        held.release()


def holder(folder: Path) -> Lease | None:
    """Who works on a run, as far as one can see without waiting; None is nobody."""
    numbers = _numbers(folder)
    if not numbers:
        return None
    try:
        text = _path(folder, max(numbers)).read_text("utf-8")
        lease = Lease(**json.loads(text))
    except FileNotFoundError:
        return None  # its run has ended since
    except (ValueError, TypeError):  # damaged: nobody's, until someone writes a beat
        return Lease(max(numbers), "an unknown machine", "", 0)
    return None if lease.is_released or lease.is_alive() is False else lease


def end(folder: Path, dead: Lease) -> None:
    """Release a lease that was watched and found dead: nobody need watch it again."""
    with suppress(FileExistsError):  # another was faster
        later = replace(dead, number=dead.number + 1, is_released=True)
        _write(folder, later, os.link)


def clear(folder: Path) -> None:
    """Remove all leases: a run with a result needs no holder."""
    for number in _numbers(folder):
        _path(folder, number).unlink(missing_ok=True)


def host() -> str:
    """The machine's name."""
    return platform.node()


@cache
def boot() -> str:
    """What tells this start of the machine, or of a container, from all others."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{started}-{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def process_start(pid: int) -> str:
    """When a process began, by the system's count; "" if there is none, or no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]  # Z: it has ended; see man 5 proc


def _in_use(folder: Path, who: str) -> RunInUseError:
    return RunInUseError(
        f"run {folder.name} is in use by {who}; wait for it or stop it"
    )


def _path(folder: Path, number: int) -> Path:
    return folder / f"lease.{number}"


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    ends = [name.removeprefix("lease.") for name in names if name.startswith("lease.")]
    return [int(end) for end in ends if end.isdigit()]


def _write(folder: Path, lease: Lease, put: Callable[[Path, Path], object]) -> None:
    """put: os.link, which makes a new file, or os.replace."""
    # Another machine may have a process of the same number, so its name is in.
    part = folder / f".lease.{host()}.{os.getpid()}.part"
    try:
        part.write_text(json.dumps(asdict(lease), ensure_ascii=False) + "\n", "utf-8")
        put(part, _path(folder, lease.number))
    finally:
        part.unlink(missing_ok=True)
