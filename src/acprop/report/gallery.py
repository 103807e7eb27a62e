"""Pictures that runs leave behind: the last of every arm, and how one came about.

A run's files are named NAME-STEP.png; those of one name are a series. What they show is
not known here: samples, a rendered episode, a map.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acprop import files
from acprop.records import RunRecord
from acprop.report.collect import ARTIFACTS
from acprop.report.statistics import Arm
from acprop.report.studies import StudyRuns, arm_names
from acprop.report.variants import first_of, variant

_NAME = re.compile(r"(?P<name>[a-z0-9._-]+?)-?(?P<step>\d+)?\.png")


@dataclass(frozen=True, slots=True)
class Picture:
    """path: relative to the page."""

    caption: str
    path: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """last: one picture or more for each arm; series: one arm's, oldest first.

    lost: how many runs had pictures that are not beside their records.
    """

    last: tuple[Picture, ...] = ()
    series_of: str = ""
    series: tuple[Picture, ...] = ()
    lost: int = 0


def build_gallery(out: Path, found: StudyRuns, folders: Mapping[str, Path]) -> Gallery:
    """Choose what is shown and copy it below the page, beside the study's records."""
    shown = found.lines
    names = arm_names(found, shown)
    runs = [(name, _run(arm)) for name, arm in zip(names, shown, strict=True)]
    with_pictures = [(name, run) for name, run in runs if run and _series(run)]
    here = [(name, run) for name, run in with_pictures if run.run in folders]
    last = [
        Picture(_caption(name, run, file), _copied(out, run, file, folders))
        for name, run in here
        for names in _series(run).values()
        for file in names[-1:]
        if (folders[run.run] / file).is_file()
    ]
    series_of, series = _one_series(out, here, folders)
    lost = len(with_pictures) - len(here)
    return Gallery(tuple(last), series_of, tuple(series), lost)


def _run(arm: Arm) -> RunRecord | None:
    """The arm's first finished run: paired seeds show the same latents."""
    return next((run for run in arm.done if run.artifacts), None)


def _series(run: RunRecord) -> dict[str, list[str]]:
    """Pictures by name, each in the order of their steps."""
    found: dict[str, list[tuple[int, str]]] = {}
    for file in run.artifacts:
        if match := _NAME.fullmatch(file):
            step = int(match["step"] or 0)
            found.setdefault(match["name"], []).append((step, file))
    return {name: [file for _, file in sorted(steps)] for name, steps in found.items()}


def _one_series(
    out: Path, here: Sequence[tuple[str, RunRecord]], folders: Mapping[str, Path]
) -> tuple[str, list[Picture]]:
    names = [variant(run.optimizer, run.settings) for _, run in here]
    first = first_of(names)
    # Whose series is shown: the first ACProp's, if there is one.
    ordered = [here[names.index(first)]] if first else here
    for name, run in ordered[:1]:
        for names in _series(run).values():
            there = [file for file in names if (folders[run.run] / file).is_file()]
            if len(there) > 1:
                return name, [
                    Picture(_step(file), _copied(out, run, file, folders))
                    for file in there
                ]
    return "", []


def _caption(name: str, run: RunRecord, file: str) -> str:
    return f"{name}, seed {run.seed}, {_step(file)}"


def _step(file: str) -> str:
    match = _NAME.fullmatch(file)
    step = match["step"] if match else None
    return f"step {int(step)}" if step else file.removesuffix(".png")


def _copied(out: Path, run: RunRecord, file: str, folders: Mapping[str, Path]) -> str:
    """Put the file where the page finds it, and a reader of the records too."""
    place = files.below(out, "studies", ARTIFACTS, run.run, file)
    copy_artifact(files.below(folders[run.run], file), place)
    return place.relative_to(out).as_posix()


def copy_artifact(source: Path, place: Path) -> None:
    """Copy a file; what lies at its place, also a link, is replaced."""
    files.write(place, source.read_bytes())
