"""`acprop report`: the site from stored records alone, also those of other machines."""

import os
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from acprop import files
from acprop.bench.workers import spread
from acprop.progress import Bar
from acprop.records import read, write
from acprop.report.collect import Collected, collect
from acprop.report.figures import draw_figure
from acprop.report.site import Content, write_site
from acprop.reproduce.figures import records_of

FEW = 5  # figures that are drawn here: a process begins as slowly as one is drawn


@dataclass(frozen=True, slots=True)
class PageResult:
    """The page, and how much is on it."""

    page: Path
    content: Content


def build_page(paths: Sequence[Path], out: Path) -> PageResult:
    """Read every file of records, draw every figure, write the site."""
    files.check_folder("out", out)
    found = collect(paths)
    folder = out / "figures"
    with Bar("figures", len(found.figures)) as bar:
        for about, records in found.figures:
            bar.show(about.name)
            write(records_of(folder, about.name), [about, *records])
        _draw([about.name for about, _ in found.figures], folder, bar)
    drawn = [about for about, _ in found.figures]
    content = Content(
        found.verdicts, drawn, found.studies, found.artifacts, found.problems
    )
    page = write_site(out, content, missing=found.notes, about=_about(found))
    return PageResult(page, content)


@dataclass(frozen=True, slots=True)
class _DrawStored:
    """Draw one figure from its file; also in another process."""

    folder: Path

    def __call__(self, name: str) -> None:
        records = list(read(records_of(self.folder, name)))
        draw_figure(records, self.folder / f"{name}.svg", is_titled=False)


def _draw(names: Sequence[str], folder: Path, bar: Bar) -> None:
    """On all cores, if that is worth their start."""
    draw_one = _DrawStored(folder)
    if len(names) < FEW:
        for name in names:
            draw_one(name)
            bar.advance()
        return

    def drawn(name: str, future: Future[None]) -> None:
        del name
        future.result()
        bar.advance()

    spread(draw_one, names, os.cpu_count() or 1, drawn)


def _about(found: Collected) -> dict[str, object]:
    """Who computed what: commits and machines, as the runs recorded them."""
    runs = [run for _, runs in found.studies for run in runs]
    machines = {str(sorted(run.machine.items())): run.machine for run in runs}
    return {
        "records": f"{len(found.files)} files",
        "commit": sorted({run.commit for run in runs if run.commit}),
        "acprop": version("acprop"),
        "machine": list(machines.values()),
    }
