"""Read stored records and put together what belongs together.

Files may come from several machines. A study that several have run in parts is one
study; of a run that several have, one that came to a result is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acprop import files
from acprop.checks import UserError
from acprop.records import (
    Bars,
    Boundary,
    Curves,
    Drawing,
    FigureRecord,
    Record,
    Region,
    RunRecord,
    StudyRecord,
    Surface,
    Verdict,
    from_json,
)

ARTIFACTS = "artifacts"  # the folder beside a file of records
Studies = list[tuple[StudyRecord, list[RunRecord]]]
StudyKey = tuple[str, str, str]  # name, scale and ruleset
# A record and its place, file and line; None could not be read.
Placed = tuple[str, Record | None]


@dataclass(slots=True)
class Content:
    """Everything that the site shows, in the order of the files.

    figures: each is drawn in figures/NAME.svg below the site.
    shown: what a figure shows, by its name.
    studies: stored evidence. here: what this machine has just run.
    artifacts: the folder of a run's files to look at, for each that has one.
    places: file and line of each run by its id, and of each study by its key.
    figure_places: those of a figure and of what it shows, by the figure's name.
    missing: what was not run, and what else a reader should know.
    problems: what could not be read, placed or shown, by file and line.
    files: how many were read; n_unread: those without one line that could be.
    """

    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    figures: list[FigureRecord] = field(default_factory=list[FigureRecord])
    shown: dict[str, list[Drawing]] = field(default_factory=dict[str, list[Drawing]])
    studies: Studies = field(default_factory=Studies)
    here: Studies = field(default_factory=Studies)
    artifacts: dict[str, Path] = field(default_factory=dict[str, Path])
    places: dict[str, str] = field(default_factory=dict[str, str])
    figure_places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    missing: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    n_files: int = 0
    n_unread: int = 0


def collect(paths: Sequence[Path]) -> Content:
    """Read files, and all files of records in folders; what cannot be read is named."""
    named = _files(paths)
    found = Content(n_files=len(named))
    contents = [(path, name, _read(path, name, found)) for path, name in named.items()]
    verdicts: dict[str, Verdict] = {}
    for path, name, records in contents:
        _add_artifacts(found, path, records)
        _add_figures(found, records)
        for _, record in records:
            if isinstance(record, Verdict):
                before = verdicts.get(record.claim, record)
                if before.verdict != record.verdict:
                    found.missing.append(
                        f"claim {record.claim}: {record.verdict} in {name}, "
                        f"{before.verdict} in an earlier file"
                    )
                verdicts[record.claim] = record
    found.verdicts = list(verdicts.values())
    _add_studies(found, [placed for _, _, records in contents for placed in records])
    return found


def _read(path: Path, name: str, found: Content) -> list[Placed]:
    """Every line; of those that are no records, why not."""
    records: list[Placed] = []
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        place = f"{name}, line {number}"
        try:
            records.append((place, from_json(line)))
        except ValueError as error:
            records.append((place, None))
            found.problems.append(f"{place}: {error}")
    if not lines:
        found.problems.append(f"{name}: no record in it")
    found.n_unread += all(record is None for _, record in records)
    return records


def _add_artifacts(found: Content, path: Path, records: list[Placed]) -> None:
    """Beside the file that has the run; a link to elsewhere is named."""
    for place, record in records:
        if isinstance(record, RunRecord) and record.artifacts:
            try:
                folder = files.below(path.parent, ARTIFACTS, record.run)
                for name in record.artifacts:
                    files.below(folder, name)
            except ValueError as error:
                found.problems.append(f"{place}: {error}")
                continue
            if folder.is_dir():
                found.artifacts[record.run] = folder


def _files(paths: Sequence[Path]) -> dict[Path, str]:
    """The files, each by its name from the folder that was given."""
    if not paths:
        raise UserError("records must be files or folders, got none")
    named: dict[Path, str] = {}
    for path in paths:
        if path.is_dir():
            for file in sorted(path.rglob("*.jsonl")):
                if _holds(file):
                    named[file] = file.relative_to(path).as_posix()
        elif path.is_file():
            named[path] = path.name
        else:
            raise UserError(f"records must be files or folders, got {path}")
    if not named:
        names = ", ".join(map(str, paths))
        raise UserError(f"records must be in these folders, got none in {names}")
    return named


def _holds(file: Path) -> bool:
    """Does it hold records? A run's folder has other files of JSON lines too."""
    with file.open("rb") as lines:
        return any(line.startswith(b'{"record":') for line in lines)


def _add_figures(found: Content, records: Sequence[Placed]) -> None:
    """A figure is what follows a `FigureRecord` in its file; the last file counts."""
    name: str | None = None
    is_lost = False  # after a line that may have begun another figure
    for place, record in records:
        if isinstance(record, FigureRecord):
            name, is_lost = record.name, False
            found.figures = [f for f in found.figures if f.name != name] + [record]
            found.shown[name] = []
            found.figure_places[name] = [place]
        elif record is None:
            name, is_lost = None, is_lost or name is not None
        elif isinstance(record, Region | Boundary | Curves | Surface | Bars):
            if name is not None:
                found.shown[name].append(record)
                found.figure_places[name].append(place)
            elif is_lost:
                why = "a line before it, perhaps its figure, could not be read"
                found.problems.append(f"{place}: {why}")


def _add_studies(found: Content, records: Sequence[Placed]) -> None:
    studies: dict[StudyKey, list[StudyRecord]] = {}
    runs: dict[StudyKey, dict[str, RunRecord]] = {}
    names: dict[str, StudyKey] = {}
    pages: dict[str, str] = {}
    for place, record in records:
        if isinstance(record, StudyRecord):
            key = (record.name, record.scale, record.ruleset)
            other = pages.setdefault(files.key_of(record.name), record.name)
            if other != record.name or names.setdefault(record.key, key) != key:
                found.problems.append(
                    f"{place}: a study must have a name of its own, got {record.name}, "
                    f"whose files are those of {other}"
                )
                continue
            studies.setdefault(key, []).append(record)
            found.places[record.key] = place
        elif isinstance(record, RunRecord):
            known = runs.setdefault((record.study, record.scale, record.ruleset), {})
            before = known.setdefault(record.run, record)
            if record.status.is_result and not before.status.is_result:
                known[record.run] = record
            found.places.setdefault(record.run, place)
    for (name, scale, ruleset), some in runs.items():
        if (name, scale, ruleset) not in studies:
            found.problems.append(
                f"{found.places[next(iter(some))]}: {len(some)} runs of {name} at "
                f"scale {scale}, ruleset {ruleset}, have no record of their study; "
                "write both with acprop bench study --out FILE"
            )
    found.studies = [
        (_merged(parts), list(runs.get(key, {}).values()))
        for key, parts in studies.items()
    ]


def _merged(parts: Sequence[StudyRecord]) -> StudyRecord:
    """All runs of all parts; missing is what all of them miss.

    Contestants and trials are those of the last: a search is never merged with another.
    """
    if parts[-1].tuning:
        return parts[-1]
    names = dict.fromkeys(run for part in parts for run in part.runs)
    missing = [m for m in parts[0].missing if all(m in part.missing for part in parts)]
    return replace(parts[-1], runs=tuple(names), missing=tuple(missing))
