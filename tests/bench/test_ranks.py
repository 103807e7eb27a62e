"""Two real ranks under torchrun train as one process does at the same global batch."""

import json
import os
import subprocess
import sys

import pytest

WORDS = (
    "bench run vision/mnist-mlp --optimizer acprop --lr 1e-3 --json "
    "--task n_train=2560 --task n_validation=1000 --task n_test=1000"
)
TORCHRUN = "-m torch.distributed.run --standalone --nproc-per-node 2"


def train(runs, *launcher, more=()):
    words = [*launcher, "-m", "acprop", *WORDS.split(), "--runs", str(runs), *more]
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.mark.usefixtures("mnist")
def test_two_ranks_have_the_loss_curve_of_one_process(tmp_path):
    alone = train(tmp_path / "one")
    assert alone.returncode == 0, alone.stderr
    both = train(tmp_path / "two", *TORCHRUN.split())
    assert both.returncode == 0, both.stderr
    one = json.loads(alone.stdout)
    (line,) = both.stdout.splitlines()  # the first rank alone speaks
    two = json.loads(line)
    assert one["run"] == two["run"]
    assert len(one["history"]) == len(two["history"]) == 3
    for a, b in zip(one["history"], two["history"], strict=True):
        # float32: the mean of two halves is not the mean of the whole to the last bit
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-4)
        assert a["val_loss"] == pytest.approx(b["val_loss"], rel=1e-3)
        assert a["test_accuracy"] == pytest.approx(b["test_accuracy"], abs=0.003)


@pytest.mark.usefixtures("mnist")
def test_two_ranks_resume_to_the_same_bits(tmp_path):
    whole = train(tmp_path / "whole", *TORCHRUN.split())
    assert whole.returncode == 0, whole.stderr
    stopped = train(
        tmp_path / "parts", *TORCHRUN.split(), more=["--time-limit", "0.001"]
    )
    assert stopped.returncode == 0, stopped.stderr
    assert json.loads(stopped.stdout)["status"] == "timeout"
    resumed = train(tmp_path / "parts", *TORCHRUN.split(), more=["--resume"])
    assert resumed.returncode == 0, resumed.stderr
    a, b = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert (a["status"], b["status"]) == ("done", "done")
    assert a["final"]["state_sha256"] == b["final"]["state_sha256"]
