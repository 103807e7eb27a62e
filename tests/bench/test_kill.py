"""kill -9 at any moment, also while a checkpoint is written: the same bits."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app

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
        "--task average=0.9 --task features=lite0_80 --task n_validation=20 "
        "--task n_test=20 --task n_samples=20 --task n_train=500",
    ),
    # Dropout's random numbers, the order of batches, weights that are remembered.
    "translation": (
        "nmt_ro_en",
        "nmt/ro-en --task n_train=60 --task n_validation=10 --task n_test=10 "
        "--task n_symbols=600 --task width=16 --task hidden=16 --task dropout=0.1 "
        "--task average=2",
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
    return [*given, "--runs", str(runs), *more]


def finish(words, runs, *more):
    said = CliRunner().invoke(app, command(words, runs, *more))
    assert said.exit_code == 0, said.output
    return json.loads(said.stdout)


def timeless(record):
    timed = ("wall_seconds", "evaluation_seconds", "samples_per_second")
    return [
        {k: v for k, v in entry.items() if k not in timed}
        for entry in record["history"]
    ]


@pytest.fixture(scope="module")
def killer():
    """One for all: a process of its own for every kill would import torch each time."""
    program = [sys.executable, str(Path(__file__).parent / "killer.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(program, **pipes) as process:
        yield process
        process.stdin.close()


def kill_after(killer, words, runs, seconds):
    """Go on from the last checkpoint to the next, and that much further."""
    line = json.dumps([command(words, runs, "--resume"), seconds])
    killer.stdin.write(line + "\n")
    killer.stdin.flush()
    assert killer.stdout.readline() == f"{int(signal.SIGKILL)}\n"


@pytest.mark.parametrize("task", RUNS)
def test_killed_again_and_again_a_run_ends_in_the_same_bits(
    task, tmp_path, request, killer
):
    data, words = RUNS[task]
    if data:
        request.getfixturevalue(data)
    whole = finish(words, tmp_path / "whole")
    draw, parts = random.Random(0), tmp_path / "parts"
    for _ in range(3):
        # A step and the write of its checkpoint take some hundredths of a second.
        kill_after(killer, words, parts, draw.uniform(0, 0.05))
    resumed = finish(words, parts, "--resume")
    assert resumed["status"] == whole["status"] == "done"
    assert timeless(resumed) == timeless(whole)
    assert resumed["final"]["state_sha256"] == whole["final"]["state_sha256"]
