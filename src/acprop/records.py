"""What a result is: frozen values, one JSON object per line on disk.

Whatever computes writes records; whatever draws or prints reads them, and nothing else.
Every line says what it is ("record") and the version of this format ("schema").
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args

from acprop import files
from acprop.plain import Plain, to_line

SCHEMA = 2

Rows = tuple[tuple[float, ...], ...]
Counts = tuple[tuple[int, ...], ...]

Finite = Literal["converged", "not converged", "undecided"]
Asymptotic = Literal["converges", "diverges"]
Kind = Literal["central", "proof step", "constant", "wording", "definition"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Counted apart: a slip of wording is no result that fails, and a definition cannot.
APART: tuple[Kind, ...] = ("wording", "definition")
Ruleset = Literal["default", "paper", "tuned"]
RULESETS: tuple[Ruleset, ...] = get_args(Ruleset)


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
    """One curve of a figure.

    low, high: the ends of a band around it, if any.
    dots: single values (x, y) that the curve is the mean of, such as those of seeds.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dots: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves that belong in one panel: trajectories, second moments, errors.

    name     which figure; panels of one figure share it and differ in the title
    y_range  where the axis begins and ends; None is as the values ask
    band     what the bands around the lines are, in words
    about    the settings, as plain values
    drawn    "points" for values that nothing joins, such as trials
    """

    record: ClassVar[str] = "curves"
    name: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log", "symlog"] = "linear"
    y_range: tuple[float, float] | None = None
    band: str = ""
    about: Plain = field(default_factory=dict[str, Any])
    drawn: Literal["lines", "points"] = "lines"


@dataclass(frozen=True, slots=True)
class Surface:
    """A value over a plane: values[i][j] belongs to y[i] and x[j].

    value_label  what the values are
    value_range  the ends of the colours; None is as the values ask
    n_runs       how many runs each value is the mean of; with it, the surface is drawn
                 as a heat map with a number in each cell
    n_diverged   how many of them diverged
    about        the settings, as plain values
    """

    record: ClassVar[str] = "surface"
    name: str
    title: str
    x_label: str
    y_label: str
    value_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    values: Rows
    value_range: tuple[float, float] | None = None
    n_runs: Counts = ()
    n_diverged: Counts = ()
    about: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Bar:
    """One arm's final values: their mean, an interval around it, and each of them.

    low and high are NaN where one value has no interval.
    """

    label: str
    mean: float
    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Final values of several arms in one panel."""

    record: ClassVar[str] = "bars"
    name: str
    title: str
    value_label: str
    bars: tuple[Bar, ...]
    about: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class FigureRecord:
    """What a figure is; the records that it shows follow it in its file.

    place: where the paper has it.
    """

    record: ClassVar[str] = "figure"
    name: str
    place: str
    caption: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim.

    owner: whose claim it is; one of the paper's that fails is a finding, one of ours
        that fails is a defect.
    kind: "central", a result; "proof step", a step of a proof or a reason given for a
        result; "constant", a number or a closed form; "wording", a remark or a slip on
        which no conclusion rests; "definition", what follows from the definitions and
        cannot fail. The last two are counted apart.
    numbers: the evidence, for a program.
    """

    record: ClassVar[str] = "verdict"
    claim: str
    owner: Literal["paper", "ours"]
    kind: Kind
    place: str
    statement: str
    verdict: Literal["holds", "fails", "undecided"]
    evidence: str
    numbers: Plain
    wall_seconds: float


class RunStatus(StrEnum):
    """How a run ended. Diverging is a result; the last three are none."""

    DONE = "done"
    DIVERGED = "diverged"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    ERROR = "error"

    @property
    def message(self) -> str:
        """What happened, for a person."""
        return _MESSAGES[self]

    @property
    def is_result(self) -> bool:
        """Is there nothing left to run?"""
        return self in (RunStatus.DONE, RunStatus.DIVERGED)


_MESSAGES = {
    RunStatus.DONE: "trained to the end",
    RunStatus.DIVERGED: "the loss became NaN or infinite",
    RunStatus.TIMEOUT: "the time limit was reached; it can be resumed",
    RunStatus.INTERRUPTED: "stopped before the end; it can be resumed",
    RunStatus.ERROR: "an error ended it",
}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One training run.

    run             its id, the hash of its spec
    settings        all settings of the optimizer; runs are grouped by them
    study_settings  those that the study wrote down; they name an arm in a table
    spec            everything that decides the run, as plain values
    history         one entry for each epoch: train_loss, val_loss, test_loss, the
                    accuracies of a classifier, wall_seconds (of training alone),
                    evaluation_seconds, samples_per_second …
    final           the last entry, and what selection needs
    data            where the bytes of each dataset came from
    message         more about the status, such as the text of an error
    artifacts       names of files to look at, such as samples; they lie in the folder
                    artifacts/RUN/ beside the file of records
    ruleset         by whose rules its settings were chosen; see StudyRecord
    """

    record: ClassVar[str] = "run"
    run: str
    study: str
    optimizer: str
    settings: Plain
    study_settings: Plain
    seed: int
    scale: str
    spec: Plain
    status: RunStatus
    history: tuple[Plain, ...]
    final: Plain
    wall_seconds: float
    commit: str
    machine: Plain
    data: Plain
    message: str = ""
    artifacts: tuple[str, ...] = ()
    ruleset: Ruleset = "paper"


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a study asks, and how to show it.

    place    where the paper has it
    shows    "curves": metrics over epochs, one line for each arm;
             "heatmap": final accuracy over two settings, one panel for each optimizer;
             "bars": the first metric at the end with a dot for each seed, then curves;
             "table": final metrics with spread
    axes     for a heat map its two settings; for curves the setting that tells arms
             of one optimizer apart, if any
    metrics  what is shown
    note     how the scale differs from the paper's: data, size, length
    missing  what was not run, and why
    ruleset  "paper": the settings that the study wrote down; "default": each
             optimizer's own; "tuned": chosen by the same number of trials for each.
             Never mixed: a study with another ruleset is another study
    tuning   how they were chosen: search, space, seeds, every trial with its runs,
             the winners, and what a budget left out; empty but for "tuned"
    contestants  the runs of each, by name, where every one is shown; empty for "paper"
    target   the value of the validation metric that counts as reached
    """

    record: ClassVar[str] = "study"
    name: str
    title: str
    place: str
    scale: str
    shows: Literal["curves", "heatmap", "bars", "table"]
    axes: tuple[str, ...]
    metrics: tuple[str, ...]
    note: str
    runs: tuple[str, ...]
    missing: tuple[str, ...] = ()
    ruleset: Ruleset = "paper"
    tuning: Plain = field(default_factory=dict[str, Any])
    contestants: Plain = field(default_factory=dict[str, Any])
    target: float | None = None


# What can be drawn, and all there is.
Drawing = Region | Boundary | Curves | Surface | Bars
Record = Drawing | FigureRecord | Verdict | RunRecord | StudyRecord
_KINDS = {
    kind.record: kind
    for kind in (
        Region,
        Boundary,
        Curves,
        Surface,
        Bars,
        FigureRecord,
        Verdict,
        RunRecord,
        StudyRecord,
    )
}
_PARTS = {"cells": Cell, "crossings": Crossing, "lines": Line, "bars": Bar}


def to_json(record: Record) -> str:
    """Write a record as one line; numbers that JSON lacks (NaN, ∞) become null."""
    # Not asdict of the whole: it copies every number of every epoch, one by one.
    plain: Plain = {f.name: getattr(record, f.name) for f in fields(record)}
    for name in _PARTS.keys() & plain.keys():
        plain[name] = [asdict(part) for part in plain[name]]
    return to_line({"record": record.record, "schema": SCHEMA, **plain})


def from_json(line: str) -> Record:
    """Read a line that `to_json` wrote, also one of schema 1."""
    plain = json.loads(line)
    if not isinstance(plain, dict) or cast(Plain, plain).get("record") not in _KINDS:
        known = ", ".join(_KINDS)
        raise ValueError(f"record must be one of {known}, got {line[:60]!r}")
    plain = cast(Plain, plain)
    kind = _KINDS[plain.pop("record")]
    schema = plain.pop("schema", None)
    if schema == 1:
        try:
            plain = _from_schema_1(kind.record, plain)
        except KeyError as error:
            raise ValueError(f"a {kind.record} must have {error}, got none") from error
    elif schema != SCHEMA:
        raise ValueError(
            f"schema must be 1 or {SCHEMA}, got {schema!r}; a newer acprop wrote this"
        )
    known = {f.name for f in fields(kind)}
    if plain.keys() - known:
        extra = ", ".join(sorted(plain.keys() - known))
        raise ValueError(f"a {kind.record} must have its own fields only, got {extra}")
    needed = [f.name for f in fields(kind) if f.default is f.default_factory is MISSING]
    if lost := [name for name in needed if name not in plain]:
        raise ValueError(f"a {kind.record} must have {', '.join(lost)}, got none")
    return kind(**{name: _part(name, value) for name, value in plain.items()})


def _from_schema_1(record: str, plain: Plain) -> Plain:
    """What schema 1 kept elsewhere, in its place; a verdict lacks too much."""
    about: Plain = plain.get("about") or {}
    if record == "verdict":
        raise ValueError(
            "a verdict must be of schema 2, got 1, which has no kind; write it again "
            "with acprop lab verify --out FILE"
        )
    if record == "run":
        study_settings, spec = plain["settings"], plain["spec"]
        return {
            **plain,
            "settings": spec.get("settings", study_settings),
            "study_settings": study_settings,
        }
    if record == "curves":
        bands = about.pop("bands", {})
        lines = [{**line, **bands.get(line["label"], {})} for line in plain["lines"]]
        return {**plain, "lines": lines, "y_range": about.pop("y_range", None)}
    if record == "surface":
        cells = about.pop("cells", {})
        return {
            **plain,
            "value_label": about.pop("values", plain["name"]),
            "value_range": about.pop("range", None),
            "n_runs": cells.get("runs", ()),
            "n_diverged": cells.get("diverged", ()),
        }
    return plain


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all."""
    files.write(path, "".join(to_json(record) + "\n" for record in records))


def read(path: Path) -> Iterator[Record]:
    """Read a file of records, one at a time."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield from_json(line)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error


def _part(name: str, value: Any) -> Any:
    if name in _PARTS:
        return tuple(_frozen(_PARTS[name], item) for item in value)
    if name == "status":
        return RunStatus(value)
    return _tuples(value) if isinstance(value, list) else value


def _frozen(kind: type, plain: Plain) -> Any:
    return kind(**{name: _tuples(value) for name, value in plain.items()})


def _tuples(value: Any) -> Any:
    """Lists as tuples, and null as NaN where a number was meant."""
    if isinstance(value, list):
        items = cast(list[Any], value)
        return tuple(math.nan if v is None else _tuples(v) for v in items)
    return math.nan if value is None else value
