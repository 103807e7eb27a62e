"""What the paper shows and prints, as data: every table, every figure, every number.

The files lie in the folder paper/: `entries.toml` lists tables and figures,
`tables.toml` has the printed numbers by table and column, and `published-cifar10.json`
the curves that the authors publish.
"""

import json
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from acprop.plain import Plain
from acprop.records import Better, Curves, Line
from acprop.report.style import display

# Networks of the published curves, by the study that trains the same.
PUBLISHED = {
    "vision/cifar10-vgg11": "vgg11",
    "vision/cifar10-resnet34": "resnet34",
    "vision/cifar10-densenet121": "densenet121",
}


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One row, or one pair of columns, of a table: 34.66 ± 0.014, as printed.

    where: settings of the task that tell its runs from others of the study.
    """

    name: str
    study: str
    values: tuple[str, ...]
    where: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Printed numbers of one metric; columns: optimizers."""

    metric: str
    better: Better
    data: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]

    def means(self, row: PaperRow) -> dict[str, float]:
        """The numbers of a row without their spread, by optimizer."""
        values = (float(text.split()[0]) for text in row.values)
        return dict(zip(self.columns, values, strict=True))


@dataclass(frozen=True, slots=True)
class Order:
    """The paper reports ACProp ahead of these optimizers in this study."""

    study: str
    than: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaperEntry:
    """A table or a figure of the paper.

    line        of the LaTeX source
    says        what the paper concludes from it
    note        what is missing or contradicts itself there
    ours        in place of a result, where there is nothing to measure
    studies, figures, claims    what of ours belongs to it, by name
    sentences   what the paper says of it, by the names of docs/evidence.md
    better      the orders that it reports
    tables      the numbers that it prints
    """

    id: str
    label: str
    line: int
    title: str
    says: str
    note: str = ""
    ours: str = ""
    studies: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    better: tuple[Order, ...] = ()
    tables: tuple[PaperTable, ...] = ()


@cache
def entries() -> tuple[PaperEntry, ...]:
    """In the order of the paper."""
    plain: dict[str, Plain] = tomllib.loads(_read("entries.toml"))
    for table in tomllib.loads(_read("tables.toml"))["tables"]:
        plain[table["entry"]].setdefault("tables", []).append(table)
    for name, entry in plain.items():
        kind, _, number = name.partition("-")
        label = f"{'Fig.' if kind == 'fig' else 'Table'} {number}"
        plain[name] = {"id": name, "label": label, **entry}
    return TypeAdapter(tuple[PaperEntry, ...]).validate_python([*plain.values()])


def published_about() -> str:
    """Where the published curves come from, and what they are."""
    return str(_published()["about"])


def published_curves(study: str) -> Curves | None:
    """The authors' test accuracies of the network that a study trains."""
    net = PUBLISHED.get(study)
    runs = [run for run in _published()["runs"] if run["model"] == net]
    if not runs:
        return None
    return Curves(
        f"published-{net}",
        "published by the authors, 200 epochs, one run each",
        "epoch",
        "test accuracy, %",
        tuple(_published_line(run["optimizer"], run["test_acc"]) for run in runs),
        # Where the curves differ: the first epochs would press them together.
        y_range=(80.0, 97.0),
        about={"origin": published_about()},
    )


def _published_line(optimizer: str, accuracies: list[float]) -> Line:
    epochs = tuple(float(i) for i in range(1, len(accuracies) + 1))
    return Line(display(optimizer), epochs, tuple(map(float, accuracies)))


@cache
def _published() -> Plain:
    return json.loads(_read("published-cifar10.json"))


def _read(name: str) -> str:
    return (files("acprop.report") / "paper" / name).read_text("utf-8")
