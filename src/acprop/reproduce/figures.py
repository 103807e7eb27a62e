"""Compute the paper's toy figures and draw them from the records alone."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from acprop import checks, files
from acprop.lab.figures import FIGURES, figure
from acprop.progress import Bar
from acprop.records import FigureRecord, read, write
from acprop.report.figures import draw_figure
from acprop.reproduce.parts import JobPart, on_all_cores

FORMATS = ("png", "svg", "pdf")


def figures_part(folder: Path) -> JobPart:
    """All figures as the site has them: their captions stand on the page."""
    work = partial(_draw, folder, form="svg", is_titled=False)
    return JobPart("figures", list(FIGURES), folder, ".svg", work, seconds=2.5)


def draw_figures(names: Sequence[str], out: Path, form: str) -> int:
    """Write out/records/NAME.jsonl and out/NAME.FORMAT for each; how many there are."""
    checks.one_of("format", form, FORMATS)
    wanted = [figure(name).name for name in names or FIGURES]
    with Bar("figures", len(wanted)) as bar:
        work = partial(_draw, out, form=form, is_titled=True)
        on_all_cores(work, wanted, on_result=lambda _: bar.advance())
    return len(wanted)


def _draw(out: Path, name: str, *, form: str, is_titled: bool) -> None:
    records = records_of(out, name)
    write(records, [figure_record(name), *FIGURES[name].make()])
    draw_figure(list(read(records)), out / f"{name}.{form}", is_titled=is_titled)


def figure_record(name: str) -> FigureRecord:
    """What a figure is."""
    made = FIGURES[name]
    return FigureRecord(made.name, made.place, made.caption)


def records_of(out: Path, name: str) -> Path:
    """Where the records of a figure are."""
    return files.below(out, "records", f"{name}.jsonl")
