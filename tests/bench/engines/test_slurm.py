"""SLURM through submitit: its own local and debug executors, and a queue of our own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from specs import SPEC, SPECS, attempts, same

from acprop.bench.engines.slurm import SlurmEngine
from acprop.bench.execute import execute
from acprop.bench.store import Store

# What sbatch does, at once and on this machine: every job of the array, then "squeue".
SBATCH = """#!/bin/sh
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$1")
echo "Submitted batch job 4711"
(
  sleep 1
  for i in $(seq 0 "${last:-0}"); do
    export SLURM_JOB_ID=4711 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0
    test -z "$last" || export SLURM_ARRAY_JOB_ID=4711 SLURM_ARRAY_TASK_ID=$i
    sh "$1"
  done
) > /dev/null 2>&1 &
"""
# srun --unbuffered --output FILE --error FILE COMMAND…
SRUN = """#!/bin/sh
shift 5
exec "$@"
"""


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A machine that has sbatch and srun."""
    place = tmp_path / "bin"
    place.mkdir()
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "sacct": "#!/bin/sh\n"}.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")


NAMES = ("slurm", "pool")
# A process of its own: the debug executor takes hold of stdout, also of pytest's.
DEBUG = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from specs import SPECS
from acprop.bench.engines.slurm import SlurmEngine
from acprop.bench.execute import execute
engine = SlurmEngine(cluster="debug", cpus=2)
outcomes = execute(SPECS, Path(sys.argv[2]), engine=engine)
sys.exit([outcome.status for outcome in outcomes] != ["done"] * 3)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("mnist")
def test_the_debug_executor_makes_the_records_of_a_pool(tmp_path):
    """One thread each, whatever cpus a job has and whatever the environment says."""
    words = [sys.executable, "-c", DEBUG, Path(__file__).parent, tmp_path / "slurm"]
    env = os.environ | {"OMP_NUM_THREADS": "2"}
    said = subprocess.run(words, capture_output=True, text=True, env=env)
    assert said.returncode == 0, said.stderr
    execute(SPECS[:1], tmp_path / "pool", jobs=1)
    assert same(tmp_path / "slurm", SPEC) == same(tmp_path / "pool", SPEC)
    machines = [Store(tmp_path / name).folder(SPEC).read()["machine"] for name in NAMES]
    assert machines[0] == machines[1]
    assert machines[0]["threads"] == 1


@pytest.mark.slow
@pytest.mark.usefixtures("mnist")
def test_the_local_executor_runs_every_job_in_a_process(tmp_path):
    outcomes = execute(SPECS, tmp_path, engine=SlurmEngine(cluster="local", jobs=2))
    assert [o.status for o in outcomes] == ["done"] * 3
    assert [attempts(tmp_path, spec) for spec in SPECS] == [[0]] * 3


@pytest.mark.usefixtures("mnist", "queue")
def test_a_queue_is_given_an_array_and_its_results_are_found(tmp_path):
    """The sbatch file that submitit writes, carried out as sbatch would do it."""
    engine = SlurmEngine(minutes=5, partition="cpu", cpus=2, jobs=2)
    outcomes = execute(SPECS[:2], tmp_path, engine=engine)
    assert [(o.status, o.message) for o in outcomes] == [("done", "")] * 2
    assert [attempts(tmp_path, spec) for spec in SPECS[:2]] == [[0]] * 2
    script, *_ = (tmp_path / "slurm").glob("*.sh")
    lines = script.read_text().splitlines()
    for wanted in ("partition=cpu", "time=5", "cpus-per-task=2", "array=0-1%2"):
        assert f"#SBATCH --{wanted}" in lines
    assert "#SBATCH --signal=USR2@90" in lines


def test_without_sbatch_it_is_refused_before_anything_is_begun(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"executor must be local or ray here"):
        execute([SPEC], tmp_path / "runs", engine=SlurmEngine())
