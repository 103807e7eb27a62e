"""The tree of commands, and what happens to a mistake.

A command's module is loaded when it is called, so that `acprop --help` and shell
completion do not wait for numpy and torch.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import acprop
from acprop.checks import UserError, one_of
from acprop.cli import stopping

# Each in the module of its name, as `app`.
COMMANDS = {
    "lab": "The paper's convergence theory as something one can run.",
    "bench": "Real networks on real data: the paper's experiments at any scale.",
    "data": "Data sets: what there is, fetch it, check it.",
    "report": "Build the site from stored records, or show one on localhost.",
    "reproduce": "Check every claim, run every study, write one page.",
    "doctor": "Tell what is installed, what is missing and the command that adds it.",
}


class Commands(TyperGroup):
    """Loads a command when it is called; answers a signal that a command held back."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        if cmd_name not in self.commands:
            one_of("command", cmd_name, COMMANDS)
            found = get_command(import_module(f"acprop.cli.{cmd_name}").app)
            found.name, found.help = cmd_name, found.help or COMMANDS[cmd_name]
            self.commands[cmd_name] = found
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(stopping.words, err=True)
            raise typer.Exit(stopping.INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    help="ACProp and its family: the laboratory, the benchmark and the report.",
    epilog="`acprop --install-completion` makes the shell complete these commands.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # what the system refuses
        typer.echo(f"error: {_refused(error)}", err=True)
        sys.exit(2)


def _refused(error: OSError) -> str:
    if not (error.filename and error.strerror):
        return str(error)
    return (
        f"{error.filename} must be within reach, got: {error.strerror.lower()}; look "
        "at the path, its rights and the room on its disk"
    )
