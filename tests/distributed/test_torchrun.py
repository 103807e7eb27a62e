"""The promise of docs/distributed.md, kept by ranks that torchrun has started."""

import json
import os
import subprocess
import sys

import pytest

from .launch import HERE, PATIENCE
from .test_ranks import FORMS, check_resumed

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]


def run(folder, what: str, *ranks: str) -> dict:
    """resumed.py in so many ranks of torchrun, or without it."""
    start = [*TORCHRUN, *ranks] if ranks else []
    done = subprocess.run(
        [sys.executable, *start, str(HERE / "resumed.py"), what, str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / f"{what}.json").read_text())


@pytest.mark.slow
def test_torchrun_ranks_resume_what_two_of_them_saved(tmp_path):
    run(tmp_path, "save", "2")
    for ranks in ((), ("4",)):
        found = run(tmp_path, "resume", *ranks)
        for form in FORMS:
            check_resumed(**found[form])
