"""`acprop report`: the site from stored records alone, also those of other machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from acprop import files
from acprop.progress import Bar
from acprop.records import FigureRecord, Record, read, write
from acprop.report.collect import Collected, collect
from acprop.report.figures import draw_figure
from acprop.report.site import Content, write_site
from acprop.report.statistics import unclean
from acprop.reproduce.figures import records_of
from acprop.reproduce.parts import on_all_cores


@dataclass(frozen=True, slots=True)
class PageResult:
    """The page, and how much is on it. n_unread: files without a line to read."""

    page: Path
    content: Content
    n_unread: int


def build_page(paths: Sequence[Path], out: Path) -> PageResult:
    """Read every file of records, draw every figure, write the site."""
    files.check_folder("out", out)
    found = collect(paths)
    folder = out / "figures"
    drawn = [about for about, _ in found.figures]
    with Bar("figures", 2) as bar:
        for about, records in found.figures:
            write(records_of(folder, about.name), [about, *records])
        troubles = on_all_cores(_DrawStored(folder), [about.name for about in drawn])
        for about, trouble in zip(drawn, troubles, strict=True):
            places = found.figure_places[about.name]
            found.problems += [f"{places[i]}: {why}" for i, why in trouble.items()]
        bar.advance()
        content, about = content_of(found), _about(found)
        page = write_site(
            out, content, missing=found.notes, about=about, each=on_all_cores
        )
        bar.advance()
    return PageResult(page, content, found.n_unread)


def content_of(found: Collected) -> Content:
    """What the site shows of collected records."""
    return Content(
        found.verdicts,
        [about for about, _ in found.figures],
        found.studies,
        found.artifacts,
        found.places,
        found.problems,
    )


@dataclass(frozen=True, slots=True)
class _DrawStored:
    """Draw one figure from its file; also in another process.

    Of one that cannot be drawn, which records are at fault, by number, and why: 0 is
    the figure itself.
    """

    folder: Path

    def __call__(self, name: str) -> dict[int, str]:
        about, *shown = read(records_of(self.folder, name))
        whole = self._trouble(about, *shown)
        if not whole:
            return {}
        alone = {i: self._trouble(about, record) for i, record in enumerate(shown, 1)}
        files.below(self.folder, f"{name}.svg").unlink(missing_ok=True)
        return {i: why for i, why in alone.items() if why} or {0: whole}

    def _trouble(self, about: Record, *shown: Record) -> str:
        """Why they cannot be drawn, whatever that is; empty if they are."""
        name = about.name if isinstance(about, FigureRecord) else ""
        try:
            path = files.below(self.folder, f"{name}.svg")
            draw_figure([about, *shown], path, is_titled=False)
        except OSError:  # a full disk is no fault of a record's
            raise
        except Exception as error:
            return f"figure {name} cannot be drawn: {type(error).__name__}: {error}"
        return ""


def _about(found: Collected) -> dict[str, object]:
    """Who computed what: commits and machines, as the runs recorded them."""
    runs = [run for _, runs in found.studies for run in runs]
    machines = {str(sorted(run.machine.items())): run.machine for run in runs}
    return {
        "records": f"{len(found.files)} files",
        "commit": sorted({run.commit for run in runs if run.commit}),
        "code": unclean(runs) or "every run is of a commit",
        "acprop": version("acprop"),
        "machine": list(machines.values()),
    }
