"""`acprop reproduce`: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acprop.cli import options, show, stopping
from acprop.cli.axes import words

if TYPE_CHECKING:
    from acprop.bench.engines import Engine
    from acprop.reproduce.job import JobResult


@stopping.saying("stopped; run it again and it continues where it was")
@options.takes("engine", options.engine)
def reproduce(
    engine: "Engine",
    scale: Annotated[
        str,
        typer.Option(help="smoke or small; paper with --only and studies that have it"),
    ] = "smoke",
    only: Annotated[
        str | None, typer.Option(help="parts: lab, vision/mnist-mlp … with commas")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for everything")] = Path(
        "build/reproduce"
    ),
) -> None:
    """Check every claim, draw every toy figure, run every study, write one page."""
    from acprop.reproduce import job

    parts = words("only", only) if only is not None else ()
    result = job.reproduce(scale, out, only=parts, engine=engine)
    _show(result)
    raise typer.Exit(int(bool(result.defects or result.complaints)))


def _show(result: "JobResult") -> None:
    show.summary(result.verdicts)
    for verdict in result.defects:
        show.verdict(verdict)
    for study in result.studies:
        show.console.print(f"{study.study.name}: {show.counts(study.runs)}")
        for missing in study.study.missing:
            typer.echo(f"  not run: {missing}")
    typer.echo(f"the page: {result.page.resolve().as_uri()}")
    if result.complaints:
        show.errors.print(f"{len(result.complaints)} parts are missing; see above")
