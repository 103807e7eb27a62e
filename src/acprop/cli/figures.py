"""`acprop lab figures`: compute the records, then draw from them."""

from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

from acprop.cli import show
from acprop.lab.figures import FIGURES, figure
from acprop.records import read, write
from acprop.report.figures import draw


def draw_figures(names: list[str] | None, out: Path, form: str) -> None:
    """Write out/records/NAME.jsonl and out/NAME.FORMAT for each figure."""
    if form not in ("png", "svg", "pdf"):
        raise ValueError(f"format must be one of png, svg, pdf, got {form}")
    wanted = [figure(name) for name in names or FIGURES]
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=show.errors, transient=True) as bar:
        task = bar.add_task("figures", total=len(wanted))
        for item in wanted:
            bar.update(task, description=item.name)
            records = out / "records" / f"{item.name}.jsonl"
            write(records, item.make())
            picture = out / f"{item.name}.{form}"
            draw(list(read(records)), picture, title=f"{item.caption} ({item.place})")
            bar.advance(task)
    show.console.print(f"{len(wanted)} figures in {out}")
