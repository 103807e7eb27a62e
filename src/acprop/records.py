"""What a result is: frozen values, one JSON object per line on disk.

Whatever computes writes records; whatever draws or prints reads them, and nothing else.
Every line says what it is ("record") and the version of this format ("schema").
"""

# json gives what it gives:
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

SCHEMA = 1

Finite = Literal["converged", "not converged", "undecided"]
Asymptotic = Literal["converges", "diverges"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One (P, β2) of a region.

    finite       under the protocol: "converged"; "not converged", and the drift agrees;
                 or "undecided": not there at this horizon, but moving the right way
    best_alpha0  the initial learning rate that ends closest, and its mean distance
    drift        net move towards x* over a period, as a share of the path, as t → ∞
    asymptotic   the sign of the drift, in words
    """

    period: int
    beta2: float
    finite: Finite
    best_alpha0: float
    distance: float
    drift: float
    asymptotic: Asymptotic


@dataclass(frozen=True, slots=True)
class Region:
    """Where one optimizer converges on one problem."""

    record: ClassVar[str] = "region"
    problem: str
    optimizer: str
    beta1: float
    convention: str
    steps: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Crossing:
    """One period of a boundary: the β2 at which the drift changes sign, ascending.

    lowest: what the drift says below the first of them.
    """

    period: int
    lowest: Asymptotic
    beta2: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Boundary:
    """The exact border of a region, as t → ∞."""

    record: ClassVar[str] = "boundary"
    problem: str
    optimizer: str
    beta1: float
    convention: str
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a figure."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves that belong in one panel: trajectories, second moments, errors.

    name: which figure; panels of one figure share it and differ in the title.
    about: the settings, as plain values.
    """

    record: ClassVar[str] = "curves"
    name: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log", "symlog"] = "linear"
    about: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Surface:
    """A value over a plane: values[i][j] belongs to y[i] and x[j]."""

    record: ClassVar[str] = "surface"
    name: str
    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    about: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim.

    owner: whose claim it is; one of the paper's that fails is a finding, one of ours
        that fails is a defect.
    numbers: the evidence, for a program.
    kind: "central", a result; "proof step", a step of a proof or a reason given for a
        result; "constant", a number or a closed form; "wording", a remark or a slip on
        which no conclusion rests.
    """

    record: ClassVar[str] = "verdict"
    claim: str
    owner: Literal["paper", "ours"]
    place: str
    statement: str
    verdict: Literal["holds", "fails", "undecided"]
    evidence: str
    numbers: dict[str, Any]
    wall_seconds: float
    kind: Literal["central", "proof step", "constant", "wording"] = "central"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One training run, finished or ended; diverging is a result.

    run       its id, the hash of its spec
    spec      everything that decides the run, as plain values
    history   one entry for each epoch: train_loss, val_loss, test_loss, the accuracies
              of a classifier, wall_seconds (of training alone), samples_per_second …
    final     the last entry, and what selection needs
    data      where the bytes of each dataset came from
    message   what went wrong, if something did
    """

    record: ClassVar[str] = "run"
    run: str
    study: str
    optimizer: str
    settings: dict[str, Any]
    seed: int
    scale: str
    spec: dict[str, Any]
    status: Literal["done", "diverged", "timeout", "error"]
    history: tuple[dict[str, Any], ...]
    final: dict[str, Any]
    wall_seconds: float
    commit: str
    machine: dict[str, Any]
    data: dict[str, Any]
    message: str = ""


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a study asks, and how to show it.

    place    where the paper has it
    shows    "curves": metrics over epochs, one line for each arm;
             "heatmap": final accuracy over two settings, one panel for each optimizer;
             "table": final metrics with spread
    axes     for a heat map its two settings; for curves the setting that tells arms
             of one optimizer apart, if any
    metrics  what is shown
    note     how the scale differs from the paper's: data, size, length
    missing  what was not run, and why
    """

    record: ClassVar[str] = "study"
    name: str
    title: str
    place: str
    scale: str
    shows: Literal["curves", "heatmap", "table"]
    axes: tuple[str, ...]
    metrics: tuple[str, ...]
    note: str
    runs: tuple[str, ...]
    missing: tuple[str, ...] = ()


Record = Region | Boundary | Curves | Surface | Verdict | RunRecord | StudyRecord
_KINDS = {
    kind.record: kind
    for kind in (Region, Boundary, Curves, Surface, Verdict, RunRecord, StudyRecord)
}
_PARTS = {"cells": Cell, "crossings": Crossing, "lines": Line}


def to_json(record: Record) -> str:
    """Write a record as one line; numbers that JSON lacks (NaN, ∞) become null."""
    plain = {"record": record.record, "schema": SCHEMA, **asdict(record)}
    return json.dumps(jsonable(plain), ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Record:
    """Read a line that `to_json` wrote."""
    plain = json.loads(line)
    if not isinstance(plain, dict) or plain.get("record") not in _KINDS:
        known = ", ".join(_KINDS)
        raise ValueError(f"record must be one of {known}, got {line[:60]!r}")
    schema = plain.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(f"schema must be {SCHEMA}, got {schema!r}; write it anew")
    kind = _KINDS[plain.pop("record")]
    known = {f.name for f in fields(kind)}
    if plain.keys() - known:
        extra = ", ".join(sorted(plain.keys() - known))
        raise ValueError(f"a {kind.record} must have its own fields only, got {extra}")
    return kind(**{name: _part(name, value) for name, value in plain.items()})


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all."""
    lines = [to_json(record) + "\n" for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, delete=False, encoding="utf-8"
    ) as file:
        file.writelines(lines)
    os.replace(file.name, path)


def read(path: Path) -> Iterator[Record]:
    """Read a file of records, one at a time."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield from_json(line)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error


def jsonable(value: Any) -> Any:
    """Plain values with NaN and ∞ as null: JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return value


def _part(name: str, value: Any) -> Any:
    if name in _PARTS:
        return tuple(_frozen(_PARTS[name], item) for item in value)
    return _tuples(value) if isinstance(value, list) else value


def _frozen(kind: type, plain: dict[str, Any]) -> Any:
    return kind(**{name: _tuples(value) for name, value in plain.items()})


def _tuples(value: Any) -> Any:
    """Lists as tuples, and null as NaN where a number was meant."""
    if isinstance(value, list):
        return tuple(math.nan if v is None else _tuples(v) for v in value)
    return math.nan if value is None else value
