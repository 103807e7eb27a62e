"""Who works on a run: a lease in its folder, for machines that share a disk.

On one machine a lock of the system is enough; a disk that several machines share may
have none. There the holder of a run is whoever made the lease with the largest number:

    runs/<id>/lease.3    the third holder: its machine, its process, its last beat

A lease is made by a link, which succeeds for one process alone. Its holder writes the
next beat every few seconds. A lease is dead if its beat has not changed for a minute by
the reader's own monotonic clock: no clock is compared with another's, so a clock that
jumps changes nothing. Who finds a lease dead makes the next one, and the old holder,
should it wake up, sees that and stops before it writes again.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from acprop.plain import Plain

BEAT_EVERY = 5.0  # seconds
PATIENCE = 60.0  # seconds without a beat, and a lease is dead


class LeaseLostError(OSError):
    """Another process has taken over this run."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A lease as it was read.

    boot: of the machine, which is another machine after every start.
    share: how much of the run is done.
    """

    number: int
    host: str
    boot: str
    pid: int
    beat: int = 0
    share: float = 0.0
    is_released: bool = False

    @property
    def is_here(self) -> bool:
        """Is its holder a process of this machine, since its last start?"""
        return (self.host, self.boot) == (host(), boot())


class Watch:
    """Is a lease alive? It remembers when the beat last changed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[int, int] | None = None
        self._since = 0.0

    def is_dead(self, seen: Seen) -> bool:
        """Has it been silent for so long as we have looked, and for long enough?"""
        if (seen.number, seen.beat) != self._last:
            self._last, self._since = (seen.number, seen.beat), self._clock()
        return self._clock() - self._since >= PATIENCE


class Lease:
    """A run that is ours; a thread writes its beats until it is released."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._now = Seen(number, host(), boot(), os.getpid())
        self._released = threading.Event()
        self._writing = threading.Lock()
        _make(folder, self._now)
        for old in _numbers(folder):
            if old < number:
                _path(folder, old).unlink(missing_ok=True)
        threading.Thread(target=self._beat, daemon=True).start()

    def note(self, share: float) -> None:
        """Say with the next beat how much is done."""
        self._now = replace(self._now, share=share)

    def check(self) -> None:
        """Raise an error if another process has taken over."""
        if any(number > self._now.number for number in _numbers(self._folder)):
            raise LeaseLostError(
                f"run {self._folder.name} was taken over by another process while this "
                "one stood still; its result will be there"
            )

    def release(self) -> None:
        """Let go of it. The file stays: its number must not be given again."""
        with self._writing:
            self._released.set()
            _write(self._folder, replace(self._now, is_released=True))

    def _beat(self) -> None:
        while not self._released.wait(BEAT_EVERY):
            with self._writing:
                if not self._released.is_set():
                    self._now = replace(self._now, beat=self._now.beat + 1)
                    _write(self._folder, self._now)


def newest(folder: Path) -> Seen | None:
    """The lease that counts; None if there is none, or its holder is done with it."""
    numbers = _numbers(folder)
    if not numbers:
        return None
    try:
        plain = json.loads(_path(folder, max(numbers)).read_text("utf-8"))
        seen = Seen(**plain)
    except FileNotFoundError:
        return None  # its run has ended since
    except (ValueError, TypeError):  # damaged: nobody's, until someone writes a beat
        return Seen(max(numbers), "an unknown machine", "", 0)
    return None if seen.is_released else seen


def take(folder: Path, after: Seen | None) -> Lease:
    """Make the next lease; FileExistsError if another process was faster.

    after: the one that was found dead; None is none, or one that was released.
    """
    last = max(_numbers(folder), default=0)
    return Lease(folder, (after.number if after else last) + 1)


def clear(folder: Path) -> None:
    """Remove all leases: a run with a result needs no holder."""
    for number in _numbers(folder):
        _path(folder, number).unlink(missing_ok=True)


def host() -> str:
    """The machine's name."""
    return platform.node()


@cache
def boot() -> str:
    """What tells this start of the machine from all others, where the system says."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _path(folder: Path, number: int) -> Path:
    return folder / f"lease.{number}"


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    ends = [name.removeprefix("lease.") for name in names if name.startswith("lease.")]
    return [int(end) for end in ends if end.isdigit()]


def _part(folder: Path, seen: Seen) -> Path:
    """Another machine may have a process of the same number, so its name is in."""
    return folder / f".lease.{seen.host}.{seen.pid}.part"


def _make(folder: Path, seen: Seen) -> None:
    part = _part(folder, seen)
    try:
        part.write_text(_text(seen), "utf-8")
        os.link(part, _path(folder, seen.number))
    finally:
        part.unlink(missing_ok=True)


def _write(folder: Path, seen: Seen) -> None:
    """Replace our own lease; a disk that is full for a while must not end the run."""
    path, part = _path(folder, seen.number), _part(folder, seen)
    try:
        if path.exists():  # else the run has ended, or we were taken over
            part.write_text(_text(seen), "utf-8")
            os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)


def _text(seen: Seen) -> str:
    plain: Plain = asdict(seen)
    return json.dumps(plain, ensure_ascii=False) + "\n"
