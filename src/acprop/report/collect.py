"""Read stored records and put together what belongs together.

Files may come from several machines. A study that several have run in parts is one
study; of a run that several have, one that came to a result is taken.
"""

from collections.abc import Iterable, Sequence
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
StudyKey = tuple[str, str, str]  # name, scale and ruleset
# A record and its place, file and line; None could not be read.
Placed = tuple[str, Record | None]
Contents = list[tuple[str, list[Placed]]]  # the name of each file, and what is in it


@dataclass(slots=True)
class Collected:
    """What was found, in the order of the files.

    artifacts: the folder of a run's files to look at, for each that has one.
    places: file and line of each run by its id, and of each study by its key.
    figure_places: those of a figure and of what it shows, by the figure's name.
    notes: what a reader should know.
    problems: what could not be read or placed, by file and line; the rest is here.
    n_unread: how many files have not one line that could be read.
    """

    files: list[Path]
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    figures: list[tuple[FigureRecord, list[Drawing]]] = field(
        default_factory=list[tuple[FigureRecord, list[Drawing]]]
    )
    studies: list[tuple[StudyRecord, list[RunRecord]]] = field(
        default_factory=list[tuple[StudyRecord, list[RunRecord]]]
    )
    artifacts: dict[str, Path] = field(default_factory=dict[str, Path])
    places: dict[str, str] = field(default_factory=dict[str, str])
    figure_places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    notes: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    n_unread: int = 0


def collect(paths: Sequence[Path]) -> Collected:
    """Read files, and all files of records in folders; what cannot be read is named."""
    named = _files(paths)
    found = Collected(list(named))
    contents: Contents = []
    for path, name in named.items():
        contents.append((name, _read(path, name, found)))
        _add_artifacts(found, path, contents[-1][1])
    _add_verdicts(found, contents)
    _add_figures(found, contents)
    _add_studies(found, [placed for _, content in contents for placed in content])
    return found


def _read(path: Path, name: str, found: Collected) -> list[Placed]:
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


def _add_artifacts(found: Collected, path: Path, records: list[Placed]) -> None:
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


def _add_verdicts(found: Collected, contents: Contents) -> None:
    """One for each claim, the last; files that disagree are named."""
    known: dict[str, Verdict] = {}
    for name, records in contents:
        for _, verdict in records:
            if not isinstance(verdict, Verdict):
                continue
            before = known.get(verdict.claim)
            if before is not None and before.verdict != verdict.verdict:
                found.notes.append(
                    f"claim {verdict.claim}: {verdict.verdict} in {name}, "
                    f"{before.verdict} in an earlier file"
                )
            known[verdict.claim] = verdict
    found.verdicts = list(known.values())


def _add_figures(found: Collected, contents: Contents) -> None:
    """A figure is what follows a `FigureRecord` in its file; the last file counts."""
    known: dict[str, tuple[FigureRecord, list[Drawing]]] = {}
    for _, records in contents:
        about: FigureRecord | None = None
        is_lost = False  # after a line that may have begun another figure
        for place, record in records:
            if isinstance(record, FigureRecord):
                about, is_lost = record, False
                known[about.name] = about, []
                found.figure_places[about.name] = [place]
            elif record is None:
                about, is_lost = None, is_lost or about is not None
            elif isinstance(record, Region | Boundary | Curves | Surface | Bars):
                if about is not None:
                    known[about.name][1].append(record)
                    found.figure_places[about.name].append(place)
                elif is_lost:
                    why = "a line before it, perhaps its figure, could not be read"
                    found.problems.append(f"{place}: {why}")
    found.figures = list(known.values())


def _add_studies(found: Collected, records: Sequence[Placed]) -> None:
    studies: dict[StudyKey, list[StudyRecord]] = {}
    runs: dict[StudyKey, list[RunRecord]] = {}
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
            key = (record.study, record.scale, record.ruleset)
            runs.setdefault(key, []).append(record)
            found.places.setdefault(record.run, place)
    for (name, scale, ruleset), some in runs.items():
        if (name, scale, ruleset) not in studies:
            found.problems.append(
                f"{found.places[some[0].run]}: {len(some)} runs of {name} at scale "
                f"{scale}, ruleset {ruleset}, have no record of their study; write "
                "both with acprop bench study --out FILE"
            )
    found.studies = [
        (_merged(parts), _one_of_each(runs.get(key, [])))
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


def _one_of_each(runs: Iterable[RunRecord]) -> list[RunRecord]:
    kept: dict[str, RunRecord] = {}
    for run in runs:
        before = kept.get(run.run)
        if before is None or (run.status.is_result and not before.status.is_result):
            kept[run.run] = run
    return list(kept.values())
