"""`acprop report`: the site from stored records alone, also those of other machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from acprop import files
from acprop.plain import Plain
from acprop.progress import Bar
from acprop.records import Record, read, write
from acprop.report.collect import Content, collect
from acprop.report.figures import draw_figure
from acprop.report.site import write_site
from acprop.report.statistics import unclean
from acprop.report.words import plain_words
from acprop.reproduce.figures import records_of
from acprop.reproduce.parts import on_all_cores


@dataclass(frozen=True, slots=True)
class PageResult:
    """The page, and what is on it."""

    page: Path
    content: Content


def build_page(paths: Sequence[Path], out: Path) -> PageResult:
    """Read every file of records, draw every figure, write the site."""
    files.check_folder("out", out)
    found = collect(paths)
    folder = out / "figures"
    with Bar("figures", 2) as bar:
        for about in found.figures:
            write(records_of(folder, about.name), [about, *found.shown[about.name]])
        names = [about.name for about in found.figures]
        troubles = on_all_cores(partial(_draw_stored, folder), names)
        for name, trouble in zip(names, troubles, strict=True):
            places = found.figure_places[name]
            found.problems += [f"{places[i]}: {why}" for i, why in trouble.items()]
        bar.advance()
        page = write_site(out, found, about=_about(found), each=on_all_cores)
        bar.advance()
    return PageResult(page, found)


def _draw_stored(folder: Path, name: str) -> dict[int, str]:
    """Draw one figure from its file; also in another process.

    Of one that cannot be drawn, which records are at fault, by number, and why: 0 is
    the figure itself.
    """
    about, *shown = read(records_of(folder, name))
    picture = files.below(folder, f"{name}.svg")

    def trouble(*records: Record) -> str:
        """Why they cannot be drawn, whatever that is; empty if they are."""
        try:
            draw_figure([about, *records], picture, is_titled=False)
        except OSError:  # a full disk is no fault of a record's
            raise
        except Exception as error:
            return f"figure {name} cannot be drawn: {type(error).__name__}: {error}"
        return ""

    together = trouble(*shown)
    if not together:
        return {}
    alone = {i: trouble(record) for i, record in enumerate(shown, 1)}
    picture.unlink(missing_ok=True)
    return {i: why for i, why in alone.items() if why} or {0: together}


def _about(found: Content) -> dict[str, object]:
    """Who computed what: commits and machines, as the runs recorded them."""
    runs = [run for _, runs in found.studies for run in runs]
    machines = dict.fromkeys(_machine(run.machine) for run in runs)
    return {
        "records": f"{found.n_files} files",
        "commit": sorted({run.commit for run in runs if run.commit}),
        "code": unclean(runs) or "every run is of a commit",
        "acprop": version("acprop"),
        "machine": "; ".join(machines),
    }


def _machine(facts: Plain) -> str:
    """What is known of a machine, in a line; the records have the rest."""
    known = {k: v for k, v in facts.items() if k != "ran_under" and v != "unknown"}
    return plain_words(known)
