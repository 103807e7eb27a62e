"""`acprop bench status`: how far a study is in a store of runs."""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress_bar import ProgressBar
from rich.table import Table

from acprop.cli import show
from acprop.cli.options import Runs
from acprop.progress import duration

if TYPE_CHECKING:
    from acprop.bench.status import Status


def status(
    name: Annotated[str, typer.Argument(help="such as vision/cifar10-vgg11")],
    scale: Annotated[str, typer.Option(help="smoke, small or paper")] = "smoke",
    ruleset: Annotated[str, typer.Option(help="default, paper or tuned")] = "paper",
    runs: Runs = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="print one object")] = False,
) -> None:
    """How far a study is: a line for each optimizer, and the time left."""
    from acprop.reproduce.status import study_status

    found = study_status(name, scale, ruleset, runs)
    if json:
        typer.echo(json_module.dumps(asdict(found), ensure_ascii=False))
    else:
        _show(found)


def _show(found: "Status") -> None:
    from acprop.bench.status import STATES

    states = [state for state in STATES if found.total(state)]
    table = Table("optimizer", "runs", *states, "left")
    for line in found.lines:
        counts = [str(line.counts.get(state) or "") for state in states]
        left = duration(line.seconds_left)
        table.add_row(line.optimizer, str(line.n_runs), *counts, left)
    show.console.print(table)
    show.console.print(ProgressBar(total=1.0, completed=found.share, width=40))
    words = f"{found.total('done') + found.total('diverged')} of {found.n_runs} runs"
    if found.seconds_left:
        how = f"{found.workers} at work" if found.workers else "nothing runs now"
        left = duration(found.seconds_left)
        words += f", {found.share:.0%} of the work; about {left} left ({how})"
    show.console.print(words)
    for trouble in found.troubles:
        show.console.print(f"  {trouble}", markup=False)
