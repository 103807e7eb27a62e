"""`acprop reproduce`: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acprop.cli import options, show, stopping

if TYPE_CHECKING:
    from acprop.bench.engines import Engine


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
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
    out: Annotated[Path, options.folder_to_write("folder for everything")] = Path(
        "build/reproduce"
    ),
) -> None:
    """Check every claim, draw every toy figure, run every study, write one page."""
    from acprop.reproduce import job

    stopping.answer_with("stopped; run it again and it continues where it was")
    parts = () if only is None else options.listed("only", only)
    result = job.reproduce(scale, out, only=parts, engine=engine)
    show.emit([result.verdicts], show.summary, json=False)
    show.emit(result.defects, show.verdict, json=False)
    for study in result.studies:
        typer.echo(f"{study.study.name}: {show.counts(study.runs)}")
        for missing in study.study.missing:
            typer.echo(f"  not run: {missing}")
    typer.echo(f"the page: {result.page.resolve().as_uri()}")
    if result.complaints:
        typer.echo(f"{len(result.complaints)} parts are missing; see above", err=True)
    raise typer.Exit(int(bool(result.defects or result.complaints)))
