"""What a result is: frozen values, one JSON object per line on disk.

Whatever computes writes records; whatever draws or prints reads them, and nothing else.
Every line says what it is ("record") and the version of this format ("schema"). Its
types are checked here, where it is read, and nowhere else.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import pydantic_core
from pydantic import BeforeValidator, ConfigDict, Field
from typing_extensions import TypedDict  # with the config that pydantic reads

from acprop import files
from acprop.metrics import Metric, is_declared, metric_of
from acprop.plain import Plain, checked, to_line

SCHEMA = 2

# JSON has no NaN: it is null there.
Number = Annotated[float, BeforeValidator(lambda v: math.nan if v is None else v)]
Numbers = tuple[Number, ...]

Finite = Literal["converged", "not converged", "undecided"]
Asymptotic = Literal["converges", "diverges"]
Kind = Literal[
    "central", "proof step", "constant", "wording", "definition", "empirical"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Counted apart: a slip of wording is no result that fails, a definition cannot, and an
# experiment at small scale decides less than a proof.
APART: tuple[Kind, ...] = ("wording", "definition", "empirical")
Better = Literal["higher", "lower"]
Ruleset = Literal["default", "paper", "tuned"]
RULESETS: tuple[Ruleset, ...] = get_args(Ruleset)
# What becomes a file's name, and what becomes a part of one.
FileName = Annotated[str, Field(pattern=f"^(?:{files.NAME})$")]
Short = Annotated[str, Field(max_length=60)]


class BadRecordError(ValueError):
    """A record whose types are right, and which still makes no sense.

    run: the id of the run whose record it is; None if it is the study's.
    """

    def __init__(self, why: str, run: str | None = None) -> None:
        super().__init__(why)
        self.run = run


class _Strict:
    """Read from JSON, a field has the type that it says; no other field is there."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Cell(_Strict):
    """One (P, β2) of a region.

    finite       under the protocol: "converged"; "not converged", and the drift agrees;
                 or "undecided": not there at this horizon, but moving the right way
    best_alpha0  the initial learning rate that ends closest, and its mean distance
    drift        net move towards x* over a period, as a share of the path, as t → ∞
    asymptotic   the sign of the drift, in words
    """

    period: int
    beta2: Number
    finite: Finite
    best_alpha0: Number
    distance: Number
    drift: Number
    asymptotic: Asymptotic


@dataclass(frozen=True, slots=True)
class Region(_Strict):
    """Where one optimizer converges on one problem."""

    record: ClassVar[str] = "region"
    problem: str
    optimizer: str
    beta1: Number
    convention: str
    steps: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Crossing(_Strict):
    """One period of a boundary: the β2 at which the drift changes sign, ascending.

    lowest: what the drift says below the first of them.
    """

    period: int
    lowest: Asymptotic
    beta2: Numbers


@dataclass(frozen=True, slots=True)
class Boundary(_Strict):
    """The exact border of a region, as t → ∞."""

    record: ClassVar[str] = "boundary"
    problem: str
    optimizer: str
    beta1: Number
    convention: str
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True)
class Line(_Strict):
    """One curve of a figure.

    low, high: the ends of a band around it, if any.
    dots: single values (x, y) that the curve is the mean of, such as those of seeds.
    """

    label: str
    x: Numbers
    y: Numbers
    low: Numbers = ()
    high: Numbers = ()
    dots: tuple[tuple[Number, Number], ...] = ()


@dataclass(frozen=True, slots=True)
class Curves(_Strict):
    """Curves that belong in one panel: trajectories, second moments, errors.

    name     which figure; panels of one figure share it and differ in the title
    y_range  where the axis begins and ends; None is as the values ask
    band     what the bands around the lines are, in words
    about    the settings, as plain values
    drawn    "points" for values that nothing joins, such as trials
    better   at which end good values are; a run that failed is drawn at the other
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
    better: Better = "higher"


@dataclass(frozen=True, slots=True)
class Surface(_Strict):
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
    x: Numbers
    y: Numbers
    values: tuple[Numbers, ...]
    value_range: tuple[float, float] | None = None
    n_runs: tuple[tuple[int, ...], ...] = ()
    n_diverged: tuple[tuple[int, ...], ...] = ()
    about: Plain = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ArmBar(_Strict):
    """One arm's final values: their mean, an interval around it, and each of them.

    low and high are NaN where one value has no interval.
    """

    label: str
    mean: Number
    low: Number
    high: Number
    values: Numbers


@dataclass(frozen=True, slots=True)
class Bars(_Strict):
    """Final values of several arms in one panel; better: see `Curves`."""

    record: ClassVar[str] = "bars"
    name: str
    title: str
    value_label: str
    bars: tuple[ArmBar, ...]
    about: Plain = field(default_factory=dict[str, Any])
    better: Better = "higher"


@dataclass(frozen=True, slots=True)
class FigureRecord(_Strict):
    """What a figure is; the records that it shows follow it in its file.

    place: where the paper has it.
    """

    record: ClassVar[str] = "figure"
    name: FileName
    place: str
    caption: str


@dataclass(frozen=True, slots=True)
class Verdict(_Strict):
    """What became of a claim.

    owner: whose claim it is; one of the paper's that fails is a finding, one of ours
        that fails is a defect.
    kind: "central", a result; "proof step", a step of a proof or a reason given for a
        result; "constant", a number or a closed form; "wording", a remark or a slip on
        which no conclusion rests; "definition", what follows from the definitions and
        cannot fail; "empirical", what was seen in training. The last three are counted
        apart.
    numbers: the evidence, for a program.
    formula, printed: LaTeX of what holds, and of what the paper prints instead.
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
    wall_seconds: Number
    formula: str = ""
    printed: str = ""


def verdict_counts(verdicts: Iterable[Verdict]) -> str:
    """49 hold, 1 fails, 8 undecided."""
    seen = Counter(v.verdict for v in verdicts)
    return ", ".join(
        f"{seen[word]} {word if seen[word] == 1 else word.removesuffix('s')}"
        for word in ("holds", "fails", "undecided")
    )


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
        return {
            "done": "trained to the end",
            "diverged": "the loss became NaN or infinite",
            "timeout": "the time limit was reached; it can be resumed",
            "interrupted": "stopped before the end; it can be resumed",
            "error": "an error ended it",
        }[self.value]

    @property
    def is_result(self) -> bool:
        """Is there nothing left to run?"""
        return self in (RunStatus.DONE, RunStatus.DIVERGED)


@dataclass(frozen=True, slots=True)
class RunRecord(_Strict):
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
    run: FileName
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
    wall_seconds: Number
    commit: str
    machine: Plain
    data: Plain
    message: str = ""
    artifacts: tuple[FileName, ...] = ()
    ruleset: Ruleset = "paper"


class TrialRuns(TypedDict):
    """One point of a search space, and the runs that tried it."""

    contestant: str
    number: int
    settings: Plain
    runs: list[str]


class TuningRecord(TypedDict, total=False):
    """How settings were chosen, by which validation metric, from which trials.

    More may stand in a record, and is kept: the design, the hash of the space …
    """

    __pydantic_config__ = ConfigDict(extra="allow")  # pyright: ignore

    space: str
    metric: str
    seeds: list[int]
    n_trials: int
    trials: list[TrialRuns]
    winners: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class StudyRecord(_Strict):
    """What a study asks, and how to show it.

    place    where the paper has it
    shows    "curves": metrics over epochs, one line for each arm;
             "heatmap": final accuracy over two settings, one panel for each optimizer;
             "bars": the first metric at the end with a dot for each seed, then curves;
             "table": final metrics with spread
             "effects": of each factor of a factorial design, as bars with intervals
    axes     for a heat map its two settings; for curves the setting that tells arms
             of one optimizer apart, if any
    metrics  what is shown, by name
    declared what these are: which way is better, their unit and words; filled in here
    note     how the scale differs from the paper's: data, size, length
    missing  what was not run, and why
    ruleset  "paper": the settings that the study wrote down; "default": each
             optimizer's own; "tuned": chosen by the same number of trials for each.
             Never mixed: a study with another ruleset is another study
    tuning   how they were chosen; empty but for "tuned"
    contestants  the runs of each, by name, where every one is shown; empty for "paper"
    target   the value of the validation metric that counts as reached
    replaces  studies of the same task whose place this one takes in what is counted
    """

    record: ClassVar[str] = "study"
    name: Short
    title: str
    place: str
    scale: Short
    shows: Literal["curves", "heatmap", "bars", "table", "effects"]
    axes: tuple[str, ...]
    metrics: tuple[str, ...]
    note: str
    runs: tuple[str, ...]
    missing: tuple[str, ...] = ()
    ruleset: Ruleset = "paper"
    tuning: TuningRecord = field(default_factory=TuningRecord)
    contestants: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    target: float | None = None
    replaces: tuple[Short, ...] = ()
    declared: tuple[Metric, ...] = ()

    def __post_init__(self) -> None:
        """Declare what is shown, also of a record from before it was stored."""
        if not self.declared:
            known = tuple(metric_of(name) for name in self.metrics if is_declared(name))
            object.__setattr__(self, "declared", known)

    @property
    def key(self) -> str:
        """As a file's name."""
        rules = [] if self.ruleset == "paper" else [self.ruleset]
        return files.key_of("-".join([self.name, self.scale, *rules]))


# What can be drawn, and all there is.
Drawing = Region | Boundary | Curves | Surface | Bars
Record = Drawing | FigureRecord | Verdict | RunRecord | StudyRecord
_KINDS = {kind.record: kind for kind in get_args(Record)}
_PARTS = ("cells", "crossings", "lines", "bars", "declared")


def to_json(record: Record) -> str:
    """Write a record as one line; numbers that JSON lacks (NaN, ∞) become null."""
    # Not asdict of the whole: it copies every number of every epoch, one by one.
    plain: Plain = {f.name: getattr(record, f.name) for f in fields(record)}
    for name in plain.keys() & _PARTS:
        plain[name] = [asdict(part) for part in plain[name]]
    return to_line({"record": record.record, "schema": SCHEMA, **plain})


def from_json(line: str | bytes) -> Record:
    """Read a line that `to_json` wrote; else a ValueError."""
    plain = checked(dict[str, Any], line)
    record, schema = plain.pop("record", None), plain.pop("schema", None)
    if not isinstance(record, str) or record not in _KINDS:
        raise ValueError(f"record must be one of {', '.join(_KINDS)}, got {record!r}")
    if schema != SCHEMA:
        raise ValueError(
            f"schema must be {SCHEMA}, got {schema!r}; another acprop wrote this"
        )
    # As JSON again, in which a list may be a tuple, and words a status.
    return checked(_KINDS[record], pydantic_core.to_json(plain))


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all."""
    files.write(path, "".join(to_json(record) + "\n" for record in records))


def read(path: Path) -> Iterator[Record]:
    """Read a file of records, one at a time."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield from_json(line)
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error
