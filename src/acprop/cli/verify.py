"""`acprop lab verify`: run the claims, two at a time, and count what fails."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import typer
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

from acprop.cli import show
from acprop.lab.claims import find, verify
from acprop.records import Verdict, to_json, write


def verify_claims(names: list[str] | None, *, json: bool, out: Path | None) -> int:
    """Print every verdict as it comes; 1 if a claim of ours fails."""
    wanted = find(names or [])
    verdicts: list[Verdict] = []
    for verdict in _in_order(wanted, quiet=json):
        verdicts.append(verdict)
        if json:
            typer.echo(to_json(verdict))
        else:
            show.verdict(verdict)
    if out is not None:
        write(out, verdicts)
    if not json:
        show.summary(verdicts)
    return int(any(v.owner == "ours" and v.verdict == "fails" for v in verdicts))


def _in_order(names: list[str], *, quiet: bool) -> Iterator[Verdict]:
    """Verdicts in the order of the claims, computed one process per core."""
    if len(names) == 1:
        yield verify(names[0])
        return
    # spawn: the native sweep has threads, which a fork would lose
    cores = min(os.cpu_count() or 1, len(names))
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    with (
        ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool,
        Progress(*columns, console=show.errors, transient=True, disable=quiet) as bar,
    ):
        task = bar.add_task("claims", total=len(names))
        for verdict in pool.map(verify, names):
            bar.advance(task)
            yield verdict
