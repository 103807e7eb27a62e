"""`acprop report RECORDS…` builds the site from records; `report serve` shows it."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from acprop.cli.options import folder_to_write


class _BuildByDefault(TyperGroup):
    """`acprop report results --out DIR` means `acprop report build results …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["build", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_BuildByDefault,
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def build(
    records: Annotated[
        list[Path], typer.Argument(help="files of records, or folders with such files")
    ],
    out: Annotated[Path, folder_to_write("folder for the site")],
) -> None:
    """Build the site from stored records alone, also those of several machines."""
    from acprop.reproduce.pages import build_page

    result = build_page(records, out)
    content = result.content
    typer.echo(
        f"{len(content.verdicts)} verdicts, {len(content.figures)} figures, "
        f"{len(content.studies)} studies"
    )
    typer.echo(f"the page: {result.page.resolve().as_uri()}")
    for problem in content.problems:
        line = "".join(c if c.isprintable() else " " for c in problem)
        typer.echo(f"not shown: {line}", err=True)
    raise typer.Exit(int(bool(content.n_unread)))


@app.command()
def serve(
    folder: Annotated[
        Path, typer.Argument(help="folder of the page", metavar="[DIR]")
    ] = Path("build/reproduce"),
    port: Annotated[int, typer.Option(help="0 takes any that is free")] = 8000,
    open_: Annotated[
        bool, typer.Option("--open", help="also open it in the browser")
    ] = False,
) -> None:
    """Show a page on localhost, until Ctrl-C."""
    from acprop.report.serve import PageServer

    with PageServer(folder, port) as server:
        typer.echo(f"the page: {server.address} (Ctrl-C ends it)")
        if open_:
            typer.launch(server.address)
        server.serve_forever()
