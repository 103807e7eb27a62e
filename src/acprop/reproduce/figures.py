"""Compute the paper's toy figures and draw them from the records alone."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from acprop import checks, files
from acprop.bench.workers import run_in_processes
from acprop.lab.figures import FIGURES, figure
from acprop.progress import Bar
from acprop.records import FigureRecord, read, write
from acprop.report.figures import draw_figure

SECONDS = 2.5  # of one figure on one core, for the time that is left
FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True, slots=True)
class DrawFigure:
    """Compute and draw one figure; also in another process.

    As the site has it, unless told otherwise: its caption stands on the page.
    """

    out: Path
    form: str = "svg"
    is_titled: bool = False

    def __call__(self, name: str) -> None:
        made = FIGURES[name]
        records = records_of(self.out, name)
        about = FigureRecord(made.name, made.place, made.caption)
        write(records, [about, *made.make()])
        draw_figure(list(read(records)), self.picture(name), is_titled=self.is_titled)

    def picture(self, name: str) -> Path:
        """Where the picture is."""
        return self.out / f"{name}.{self.form}"


def records_of(out: Path, name: str) -> Path:
    """Where the records of a figure are."""
    return files.below(out, "records", f"{name}.jsonl")


def draw_figures(names: Sequence[str], out: Path, form: str) -> int:
    """Write out/records/NAME.jsonl and out/NAME.FORMAT for each; how many there are."""
    checks.one_of("format", form, FORMATS)
    wanted = [figure(name).name for name in names or FIGURES]
    draw_one = DrawFigure(out, form, is_titled=True)
    with Bar("figures", len(wanted)) as bar:
        for name in wanted:
            bar.show(name)
            draw_one(name)
            bar.advance()
    return len(wanted)


def undrawn(out: Path) -> list[str]:
    """The figures that are not there yet."""
    draw_one = DrawFigure(out)
    return [name for name in FIGURES if not draw_one.picture(name).exists()]


def draw_all(out: Path, jobs: int, bar: Bar) -> list[FigureRecord]:
    """Draw what is not there; what all figures are."""

    def drawn(name: str, future: Future[None]) -> None:
        del name
        future.result()
        bar.advance(SECONDS)

    bar.show("figures")
    run_in_processes(DrawFigure(out), undrawn(out), jobs, drawn)
    bar.finish_part("figures")
    return [FigureRecord(f.name, f.place, f.caption) for f in FIGURES.values()]
