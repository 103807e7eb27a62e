"""Values on the terminal: one JSON object a line, or words and tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from acprop.metrics import primary_metric, value_words
from acprop.plain import Plain, to_line
from acprop.records import (
    APART,
    KINDS,
    Boundary,
    Curves,
    Drawing,
    Record,
    Region,
    RunRecord,
    RunStatus,
    Verdict,
    to_json,
    verdict_counts,
)

T = TypeVar("T")
Words = Iterable[str | Table]

console = Console(highlight=False)
COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}
FEW = 60  # cells that are listed one by one
AGAINST = ("converged", "diverges")  # at the horizon, and in the limit
CELLS = {
    "P": "{0.period}",
    "β2": "{0.beta2:g}",
    "finite": "{0.finite}",
    "best α0": "{0.best_alpha0:g}",
    "distance": "{0.distance:.3g}",
    "drift": "{0.drift:+.3g}",
    "limit": "{0.asymptotic}",
}


def emit(values: Iterable[T], words: Callable[[T], Words], *, json: bool) -> None:
    """Print each value: as a line of JSON, or in words."""
    for value in values:
        if json:
            typer.echo(_json(value))
            continue
        for part in words(value):
            console.print(part, soft_wrap=isinstance(part, str))


def emit_table(
    values: Sequence[Any], columns: Mapping[str, str], *, json: bool
) -> None:
    """Print values: each as a line of JSON, or all as the rows of a table."""
    emit(values if json else [values], lambda rows: [table(rows, columns)], json=json)


def table(values: Iterable[Any], columns: Mapping[str, str], title: str = "") -> Table:
    """A row for each value. columns: for each heading, the format of its cells."""
    made = Table(*columns, title=title or None)
    for value in values:
        made.add_row(*(form.format(value) for form in columns.values()))
    return made


def _json(value: Any) -> str:
    if isinstance(value, Record):
        return to_json(value)
    return to_line(asdict(value) if is_dataclass(value) else value)  # pyright: ignore


def draw(records: Sequence[Drawing], path: Path | None) -> None:
    """Draw records to a file, if one is wanted."""
    if path is not None:
        from acprop.report.figures import draw

        draw(records, path)
        typer.echo(f"drawn to {path}", err=True)


def region(record: Region) -> Words:
    cells = record.cells
    finite = sum(c.finite == "converged" for c in cells)
    limit = sum(c.asymptotic == "converges" for c in cells)
    yield (
        f"{_about(record)}: {finite} of {len(cells)} cells converged after "
        f"{record.steps} steps, {limit} in the limit"
    )
    if len(cells) <= FEW:
        yield table(cells, CELLS)
    against = [c for c in cells if (c.finite, c.asymptotic) == AGAINST]
    for c in against[:FEW]:
        yield (
            f"  P = {c.period}, β2 = {c.beta2:g} has converged against its drift: its "
            "steps are too small to leave a good start"
        )


def boundary(record: Boundary) -> Words:
    yield f"{_about(record)}: where the drift changes sign"
    rows = [
        (c, ", ".join(f"{b:.10f}" for b in c.beta2) or "nowhere")
        for c in record.crossings
    ]
    columns = {"P": "{0[0].period}", "below the first": "{0[0].lowest}", "β2": "{0[1]}"}
    yield table(rows, columns)


def _about(record: Region | Boundary) -> str:
    return (
        f"{record.optimizer} on {record.problem}, β1 = {record.beta1:g}, "
        f"{record.convention}"
    )


def curves(record: Curves) -> Words:
    ends = [(line.label, line.y[-1]) for line in record.lines]
    yield table(ends, {record.title: "{0[0]}", f"last {record.y_label}": "{0[1]:.6g}"})


def limits(state: Plain) -> Words:
    """Derived and printed values side by side."""
    kinds = [(letter, kind) for letter in "mvs" for kind in ("derived", "printed")]
    rows: list[list[str]] = []
    for phase in state["derived"]:
        values = [state[kind][phase][letter] for letter, kind in kinds]
        rows.append([phase, *("" if v is None else f"{v:.6g}" for v in values)])
    head = ["t", *(" ".join(pair) for pair in kinds)]
    columns = {name: f"{{0[{i}]}}" for i, name in enumerate(head)}
    title = "{problem}, P = {period}, β1 = {beta1:g}, β2 = {beta2:g}"
    yield table(rows, columns, title.format(**state))


def bound(found: Plain) -> Words:
    """One theorem, one setting."""
    settings = "α0 = {alpha0:g}, η = {eta:g}, ε = {eps:g}, T = {steps}"
    yield (
        f"theorem {found['theorem']}, {found['optimizer']} on {found['problem']}: "
        + settings.format(**found["settings"])
    )
    if not found["alpha0_is_allowed"]:
        yield "  α0 is above C_l/(L·C_u²): Theorem 4.1 promises nothing"
    yield f"  measured  {found['measured']['average']:.6g}"
    for side in ("printed", "corrected"):
        word = "respected" if found[f"{side}_holds"] else "broken"
        yield f"  {side:9} {found[side]:.6g}, {word}"


def verdict(record: Verdict) -> Words:
    whose = "the paper's" if record.owner == "paper" else "ours"
    yield (
        f"[{COLOURS[record.verdict]}]{record.verdict:9}[/] [bold]{record.claim}[/] "
        f"({whose}, {record.kind}, {record.place}): {record.statement}"
    )
    yield f"          {record.evidence}"


def summary(records: Sequence[Verdict]) -> Words:
    """How many hold, fail and stay undecided, of whom and of which kind."""
    for owner, whose in (("paper", "the paper's"), ("ours", "our own")):
        of = [v for v in records if v.owner == owner]
        counted = [v for v in of if v.kind not in APART]
        if of:
            yield f"{len(counted)} of {whose} claims: {verdict_counts(counted)}"
        for kind in KINDS:
            some = [v for v in of if v.kind == kind]
            if some:
                apart = "apart, " if kind in APART else ""
                yield f"  {apart}{kind}: {verdict_counts(some)}"


def counts(runs: Sequence[RunRecord]) -> str:
    """13 runs: 12 done, 1 diverged."""
    seen = Counter(run.status for run in runs)
    words = ", ".join(f"{seen[s]} {s}" for s in RunStatus if seen[s])
    return f"{len(runs)} runs: {words}" if runs else "no runs"


def run(record: RunRecord) -> str:
    """A run in one line."""
    final = record.final
    parts = [f"{record.optimizer} seed {record.seed}: {record.status}"]
    names = ["train_loss", *(primary_metric(final, part) for part in ("val", "test"))]
    parts += [
        f"{name.replace('_', ' ')} {value_words(name, final[name], 2)}"
        for name in names
        if isinstance(final.get(name), float)
    ]
    return ", ".join([*parts, f"{record.wall_seconds:.1f} s of training"])
