"""The tree of commands, and what happens to a mistake."""

import sys
from typing import Annotated

import typer

import acprop
from acprop.checks import UserError
from acprop.cli import bench, data, doctor, lab, report, reproduce

app = typer.Typer(
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


def _missing(error: ImportError) -> str | None:
    """The package that is not installed, if that is what went wrong."""
    for found in (error, error.__cause__):
        if isinstance(found, ModuleNotFoundError) and found.name:
            package = found.name.split(".")[0]
            return None if package == "acprop" else package
    return None


def run() -> None:
    """Run a command; a mistake in its input is one line and exit code 2.

    Any other error is a defect of ours: its traceback, and exit code 1.
    """
    try:
        app()
    except BrokenPipeError:  # `acprop … | head`
        sys.stderr.close()
        sys.exit(0)
    except ImportError as error:
        missing = _missing(error)
        if missing is None:
            raise  # a defect, not an install without an extra
        extra = "lab" if missing in doctor.LAB else "bench"
        extra = "cluster" if missing in doctor.CLUSTER else extra
        advice = f"run pip install 'acprop[{extra}]' ({missing} is missing)"
        typer.echo(f"error: this command needs more packages; {advice}", err=True)
        sys.exit(1)
    except (UserError, OSError) as error:  # OSError: what the system refuses
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
