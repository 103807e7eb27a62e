"""End the agents of a Ray cluster of ours with its driver, even if that is killed.

Ray's own way takes a minute: an agent first reports the end to a server that is gone.
So a process of its own waits for the driver's end and ends what bears its mark. It runs
this file as a program, without the package.
"""

import os
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "ACPROP_CLUSTER"  # in the environment of all that a driver starts
_LOOK_EVERY = 2.0  # seconds


@contextmanager
def ending_with_us() -> Generator[None]:
    """Agents that are started within end with this process."""
    mark = os.environ[_MARK] = uuid.uuid4().hex
    words = [sys.executable, "-I", __file__, f"{_MARK}={mark}"]
    watcher = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        del os.environ[_MARK]
        watcher.communicate()


def agents(mark: bytes) -> set[int]:
    """Agents, by their title, that bear it, or whose parent does.

    A process that sets its title may overwrite its own environment.
    """
    marked: set[int] = set()
    parents: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            pid = int(process.name)
            if mark in (process / "environ").read_bytes().split(b"\0"):
                marked.add(pid)
            if _is_agent(pid):
                after_name = (process / "stat").read_bytes().rpartition(b")")[2]
                parents[pid] = int(after_name.split()[1])
    return {pid for pid, parent in parents.items() if marked & {pid, parent}}


def _is_agent(pid: int) -> bool:
    title = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    return title.startswith(b"ray::") and title.endswith(b"Agent")


def _wait(mark: bytes) -> None:
    """Until the driver ends, and standard input with it; then end its agents.

    We look while it lives: later their parent may be gone.
    """
    found: set[int] = set()
    while not select.select([sys.stdin], [], [], _LOOK_EVERY)[0]:
        found |= agents(mark)
    for agent in found | agents(mark):
        with suppress(OSError):  # it has ended
            if _is_agent(agent):
                os.kill(agent, signal.SIGKILL)


if __name__ == "__main__":
    _wait(sys.argv[1].encode())
