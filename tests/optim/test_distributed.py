"""Real ranks: sharded parameters and a distributed checkpoint."""

import os
import subprocess
import sys
from pathlib import Path


def test_two_ranks_of_fsdp2_take_the_same_steps_as_one_process(tmp_path):
    """Every element is advanced by itself, and a checkpoint of shards resumes."""
    worker = Path(__file__).with_name("fsdp_ranks.py")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    run = subprocess.run(
        [*launch, "--nproc-per-node", "2", str(worker), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
