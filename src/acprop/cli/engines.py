"""The options that say where runs are carried out, and the engine they mean."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acprop import checks

if TYPE_CHECKING:
    from acprop.bench.engines import Engine

EXECUTORS = ("local", "ray", "slurm")
Executor = Annotated[str, typer.Option(help="local, ray or slurm")]
Address = Annotated[
    str | None, typer.Option(help="ray: of a cluster; default: the one here, or a new")
]
Threads = Annotated[int, typer.Option(help="of each run; decides its last bits")]
Cpus = Annotated[
    int | None, typer.Option(help="ray, slurm: of each run; default: its threads")
]
Gpus = Annotated[int | None, typer.Option(help="ray, slurm: of each run; default 0")]
SendBack = Annotated[
    bool, typer.Option("--send-back", help="ray: the nodes do not share our disk")
]
Partition = Annotated[str | None, typer.Option(help="slurm")]
Minutes = Annotated[int | None, typer.Option(help="slurm: of each job; default 60")]
Sbatch = Annotated[
    Path | None, typer.Option(help="slurm: write the sbatch file here, run nothing")
]


def engine(
    executor: str,
    *,
    jobs: int | None,
    threads: int,
    address: str | None,
    cpus: int | None,
    gpus: int | None,
    send_back: bool,
    partition: str | None,
    minutes: int | None,
    sbatch: Path | None,
) -> "Engine":
    """The engine that these options ask for; an option of another is refused."""
    checks.one_of("executor", executor, EXECUTORS)
    given = {
        "address": (address, ("ray",)),
        "send-back": (send_back or None, ("ray",)),
        "cpus": (cpus, ("ray", "slurm")),
        "gpus": (gpus, ("ray", "slurm")),
        "partition": (partition, ("slurm",)),
        "minutes": (minutes, ("slurm",)),
        "sbatch": (sbatch, ("slurm",)),
    }
    for name, (value, whose) in given.items():
        if value is not None and executor not in whose:
            raise ValueError(
                f"{name} must come with --executor {' or '.join(whose)}, got {executor}"
            )
    if jobs is not None:
        checks.whole("jobs", jobs)
    of_each: dict[str, Any] = {
        "cpus": threads if cpus is None else cpus,
        "gpus": 0 if gpus is None else gpus,
        "threads": threads,
        "jobs": jobs,
    }
    if executor == "ray":
        from acprop.bench.engines.ray import RayEngine

        return RayEngine(address, send_back=send_back or None, **of_each)
    if executor == "slurm":
        from acprop.bench.engines.slurm import SlurmEngine

        time = 60 if minutes is None else minutes
        return SlurmEngine(time, partition, **of_each)
    from acprop.bench.engines import LocalEngine

    return LocalEngine(jobs, threads)


def write_script(engine: "Engine", runs: Path, n_runs: int, path: Path) -> None:
    """Write the file that sbatch would be given."""
    from acprop import files
    from acprop.bench.engines.slurm import SlurmEngine

    if isinstance(engine, SlurmEngine):
        files.write(path, engine.script(runs, n_runs))
