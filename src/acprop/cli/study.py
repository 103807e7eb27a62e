"""`acprop bench study`: all runs of a study, one process for each core."""

from pathlib import Path

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from acprop.bench.execute import execute_planned
from acprop.bench.studies import library
from acprop.cli import show
from acprop.cli.train import summary
from acprop.records import Record, to_json, write


def run_study(
    name: str, scale: str, runs: Path, *, jobs: int | None, out: Path | None, json: bool
) -> int:
    """Run, resume, print; 1 if a run failed."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}")
    study = library().study(name)
    planned = study.planned(scale)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    shares: dict[str, float] = {}
    with Progress(*columns, console=show.errors, disable=json) as bar:
        row = bar.add_task(name, total=len({p.spec.id for p in planned}))

        def heard(run: str, share: float) -> None:
            shares[run] = max(share, shares.get(run, 0.0))
            bar.update(row, completed=sum(shares.values()))

        done, missing = execute_planned(
            planned, runs, study=name, scale=scale, jobs=jobs, on_progress=heard
        )
    records: list[Record] = [
        study.record(scale, [record.run for record in done], missing),
        *done,
    ]
    if out is not None:
        write(out, records)
    for record in done:
        if not json:
            settings = " ".join(f"{k}={v}" for k, v in record.settings.items())
            typer.echo(f"{settings}: {summary(record)}")
    if json:
        for record in records:
            typer.echo(to_json(record))
    for complaint in missing:
        typer.echo(complaint, err=True)
    return int(bool(missing))
