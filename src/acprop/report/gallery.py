"""Pictures that runs leave behind: the last of every arm, and how one came about.

A run's files are named NAME-STEP.png; those of one name are a series. What they show is
not known here: samples, a rendered episode, a map.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acprop import files
from acprop.records import RunRecord
from acprop.report.collect import ARTIFACTS
from acprop.report.figures import image_sizes
from acprop.report.studies import StudyRuns
from acprop.report.variants import first_of, variant

_NAME = re.compile(r"(?P<name>[a-z0-9._-]+?)-?(?P<step>\d+)?\.png")


@dataclass(frozen=True, slots=True)
class Picture:
    """path: relative to the page. size: in pixels."""

    caption: str
    path: str
    size: tuple[int, int]


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
    arms = found.lines
    # Of each arm the first finished run: paired seeds show the same latents.
    firsts = [next((run for run in arm.done if run.artifacts), None) for arm in arms]
    named = zip(found.full_names(arms), firsts, strict=True)
    runs = [(name, run) for name, run in named if run and _series(run)]
    here = [(name, run) for name, run in runs if run.run in folders]

    def picture(run: RunRecord, file: str, before: str = "") -> Picture:
        """Put it where the page finds it, and a reader of the records too."""
        place = files.below(out, "studies", ARTIFACTS, run.run, file)
        copy_artifact(files.below(folders[run.run], file), place)
        path = place.relative_to(out).as_posix()
        return Picture(before + _step(file), path, image_sizes(place)[0])

    last = [
        picture(run, series[-1], f"{name}, seed {run.seed}, ")
        for name, run in here
        for series in _series(run).values()
        if (folders[run.run] / series[-1]).is_file()
    ]
    # Whose series is shown: the first ACProp's, if there is one.
    variants = [variant(run.optimizer, run.settings) for _, run in here]
    first = variants.index(first_of(variants) or variants[0]) if here else 0
    for name, run in here[first : first + 1]:
        for files_of_one in _series(run).values():
            there = [f for f in files_of_one if (folders[run.run] / f).is_file()]
            if len(there) > 1:
                series = tuple(picture(run, file) for file in there)
                return Gallery(tuple(last), name, series, len(runs) - len(here))
    return Gallery(tuple(last), lost=len(runs) - len(here))


def copy_artifact(source: Path, place: Path) -> None:
    """Copy a file; what lies at its place, also a link, is replaced."""
    files.write(place, source.read_bytes())


def _series(run: RunRecord) -> dict[str, list[str]]:
    """Pictures by name, each in the order of their steps."""
    found: dict[str, list[tuple[int, str]]] = {}
    for file in run.artifacts:
        if match := _NAME.fullmatch(file):
            step = int(match["step"] or 0)
            found.setdefault(match["name"], []).append((step, file))
    return {name: [file for _, file in sorted(steps)] for name, steps in found.items()}


def _step(file: str) -> str:
    match = _NAME.fullmatch(file)
    step = match["step"] if match else None
    return f"step {int(step)}" if step else file.removesuffix(".png")
