"""`acprop reproduce`: every claim, every toy figure, every study, one page."""

import os
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from acprop.cli import show, stopping
from acprop.records import Verdict

if TYPE_CHECKING:
    from acprop.cli.parts import StudyResult


def reproduce(
    scale: Annotated[str, typer.Option(help="smoke, small or paper")] = "smoke",
    only: Annotated[
        str | None, typer.Option(help="parts: lab, vision/mnist-mlp … with commas")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for everything")] = Path(
        "build/reproduce"
    ),
    jobs: Annotated[int | None, typer.Option(help="default: one for each core")] = None,
) -> None:
    """Check every claim, draw every toy figure, run every study, write one page."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}")
    with stopping.saying("stopped; call it again and it goes on where it was"):
        raise typer.Exit(_reproduce(scale, only, out, jobs or os.cpu_count() or 1))


def _parts(only: str | None, names: Sequence[str]) -> list[str]:
    known = ["lab", *names]
    if only is None:
        return known
    wanted = [part.strip() for part in only.split(",")]
    for part in wanted:
        if part not in known:
            raise ValueError(f"only must be among {', '.join(known)}, got {part!r}")
    return [part for part in known if part in wanted]


def _reproduce(scale: str, only: str | None, out: Path, jobs: int) -> int:
    from acprop.bench.store import commit, machine
    from acprop.bench.studies import library
    from acprop.cli import parts
    from acprop.report.page import write_page

    shelf = library()
    wanted = _parts(only, shelf.names())
    studies = [shelf.study(name) for name in wanted if name != "lab"]
    for found in studies:
        found.scale(scale)  # an unknown one is said before anything is done
    folder = parts.Folder(out)
    started = time.monotonic()
    verdicts: list[Verdict] = []
    drawn: list[tuple[str, str, str, str]] = []
    data, results = parts.Data(), list[parts.StudyResult]()
    lab = "lab" in wanted
    total = sum(len(s.planned(scale)) * s.scale(scale).seconds for s in studies)
    if lab:
        total += parts.CLAIM_SECONDS * len(parts.CLAIMS)
        total += parts.FIGURE_SECONDS * len(parts.FIGURES)
    with _display() as bar:
        row = bar.add_task("begin", total=total)

        def advance(name: str, seconds: float) -> None:
            bar.update(row, advance=seconds, description=name)

        if lab:
            verdicts = parts.claims(folder, jobs, advance)
            drawn = parts.figures(folder, jobs, advance)
        for found in studies:
            bar.update(row, description=found.name)
            results.append(parts.study(folder, found, scale, data, jobs, advance))
    skipped = [name for name in ("lab", *shelf.names()) if name not in wanted]
    page = write_page(
        out,
        verdicts=verdicts,
        figures=drawn,
        studies=[(r.record, r.runs) for r in results],
        missing=[*(f"{name}: left out by --only" for name in skipped), *LATER],
        about={
            "scale": scale,
            "commit": commit(),
            "acprop": version("acprop"),
            "wall_seconds": time.monotonic() - started,
            "time": time.strftime("%Y-%m-%d"),
            "machine": machine(),
        },
    )
    return _conclude(verdicts, results, page)


LATER = (
    "translation (Table 3), GANs (Table 4), reinforcement learning (Fig. 8): not built",
)


def _display() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=show.errors,
    )


def _conclude(
    verdicts: Sequence[Verdict], results: Sequence["StudyResult"], page: Path
) -> int:
    show.summary(verdicts)
    broken = [v for v in verdicts if v.owner == "ours" and v.verdict == "fails"]
    for verdict in broken:
        show.verdict(verdict)
    lost: list[str] = []
    for result in results:
        done = sum(run.status == "done" for run in result.runs)
        others = len(result.runs) - done
        words = f"{done} runs done" + (f", {others} diverged" if others else "")
        show.console.print(f"{result.record.name}: {words}")
        for missing in result.record.missing:
            typer.echo(f"  not run: {missing}")
        lost += result.lost
    typer.echo(f"the page: {page.resolve().as_uri()}")
    if lost:
        show.errors.print(f"{len(lost)} parts are missing; see above")
    return int(bool(broken or lost))
