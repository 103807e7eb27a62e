"""`acprop lab verify`: run the claims, one on each core, and count what fails."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import typer
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

from acprop.bench.workers import spread
from acprop.cli import show
from acprop.lab.claims import find, verify
from acprop.records import Verdict, to_json, write


def verify_claims(names: list[str] | None, *, json: bool, out: Path | None) -> int:
    """Print every verdict as it comes; 1 if a claim of ours fails."""
    wanted = find(names or [])
    verdicts: list[Verdict] = []

    def tell(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if json:
            typer.echo(to_json(verdict))
        else:
            show.verdict(verdict)

    _in_order(wanted, tell, quiet=json)
    if out is not None:
        write(out, verdicts)
    if not json:
        show.summary(verdicts)
    return int(any(v.owner == "ours" and v.verdict == "fails" for v in verdicts))


def _in_order(
    names: list[str], tell: Callable[[Verdict], None], *, quiet: bool
) -> None:
    """Verdicts in the order of the claims, computed one process per core."""
    if len(names) == 1:
        tell(verify(names[0]))
        return
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    early: dict[str, Verdict] = {}
    left = list(names)
    with Progress(*columns, console=show.errors, transient=True, disable=quiet) as bar:
        task = bar.add_task("claims", total=len(names))

        def checked(name: str, verdict: Future[Verdict]) -> None:
            early[name] = verdict.result()
            bar.advance(task)
            while left and left[0] in early:
                tell(early[left.pop(0)])

        spread(verify, names, os.cpu_count() or 1, checked)
