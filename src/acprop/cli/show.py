"""Records on the terminal: JSON lines, tables, or a figure in a file."""

import json as json_module
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from acprop.metrics import primary_metric, value_words
from acprop.records import (
    APART,
    KINDS,
    Boundary,
    Curves,
    Record,
    Region,
    RunRecord,
    RunStatus,
    StudyRecord,
    Verdict,
    to_json,
)

if TYPE_CHECKING:
    from acprop.bench.optimizers import Row
    from acprop.bench.spaces import Space, Spaces
    from acprop.reproduce.runner import RunStage

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}
FEW = 60  # cells that are listed one by one


def emit(
    records: Sequence[Record], *, json: bool, plot: Path | None, title: str = ""
) -> None:
    """Print records, and draw them if there is a path."""
    if plot is not None:
        from acprop.report.figures import draw

        draw(records, plot, title=title or None)
    if json:
        for record in records:
            typer.echo(to_json(record))
    else:
        for record in records:
            _show(record)
        if plot is not None:
            console.print(f"drawn to {plot}")


def _show(record: Record) -> None:
    if isinstance(record, Region):
        region(record)
    elif isinstance(record, Boundary):
        boundary(record)
    elif isinstance(record, Curves):
        curves(record)


def region(record: Region) -> None:
    cells = record.cells
    finite = sum(c.finite == "converged" for c in cells)
    limit = sum(c.asymptotic == "converges" for c in cells)
    console.print(
        f"{record.optimizer} on {record.problem}, β1 = {record.beta1:g}, "
        f"{record.convention}: {finite} of {len(cells)} cells converged after "
        f"{record.steps} steps, {limit} in the limit"
    )
    against = [
        c for c in cells if c.finite == "converged" and c.asymptotic == "diverges"
    ]
    if len(cells) <= FEW:
        table = Table("P", "β2", "finite", "best α0", "distance", "drift", "limit")
        for c in cells:
            table.add_row(
                str(c.period),
                f"{c.beta2:g}",
                c.finite,
                f"{c.best_alpha0:g}",
                f"{c.distance:.3g}",
                f"{c.drift:+.3g}",
                c.asymptotic,
            )
        console.print(table)
    for c in against[:FEW]:
        console.print(
            f"  P = {c.period}, β2 = {c.beta2:g} has converged against its drift: its "
            "steps are too small to leave a good start"
        )


def boundary(record: Boundary) -> None:
    console.print(
        f"{record.optimizer} on {record.problem}, β1 = {record.beta1:g}, "
        f"{record.convention}: where the drift changes sign"
    )
    table = Table("P", "below the first", "β2")
    for c in record.crossings:
        listed = ", ".join(f"{b:.10f}" for b in c.beta2) or "nowhere"
        table.add_row(str(c.period), c.lowest, listed)
    console.print(table)


def curves(record: Curves) -> None:
    table = Table(record.title, f"last {record.y_label}")
    for line in record.lines:
        table.add_row(line.label, f"{line.y[-1]:.6g}")
    console.print(table)


def verdict(record: Verdict, *, json: bool = False) -> None:
    """One verdict, as it comes."""
    if json:
        typer.echo(to_json(record))
        return
    colour = COLOURS[record.verdict]
    whose = "the paper's" if record.owner == "paper" else "ours"
    console.print(
        f"[{colour}]{record.verdict:9}[/] [bold]{record.claim}[/] ({whose}, "
        f"{record.kind}, {record.place}): {record.statement}",
        soft_wrap=True,
    )
    console.print(f"          {record.evidence}", soft_wrap=True)


def summary(verdicts: Sequence[Verdict]) -> None:
    for owner, whose in (("paper", "the paper's"), ("ours", "our own")):
        of = [v for v in verdicts if v.owner == owner]
        counted = [v for v in of if v.kind not in APART]
        if of:
            console.print(f"{len(counted)} of {whose} claims: {_counts(counted)}")
        for kind in KINDS:
            some = [v for v in of if v.kind == kind]
            if some:
                apart = "apart, " if kind in APART else ""
                console.print(f"  {apart}{kind}: {_counts(some)}")


def _counts(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(
        f"{sum(v.verdict == word for v in verdicts)} {word}" for word in COLOURS
    )


def counts(runs: Sequence[RunRecord]) -> str:
    """13 runs: 12 done, 1 diverged."""
    seen = Counter(run.status for run in runs)
    words = ", ".join(f"{seen[s]} {s}" for s in RunStatus if seen[s])
    return f"{len(runs)} runs: {words}" if runs else "no runs"


def run(record: RunRecord) -> str:
    """A run in one line."""
    final = record.final
    parts = [f"{record.optimizer} seed {record.seed}: {record.status}"]
    for name in (
        "train_loss",
        primary_metric(final, "val"),
        primary_metric(final, "test"),
    ):
        if isinstance(final.get(name), float):
            words = value_words(name, final[name], 2)
            parts.append(f"{name.replace('_', ' ')} {words}")
    parts.append(f"{record.wall_seconds:.1f} s of training")
    return ", ".join(parts)


def limits(table: dict[str, Any]) -> None:
    """Derived and printed values side by side."""
    head = Table(
        "t",
        *(f"{letter} {kind}" for letter in "mvs" for kind in ("derived", "printed")),
        title=f"{table['problem']}, P = {table['period']}, β1 = {table['beta1']:g}, "
        f"β2 = {table['beta2']:g}",
    )
    for phase, derived in table["derived"].items():
        shown = table["printed"][phase]
        cells = [
            "" if value is None else f"{value:.6g}"
            for letter in "mvs"
            for value in (derived[letter], shown[letter])
        ]
        head.add_row(phase, *cells)
    console.print(head)


def bound(plain: dict[str, Any]) -> None:
    """One theorem, one setting."""
    h = plain["settings"]
    console.print(
        f"theorem {plain['theorem']}, {plain['optimizer']} on {plain['problem']}: "
        f"α0 = {h['alpha0']:g}, η = {h['eta']:g}, ε = {h['eps']:g}, T = {h['steps']}",
        soft_wrap=True,
    )
    if not plain["alpha0_is_allowed"]:
        console.print("  α0 is above C_l/(L·C_u²): Theorem 4.1 promises nothing")
    seen = plain["measured"]["average"]
    console.print(f"  measured  {seen:.6g}")
    for side in ("printed", "corrected"):
        word = "respected" if plain[f"{side}_holds"] else "broken"
        console.print(f"  {side:9} {plain[side]:.6g}, {word}")


def stages(found: "Sequence[RunStage]", *, json: bool) -> None:
    """What would be run, and the study's own estimate of what it takes."""
    if json:
        for stage in found:
            typer.echo(json_module.dumps(asdict(stage), ensure_ascii=False))
        return
    table = Table("stage", "runs", "done", "core minutes left, as the study estimates")
    for stage in found:
        cells = (str(stage.runs), str(stage.done), f"{stage.minutes:.1f}")
        table.add_row(stage.name, *cells)
    console.print(table)


def comparison(study: StudyRecord, runs: Sequence[RunRecord]) -> None:
    """The tables of a study by the ruleset default or tuned."""
    from acprop.report.studies import gather
    from acprop.report.tables import markdown, study_table, trial_table

    found = gather(study, runs)
    for made in (trial_table(found), study_table(found)):
        if made.rows:  # too wide for a terminal's table
            typer.echo(markdown(made))


def optimizers(rows: "Sequence[Row]", spaces: "Spaces", *, json: bool) -> None:
    """What can be named, and what cannot."""
    if json:
        for row in rows:
            # Read-only mappings, which json does not know, become dicts.
            own = [s.model_dump() for s in spaces.spaces if s.optimizer == row.name]
            plain = {**row._asdict(), "space_file": spaces.name, "spaces": own}
            typer.echo(json_module.dumps(plain, ensure_ascii=False, default=dict))
        return
    table = Table("name", "library", "Table 1", "the paper's grid", "space", "note")
    for row in rows:
        grid = "; ".join(
            f"{name} {', '.join(map(_short, values))}"
            for name, values in row.grid.items()
        )
        own = [_space(s) for s in spaces.spaces if s.optimizer == row.name]
        words = "\n".join(own)
        table.add_row(row.name, row.library, str(row.cell), grid, words, row.note)
    console.print(table)
    console.print(
        f"space: studies/spaces/{spaces.name}.toml, on log scales; eps is the smallest "
        "denominator that ε leaves"
    )


def _space(space: "Space") -> str:
    """convention authors: lr 0.0001…0.1; …"""
    ranges = [f"{n} {low:g}…{high:g}" for n, (low, high) in space.ranges.items()]
    place = [f"ε {space.eps_place}"] if space.eps_place else []
    variant = " ".join(f"{k} {v}" for k, v in space.variant.items())
    return (f"{variant}: " if variant else "") + "; ".join([*ranges, *place])


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
