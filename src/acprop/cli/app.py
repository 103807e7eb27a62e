"""The tree of commands, and what happens to a mistake."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import acprop
from acprop.checks import UserError
from acprop.cli import bench, data, doctor, lab, report, reproduce, stopping


class Commands(TyperGroup):
    """Answers a signal that a command held back."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(stopping.words, err=True)
            raise typer.Exit(stopping.INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    help="ACProp and its family: the laboratory, the benchmark and the report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(lab.app, name="lab")
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")
app.add_typer(report.app, name="report")
app.command("reproduce")(reproduce.reproduce)
app.command("doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"acprop {acprop.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version


def run() -> None:
    """Run a command; a mistake in its input is one line and exit code 2.

    Any other error is a defect of ours: its traceback, and exit code 1.
    """
    try:
        app()
    except BrokenPipeError:  # `acprop … | head`
        sys.stderr.close()
        sys.exit(0)
    except (UserError, OSError) as error:  # OSError: what the system refuses
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
