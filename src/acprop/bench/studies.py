"""Studies: which runs an experiment of the paper is made of, at which scale.

A study is a TOML file. Its arms say what is compared; its scales (smoke, small, paper)
say how large, how long and with how many seeds, and how that differs from the paper.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from acprop import checks
from acprop.bench.documents import Strict, at, load
from acprop.bench.optimizers import find, resolved
from acprop.bench.spaces import FOLDER as SPACES
from acprop.bench.spec import RunSpec
from acprop.bench.tasks import TASKS, read_settings
from acprop.plain import Plain, canonical
from acprop.records import StudyRecord


class StudyArm(Strict):
    """One thing that is compared: an optimizer, its settings, and a grid of others.

    scales: at which scales it takes part; empty is all.
    optional: its data may be impossible to get; then it is named, not an error.
    task_settings: where an arm differs in the task itself, such as its dataset.
    schedule: instead of the scale's, for a method that brings its own.
    """

    optimizer: str
    settings: Plain = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    task_settings: Plain = Field(default_factory=dict)
    schedule: Plain = Field(default_factory=dict)
    scales: list[str] = Field(default_factory=list)
    optional: bool = False


class Tuning(Strict):
    """How the ruleset "tuned" chooses settings.

    search: "sobol" looks at points of a space, "grid" at those of each arm's own grid.
    seeds: of every trial, and of nothing else.
    trials: of each optimizer; a grid has as many as it has points.
    space: the file of studies/spaces/; a grid has none.
    """

    search: Literal["sobol", "grid"] = "sobol"
    trials: int = Field(default=16, ge=1)
    seeds: list[int] = Field(default=[1000], min_length=1)
    space: str = "wide-1"


class Scale(Strict):
    """note: how this differs from the paper. seconds: of one run, on one core.

    title: of the study here, where its data are others than its own title says.
    grid: replaces the values of an arm's grid where it names the same setting.
    metrics: what is shown at this scale, where it differs from the study's.
    target: the value of the task's validation metric that counts as reached.
    """

    note: str
    title: str = ""
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
    """One experiment: of the paper, or ours.

    replaces: older studies of the same task, which are then counted no more.
    """

    name: str
    title: str
    place: str
    task: str
    shows: Literal["curves", "heatmap", "bars", "table", "effects"]
    axes: list[str] = Field(default_factory=list)
    metrics: list[str]
    task_settings: Plain
    replaces: list[str] = Field(default_factory=list)
    arms: list[StudyArm]
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
            run
            for arm, settings in self.points(scale)
            for run in self.runs(scale, arm, settings, self.scale(scale).seeds)
        ]

    def runs(
        self, scale: str, arm: StudyArm, settings: Plain, seeds: list[int]
    ) -> list[PlannedRun]:
        """An arm with these settings, one run for each seed."""
        task = arm.task_settings
        specs = [self.spec(scale, arm.optimizer, settings, s, **task) for s in seeds]
        if arm.schedule:
            specs = [replace(spec, schedule=arm.schedule) for spec in specs]
        written = {**settings, **task}
        return [PlannedRun(spec, written, arm.optional) for spec in specs]

    def points(self, scale: str) -> Iterator[tuple[StudyArm, Plain]]:
        """Every arm of a scale with every point of its grid."""
        for arm in self.arms_at(scale):
            for point in self.grid(scale, arm):
                yield arm, {**arm.settings, **point}

    def arms_at(self, scale: str) -> list[StudyArm]:
        """Those that take part at this scale."""
        return [arm for arm in self.arms if not arm.scales or scale in arm.scales]

    def grid(self, scale: str, arm: StudyArm) -> list[Plain]:
        """The points of an arm's grid; one without a grid has the empty point."""
        replaced = self.scale(scale).grid
        axes = {key: replaced.get(key, values) for key, values in arm.grid.items()}
        return [
            dict(zip(axes, point, strict=True)) for point in product(*axes.values())
        ]

    def record(self, scale: str, runs: list[str], missing: list[str]) -> StudyRecord:
        """What the report needs to know."""
        return StudyRecord(
            name=self.name,
            title=self.scale(scale).title or self.title,
            place=self.place,
            scale=scale,
            shows=self.shows,
            axes=tuple(self.axes),
            metrics=tuple(self.scale(scale).metrics or self.metrics),
            note=self.scale(scale).note,
            runs=tuple(runs),
            missing=tuple(missing),
            target=self.scale(scale).target,
            replaces=tuple(self.replaces),
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

        def check(study: Study) -> None:
            with at("name"):
                checks.one_of("name", study.name, [name])
            with at("replaces"):
                for other in study.replaces:
                    checks.one_of("replaces", other, self.names())
            _check(study)

        return load(self.root / f"{name}.toml", Study, f"{name}.toml", check)


def _check(study: Study) -> None:
    """A misspelt name would be ignored, and its runs be missing or others."""
    with at("task"):
        checks.one_of("task", study.task, TASKS)
    for i, arm in enumerate(study.arms):
        with at("arms", i):
            find(arm.optimizer)
            for name in arm.scales:
                checks.one_of("scales", name, study.scales)
    grids = {key: None for arm in study.arms for key in arm.grid}
    for name, scale in study.scales.items():
        with at("scales", name):
            for key in scale.grid:
                checks.one_of("grid", key, grids)
            if both := set(scale.tuning.seeds) & set(scale.seeds):
                raise checks.UserError(
                    "tuning.seeds must be used for nothing else, got "
                    f"{min(both)} among the scale's own"
                )
        for arm, settings in study.points(name):
            with at("arms", study.arms.index(arm)):
                resolved(arm.optimizer, settings)
            with at("task_settings"):
                task = {**study.task_settings, **scale.task_settings}
                task |= arm.task_settings
                canonical(
                    [task, scale.schedule, arm.schedule]
                )  # neither NaN nor a date
                read_settings(study.task, task)


def study_folder(root: Path | None = None) -> StudyFolder:
    """Find the studies: in `root`, in ACPROP_STUDIES, or in a checkout around us."""
    given = root or os.environ.get("ACPROP_STUDIES")
    here = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    places = [Path(given)] if given else [folder / "studies" for folder in here]
    for place in places:
        if place.is_dir() and StudyFolder(place).names():
            return StudyFolder(place)
    raise checks.UserError(
        f"studies must be a folder of TOML files, got {given or 'none around here'}; "
        "run inside a checkout of acprop or set ACPROP_STUDIES"
    )
