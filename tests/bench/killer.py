"""Run commands and kill them: a process that has imported everything, and forks.

Each line of input is a command's words and a number of seconds. The command goes on
from its last checkpoint to the next, and that much further; then comes kill -9. Each
line of output is the signal that ended it.

A process that stops itself after every checkpoint is killed between this one and the
next, before the run has ended, however busy the machine is.
"""

import json
import os
import signal
import sys
import time

# What takes seconds: torch's compiler, which every optimizer of torch imports.
import torch._dynamo  # noqa: F401

from acprop.bench.store import RunFolder
from acprop.cli import main


def save(folder, state, save=RunFolder.save):
    save(folder, state)
    os.kill(os.getpid(), signal.SIGSTOP)


def run(words):
    """In a child: never return into the loop of the parent."""
    try:
        RunFolder.save = save
        sys.argv = ["acprop", *words]
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        main()
    finally:
        os._exit(1)


def kill(words, seconds):
    pid = os.fork() or run(words)
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"ended with {status}"
    os.kill(pid, signal.SIGCONT)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status)


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{kill(*json.loads(line))}\n")
        sys.stdout.flush()
