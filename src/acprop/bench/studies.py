"""Studies: which runs an experiment of the paper is made of, at which scale.

A study is a TOML file. Its arms say what is compared; its scales (smoke, small, paper)
say how large, how long and with how many seeds, and how that differs from the paper.
"""

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from acprop import checks
from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.tasks import TASKS
from acprop.plain import Plain
from acprop.records import StudyRecord


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Arm(_Strict):
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


class Scale(_Strict):
    """note: how this differs from the paper. seconds: of one run, on one core.

    grid: replaces the values of an arm's grid where it names the same setting.
    metrics: what is shown at this scale, where it differs from the study's.
    """

    note: str
    epochs: int
    seeds: list[int]
    seconds: float = 0.0
    task_settings: Plain = Field(default_factory=dict)
    schedule: Plain = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    metrics: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a study. study_settings: those that the study wrote down."""

    spec: RunSpec
    study_settings: Plain
    optional: bool


class Study(_Strict):
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

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """A misspelt scale or setting would be ignored, and its runs be missing."""
        checks.one_of("task", self.task, TASKS)
        for name in (name for arm in self.arms for name in arm.scales):
            if name not in self.scales:
                raise ValueError(
                    f"an arm's scales must be among {', '.join(self.scales)}, "
                    f"got {name}"
                )
        known = {key: None for arm in self.arms for key in arm.grid}
        for name in (name for scale in self.scales.values() for name in scale.grid):
            if name not in known:
                raise ValueError(
                    f"a scale's grid must name what an arm's does "
                    f"({', '.join(known) or 'none'}), got {name}"
                )
        return self

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
            for arm, settings in self._points(scale)
            for seed in self.scale(scale).seeds
        ]

    def _points(self, scale: str) -> Iterator[tuple[Arm, Plain]]:
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
        )


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The folder of studies."""

    root: Path

    def names(self) -> list[str]:
        """All studies, as "vision/mnist-mlp"."""
        files = sorted(self.root.rglob("*.toml"))
        return [
            file.relative_to(self.root).with_suffix("").as_posix() for file in files
        ]

    def study(self, name: str) -> Study:
        """Read one."""
        checks.one_of("study", name, self.names())
        path = self.root / f"{name}.toml"
        try:
            study = Study(**tomllib.loads(path.read_text("utf-8")))
        except (tomllib.TOMLDecodeError, ValidationError) as error:
            raise ValueError(
                f"{path.name} must be a valid study, got {_in_one_line(error)}"
            ) from error
        if study.name != name:
            raise ValueError(
                f"name must be {name!r} in {path.name}, got {study.name!r}"
            )
        return study


def _in_one_line(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(map(str, item['loc']))}: {item['msg']}".removeprefix(": ")
        for item in error.errors()
    )


def study_folder(root: Path | None = None) -> StudyFolder:
    """Find the studies: in `root`, in ACPROP_STUDIES, or in a checkout around us."""
    told = root or os.environ.get("ACPROP_STUDIES")
    here = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    places = [Path(told)] if told else [folder / "studies" for folder in here]
    for place in places:
        if place.is_dir() and any(place.rglob("*.toml")):
            return StudyFolder(place)
    raise ValueError(
        f"studies must be a folder of TOML files, got {told or 'none around here'}; "
        "run inside a checkout of acprop or set ACPROP_STUDIES"
    )
