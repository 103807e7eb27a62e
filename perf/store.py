"""How long does a store of ten thousand finished runs keep one waiting?

Writes such a store (25 optimizers' settings × 400 seeds of a small study, ten epochs
each; plain files as a run leaves them) to a temporary folder, and measures

    status      `acprop bench status`, as a command
    study       `acprop bench study --out`, which finds nothing to do
    report      `acprop report` of its records, with figures and tables
    scheduling  what the local engine adds to each run, for runs that do nothing

in seconds. Writes results/perf/store.json. `--runs 400` makes it smaller.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from measure import machine, save

from acprop.bench.engines import End, LocalEngine, local
from acprop.bench.execute import execute
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import study_folder
from acprop.records import RunStatus

N_ARMS, N_EPOCHS = 25, 10
STUDY = """
name = "perf/many"
title = "Many runs"
place = "nowhere"
task = "vision"
shows = "curves"
metrics = ["train_loss", "val_accuracy", "test_accuracy"]
[task_settings]
dataset = "mnist"
net = "mlp"
[[arms]]
optimizer = "acprop"
grid = {{ lr = [{rates}] }}
[scales.smoke]
note = "Made up."
epochs = {epochs}
seeds = [{seeds}]
seconds = 3
"""
MACHINE = {"system": "Linux", "cores": 2, "threads": 1, "torch": "2.13.0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    n_runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="acprop-store-") as name:
        found = measure(Path(name), n_runs)
    for what, seconds in found.items():
        print(f"  {what:24}{seconds:10.3f} s")
    record = {"machine": machine(), "runs": n_runs, "seconds": found}
    print(f"\nwritten to {save('store', record)}")


def measure(place: Path, n_runs: int) -> dict[str, float]:
    """Seconds of each thing that is asked of the store."""
    os.environ["ACPROP_STUDIES"] = str(place / "studies")
    write_study(place, n_runs)
    write_runs(place / "runs")
    runs, out = str(place / "runs"), str(place / "records.jsonl")
    status = ["bench", "status", "perf/many", "--runs", runs]
    found = {
        "study": timed(["bench", "study", "perf/many", "--runs", runs, "--out", out]),
        "status": timed(status),
        "report": timed(["report", out, "--out", str(place / "page")]),
    }
    return {**found, "scheduling, for each run": scheduling(place / "empty")}


def write_study(place: Path, n_runs: int) -> None:
    rates = ", ".join(f"{1e-4 * 1.2**i:.6g}" for i in range(N_ARMS))
    seeds = ", ".join(map(str, range(max(1, n_runs // N_ARMS))))
    path = place / "studies" / "perf" / "many.toml"
    path.parent.mkdir(parents=True)
    path.write_text(STUDY.format(rates=rates, seeds=seeds, epochs=N_EPOCHS), "utf-8")


def write_runs(root: Path) -> None:
    """As a run leaves its folder, without the writes to disk being waited for."""
    os.fsync = lambda _: None
    for planned in study_folder().study("perf/many").planned("smoke"):
        spec = planned.spec
        history = [
            {
                "epoch": i,
                "step": 100 * i,
                "train_loss": 2.3 / i + spec.seed / 1e4,
                "val_accuracy": 1 - 0.5 / i - spec.seed / 1e5,
                "test_accuracy": 1 - 0.6 / i - spec.seed / 1e5,
                "lr_factor": 1.0,
                "wall_seconds": 0.3,
                "samples_per_second": 1e4,
            }
            for i in range(1, N_EPOCHS + 1)
        ]
        folder = Store(root).folder(spec)
        folder.begin(spec, commit="perf", machine=MACHINE, study="perf/many")
        folder.write_metrics(history)
        folder.end(RunStatus.DONE, {**history[-1], "state_sha256": spec.id * 4})


def timed(words: list[str]) -> float:
    """A command, from its start to its end."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "acprop", *words], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - started


def nothing(job) -> End:
    """What a worker does with a job, without the job: its lock, its files."""
    folder = Store(job.root).folder(job.spec)
    with folder.locked():
        folder.begin(job.spec)
        folder.end(RunStatus.DONE, {})
    return End(RunStatus.DONE)


class Nothing(LocalEngine):
    """The local engine with workers that train nothing."""

    def open(self, root, n_runs):
        local._work = nothing
        return super().open(root, n_runs)


def scheduling(root: Path, n: int = 300) -> float:
    """Seconds for each run, when every run takes none."""
    spec = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 1, 0)
    specs = [replace(spec, seed=seed) for seed in range(n)]
    execute(specs[:1], root, engine=Nothing(1))
    started = time.perf_counter()
    ends: list[float] = []
    execute(
        specs[1:],
        root,
        engine=Nothing(1),
        on_end=lambda _: ends.append(time.perf_counter()),
    )
    del started
    return (ends[-1] - ends[0]) / (len(ends) - 1)


if __name__ == "__main__":
    main()
