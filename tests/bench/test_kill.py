"""kill -9 at any moment, also while a checkpoint is written: the same bits."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

# The data a run asks for, and its words.
RUNS = {
    "vision": (
        "mnist",
        "vision/mnist-mlp "
        "--task n_train=2000 --task n_validation=1000 --task n_test=1000",
    ),
    # Two networks, two optimizers, spectral norms, an average.
    "gan": (
        "cifar10",
        "gan/sagan --task width=0.03 --task batch=4 --task steps_per_epoch=3 "
        "--task average=0.9 --task features=random --task n_validation=20 "
        "--task n_test=20 --task n_samples=20 --task n_train=500",
    ),
    # Episodes of 5 moves: most kills hit one that is running.
    "rl": (
        None,
        "rl/dqn-four-rooms --task episode_limit=5 --task steps_per_epoch=5 "
        "--task warm_up=100 --task memory=200",
    ),
}
# A checkpoint after every step: most kills hit a write.
ALL = "--optimizer acprop --lr 1e-3 --scale smoke --json --checkpoint-seconds 0"


def command(words, runs, *more):
    given = ["bench", "run", *words.split(), *ALL.split()]
    return [sys.executable, "-m", "acprop", *given, "--runs", str(runs), *more]


def finish(words, runs, *more):
    said = subprocess.run(command(words, runs, *more), capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def timeless(record):
    timed = ("wall_seconds", "samples_per_second")
    return [
        {k: v for k, v in entry.items() if k not in timed}
        for entry in record["history"]
    ]


# A process that stops itself after every checkpoint: however busy the machine, it is
# killed between this one and the next, before the run has ended.
STOPS = """
import os, signal
from acprop.bench.store import RunFolder
from acprop.cli import main

def save(folder, state, save=RunFolder.save):
    save(folder, state)
    os.kill(os.getpid(), signal.SIGSTOP)

RunFolder.save = save
main()
"""


def kill_after(given, runs, seconds):
    """Go on from the last checkpoint to the next, and that much further."""
    words = [sys.executable, "-c", STOPS, *command(given, runs, "--resume")[3:]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, **quiet)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("task", RUNS)
def test_killed_again_and_again_a_run_ends_in_the_same_bits(task, tmp_path, request):
    data, words = RUNS[task]
    if data:
        request.getfixturevalue(data)
    whole = finish(words, tmp_path / "whole")
    draw, parts = random.Random(0), tmp_path / "parts"
    for _ in range(3):
        # A step and the write of its checkpoint take some hundredths of a second.
        kill_after(words, parts, draw.uniform(0, 0.05))
    resumed = finish(words, parts, "--resume")
    assert resumed["status"] == whole["status"] == "done"
    assert timeless(resumed) == timeless(whole)
    assert resumed["final"]["state_sha256"] == whole["final"]["state_sha256"]
