"""`acprop report`: one page from stored records alone, also those of other machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from acprop import files
from acprop.progress import Bar
from acprop.records import FigureRecord, write
from acprop.report.collect import Collected, collect
from acprop.report.figures import draw_figure
from acprop.report.site import Content, write_site
from acprop.reproduce.figures import records_of


@dataclass(frozen=True, slots=True)
class PageResult:
    """The page, and how much is on it."""

    page: Path
    content: Content


def build_page(paths: Sequence[Path], out: Path) -> PageResult:
    """Read every file of records, draw every figure, write the page."""
    files.check_folder("out", out)
    found = collect(paths)
    folder = out / "figures"
    drawn: list[FigureRecord] = []
    with Bar("figures", len(found.figures)) as bar:
        for about, records in found.figures:
            bar.show(about.name)
            write(records_of(folder, about.name), [about, *records])
            draw_figure(
                [about, *records], folder / f"{about.name}.svg", is_titled=False
            )
            drawn.append(about)
            bar.advance()
    content = Content(
        found.verdicts, drawn, found.studies, found.artifacts, found.problems
    )
    page = write_site(out, content, missing=found.notes, about=_about(found))
    return PageResult(page, content)


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
