"""Studies: which runs an experiment of the paper is made of, at which scale.

A study is a TOML file. Its arms say what is compared; its scales (smoke, small, paper)
say how large, how long and with how many seeds, and how that differs from the paper.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from acprop import checks
from acprop.bench.documents import Mistake, Strict, load
from acprop.bench.optimizers import find, resolved
from acprop.bench.spaces import FOLDER as SPACES
from acprop.bench.spec import RunSpec
from acprop.bench.tasks import TASKS, read_settings
from acprop.plain import Plain, canonical
from acprop.records import StudyRecord


class Arm(Strict):
    """One thing that is compared: an optimizer, its settings, and a grid of others.

    scales: at which scales it takes part; empty is all.
    optional: its data may be impossible to get; then it is named, not an error.
    task_settings: where an arm differs in the task itself, such as its dataset.
    """

    optimizer: str
    settings: Plain = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    task_settings: Plain = Field(default_factory=dict)
    scales: list[str] = Field(default_factory=list)
    optional: bool = False


class Tuning(Strict):
    """How the ruleset "tuned" chooses settings.

    trials: of each optimizer. seeds: of every trial, and of nothing else.
    space: the file of studies/spaces/.
    """

    trials: int = Field(default=16, ge=1)
    seeds: list[int] = Field(default=[1000], min_length=1)
    space: str = "wide-1"


class Scale(Strict):
    """note: how this differs from the paper. seconds: of one run, on one core.

    grid: replaces the values of an arm's grid where it names the same setting.
    metrics: what is shown at this scale, where it differs from the study's.
    target: the value of the task's validation metric that counts as reached.
    """

    note: str
    epochs: PositiveInt
    seeds: list[NonNegativeInt]
    seconds: float = 0.0
    task_settings: Plain = Field(default_factory=dict)
    schedule: Plain = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    metrics: list[str] = Field(default_factory=list)
    target: float | None = None
    tuning: Tuning = Field(default_factory=Tuning)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a study. study_settings: those that the study wrote down."""

    spec: RunSpec
    study_settings: Plain
    optional: bool


class Study(Strict):
    """One experiment: of the paper, or ours."""

    name: str
    title: str
    place: str
    task: str
    shows: Literal["curves", "heatmap", "bars", "table"]
    axes: list[str] = Field(default_factory=list)
    metrics: list[str]
    task_settings: Plain
    arms: list[Arm]
    scales: dict[str, Scale]

    def scale(self, name: str) -> Scale:
        """Find a scale."""
        checks.one_of("scale", name, self.scales)
        return self.scales[name]

    def spec(
        self, scale: str, optimizer: str, settings: Plain, seed: int, **task: Any
    ) -> RunSpec:
        """One run of this study with any optimizer."""
        s = self.scale(scale)
        return RunSpec(
            task=self.task,
            task_settings={**self.task_settings, **s.task_settings, **task},
            optimizer=optimizer,
            settings=resolved(optimizer, settings),
            epochs=s.epochs,
            seed=seed,
            schedule=s.schedule or {"kind": "constant"},
        )

    def planned(self, scale: str) -> list[PlannedRun]:
        """All runs, in the order of the arms, seeds innermost."""
        return [
            PlannedRun(
                self.spec(scale, arm.optimizer, settings, seed, **arm.task_settings),
                {**settings, **arm.task_settings},
                arm.optional,
            )
            for arm, settings in self.points(scale)
            for seed in self.scale(scale).seeds
        ]

    def points(self, scale: str) -> Iterator[tuple[Arm, Plain]]:
        """Every arm of a scale with every point of its grid."""
        replaced = self.scale(scale).grid
        for arm in self.arms:
            if arm.scales and scale not in arm.scales:
                continue
            axes = {key: replaced.get(key, values) for key, values in arm.grid.items()}
            for point in product(*axes.values()):
                yield arm, {**arm.settings, **dict(zip(axes, point, strict=True))}

    def record(self, scale: str, runs: list[str], missing: list[str]) -> StudyRecord:
        """What the report needs to know."""
        return StudyRecord(
            name=self.name,
            title=self.title,
            place=self.place,
            scale=scale,
            shows=self.shows,
            axes=tuple(self.axes),
            metrics=tuple(self.scale(scale).metrics or self.metrics),
            note=self.scale(scale).note,
            runs=tuple(runs),
            missing=tuple(missing),
            target=self.scale(scale).target,
        )


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The folder of studies."""

    root: Path

    def names(self) -> list[str]:
        """All studies, as "vision/mnist-mlp"."""
        files = [f.relative_to(self.root) for f in sorted(self.root.rglob("*.toml"))]
        return [
            file.with_suffix("").as_posix() for file in files if file.parts[0] != SPACES
        ]

    def study(self, name: str) -> Study:
        """Read one; what is wrong with it is told before anything is run."""
        checks.one_of("study", name, self.names())
        path = self.root / f"{name}.toml"

        def mistakes(study: Study) -> Iterator[Mistake]:
            if study.name != name:
                words = f"name must be {name!r} in {name}.toml, got {study.name!r}"
                yield Mistake(("name",), words)
            yield from _mistakes(study)

        return load(path, Study, name=f"{name}.toml", what="study", mistakes=mistakes)


def _mistakes(study: Study) -> Iterator[Mistake]:
    """A misspelt name would be ignored, and its runs be missing or others."""
    if study.task not in TASKS:
        words = f"task must be one of {', '.join(TASKS)}, got {study.task!r}"
        yield Mistake(("task",), words + checks.meant(study.task, TASKS))
        return
    for i, arm in enumerate(study.arms):
        yield from _in_an_arm(study, arm, ("arms", i))
    known = {key: None for arm in study.arms for key in arm.grid}
    for name, scale in study.scales.items():
        for key in scale.grid:
            if key not in known:
                yield Mistake(
                    ("scales", name, "grid", key),
                    f"a scale's grid must name what an arm's does "
                    f"({', '.join(known) or 'none'}), got {key}"
                    f"{checks.meant(key, known)}",
                )
        if both := set(scale.tuning.seeds) & set(scale.seeds):
            yield Mistake(
                ("scales", name, "tuning"),
                f"seeds of tuning must be used for nothing else, got {min(both)} "
                "among the scale's own",
            )
    yield from _in_the_task(study)


def _in_an_arm(
    study: Study, arm: Arm, here: tuple[str | int, ...]
) -> Iterator[Mistake]:
    for name in arm.scales:
        if name not in study.scales:
            yield Mistake(
                (*here, "scales"),
                f"an arm's scales must be among {', '.join(study.scales)}, got {name}"
                f"{checks.meant(name, study.scales)}",
            )
    try:
        find(arm.optimizer)
    except ValueError as error:
        yield Mistake((*here, "optimizer"), str(error))
        return
    first = {key: values[0] for key, values in arm.grid.items() if values}
    points = [("settings", {**first, **arm.settings})]
    points += [
        ("grid", {**first, **arm.settings, key: value})
        for key, values in arm.grid.items()
        for value in values
    ]
    for table, point in points:
        try:
            resolved(arm.optimizer, point)
        except checks.UnknownNameError as error:
            table = "grid" if error.name in arm.grid else "settings"
            yield Mistake((*here, table, error.name), str(error))
            return
        except (ValueError, TypeError) as error:
            yield Mistake((*here, table), str(error))
            return


def _in_the_task(study: Study) -> Iterator[Mistake]:
    """The settings of the task as every arm of every scale puts them together."""
    tables: list[tuple[tuple[str | int, ...], Plain]] = [((), study.task_settings)]
    for name, scale in study.scales.items():
        tables.append((("scales", name), scale.task_settings))
        for i, arm in enumerate(study.arms):
            if arm.task_settings:
                tables.append((("arms", i), arm.task_settings))
    for name, scale in study.scales.items():
        for arm in study.arms:
            if arm.scales and name not in arm.scales:
                continue
            merged = {
                **study.task_settings,
                **scale.task_settings,
                **arm.task_settings,
            }
            try:
                canonical([merged, scale.schedule])  # neither NaN nor a date
                read_settings(study.task, merged)
            except checks.UnknownNameError as error:
                place = next(p for p, plain in tables if error.name in plain)
                yield Mistake((*place, "task_settings", error.name), str(error))
                return
            except (ValueError, TypeError) as error:
                yield Mistake(("scales", name), str(error))
                return


def study_folder(root: Path | None = None) -> StudyFolder:
    """Find the studies: in `root`, in ACPROP_STUDIES, or in a checkout around us."""
    told = root or os.environ.get("ACPROP_STUDIES")
    here = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    places = [Path(told)] if told else [folder / "studies" for folder in here]
    for place in places:
        if place.is_dir() and StudyFolder(place).names():
            return StudyFolder(place)
    raise checks.UserError(
        f"studies must be a folder of TOML files, got {told or 'none around here'}; "
        "run inside a checkout of acprop or set ACPROP_STUDIES"
    )
