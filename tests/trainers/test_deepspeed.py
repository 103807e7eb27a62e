"""DeepSpeed's ZeRO, stages 1 and 2, with two ranks on the CPU."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("deepspeed_ranks.py")


@pytest.fixture(scope="module")
def report(once):
    if find_spec("deepspeed") is None:
        pytest.skip("needs the group trainers: make test-trainers")

    def make(folder):
        run = subprocess.run(
            [sys.executable, PROGRAM, folder],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
        return json.loads((folder / "report.json").read_text())

    return once("deepspeed", make)


@pytest.mark.slow  # it compiles an operator of its own, once
@pytest.mark.parametrize("stage", [1, 2])
def test_zero_trains_as_one_process_does_as_closely_as_with_adamw(report, stage):
    ours, adamw = report[f"{stage}, acprop"], report[f"{stage}, adamw"]
    assert ours["trained"] <= max(adamw["trained"], 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [1, 2])
def test_zero_resumes_from_its_checkpoint(report, stage):
    ours, adamw = report[f"{stage}, acprop"], report[f"{stage}, adamw"]
    assert ours["resumed"] <= max(adamw["resumed"], 1e-6)
