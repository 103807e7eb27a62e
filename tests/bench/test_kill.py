"""kill -9 at any moment, also while a checkpoint is written: the same bits."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

# A checkpoint after every step: most kills hit a write.
WORDS = (
    "bench run vision/mnist-mlp --optimizer acprop --lr 1e-3 --scale smoke --json "
    "--task n_train=2000 --task n_validation=1000 --task n_test=1000 "
    "--checkpoint-seconds 0"
)


def command(runs, *more):
    words = WORDS.split()
    return [sys.executable, "-m", "acprop", *words, "--runs", str(runs), *more]


def finish(runs, *more):
    said = subprocess.run(command(runs, *more), capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def timeless(record):
    timed = ("wall_seconds", "samples_per_second")
    return [
        {k: v for k, v in entry.items() if k not in timed}
        for entry in record["history"]
    ]


def wait_for_progress(runs, before):
    """Until this process has written a checkpoint of its own."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for file in runs.glob("*/checkpoint.pt"):
            if file.stat().st_mtime_ns > before:
                return
        time.sleep(0.01)
    raise AssertionError("no checkpoint in a minute")


@pytest.mark.usefixtures("mnist")
def test_killed_again_and_again_a_run_ends_in_the_same_bits(tmp_path):
    whole = finish(tmp_path / "whole")
    draw, parts = random.Random(0), tmp_path / "parts"
    killed = 0
    for _ in range(4):
        before = time.time_ns()
        process = subprocess.Popen(
            command(parts, "--resume"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_progress(parts, before)
        time.sleep(draw.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    resumed = finish(parts, "--resume")
    assert killed >= 2
    assert resumed["status"] == whole["status"] == "done"
    assert timeless(resumed) == timeless(whole)
    assert resumed["final"]["state_sha256"] == whole["final"]["state_sha256"]
