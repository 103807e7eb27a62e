"""A rank that is killed under torchrun: all start again, and nothing is lost."""

import os
import subprocess
import sys

import pytest
import torch

from .launch import HERE, PATIENCE
from .test_ranks import ROUNDING

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--max-restarts", "1"]
TORCHRUN += ["--nproc-per-node", "2"]


@pytest.mark.slow
def test_a_killed_rank_is_restarted_and_the_run_ends_as_if_nothing_had_been(
    report, tmp_path
):
    run = subprocess.run(
        [
            sys.executable,
            *TORCHRUN,
            "--max-restarts",
            "1",
            HERE / "killed.py",
            tmp_path,
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "failed (exitcode: -9) local_rank: 1" in run.stderr
    end = torch.load(tmp_path / "end-0.pt")
    whole = [torch.tensor(values) for values in report["2"]["example"]["end"]]
    assert len(end) == len(whole) == 4
    for ours, expected in zip(end, whole, strict=True):
        assert (ours - expected).abs().max() <= ROUNDING
