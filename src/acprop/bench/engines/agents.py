"""End the agents of a Ray cluster of ours with its driver, even if that is killed.

Ray's own way takes a minute: an agent first reports the end to a server that is gone.
So a process of its own waits for the driver's end and ends what bears its mark. It runs
this file as a program, without the package.
"""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "ACPROP_CLUSTER"  # in the environment of all that a driver starts


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


def agents(mark: bytes) -> Iterator[int]:
    """The processes that bear it and are agents by their title."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            title = (process / "cmdline").read_bytes().split(b"\0")[0]
            is_ours = mark in (process / "environ").read_bytes().split(b"\0")
            if is_ours and title.startswith(b"ray::") and title.endswith(b"Agent"):
                yield int(process.name)


if __name__ == "__main__":
    sys.stdin.read()  # which ends with the driver
    for agent in agents(sys.argv[1].encode()):
        with suppress(ProcessLookupError):
            os.kill(agent, signal.SIGKILL)
