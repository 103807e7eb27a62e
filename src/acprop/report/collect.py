"""Read stored records and put together what belongs together.

Files may come from several machines. A study that several have run in parts is one
study; of a run that several have, one that came to a result is taken.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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


@dataclass(slots=True)
class Collected:
    """What was found, in the order of the files.

    artifacts: the folder of a run's files to look at, for each that has one.
    notes: what a reader should know.
    problems: what could not be read or placed, by file and line; the rest is here.
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
    notes: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


def collect(paths: Sequence[Path]) -> Collected:
    """Read files, and all files of records in folders; what cannot be read is named."""
    found = Collected(_files(paths))
    contents = [(path, _read(path, found.problems)) for path in found.files]
    records = [record for _, content in contents for record in content]
    _add_verdicts(found, contents)
    _add_figures(found, contents)
    _add_studies(found, records)
    found.artifacts = _artifacts(contents)
    return found


def _read(path: Path, problems: list[str]) -> list[Record]:
    """Every line that is a record; of the others, where and why not."""
    records: list[Record] = []
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            records.append(from_json(line.decode("utf-8")))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            why = "it is cut off or no JSON" if _is_no_json(line) else str(error)
            problems.append(f"{path.name}, line {number}: {why}")
    if not lines:
        problems.append(f"{path.name}: no record in it")
    return records


def _is_no_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _artifacts(contents: list[tuple[Path, list[Record]]]) -> dict[str, Path]:
    """Beside the file that has the run."""
    places = {
        record.run: path.parent / ARTIFACTS / record.run
        for path, records in contents
        for record in records
        if isinstance(record, RunRecord) and record.artifacts
    }
    return {run: place for run, place in places.items() if place.is_dir()}


def _files(paths: Sequence[Path]) -> list[Path]:
    if not paths:
        raise ValueError("records must be files or folders, got none")
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += [file for file in sorted(path.rglob("*.jsonl")) if _holds(file)]
        elif path.is_file():
            files.append(path)
        else:
            raise ValueError(f"records must be files or folders, got {path}")
    if not files:
        names = ", ".join(map(str, paths))
        raise ValueError(f"records must be in these folders, got none in {names}")
    return list(dict.fromkeys(files))


def _holds(file: Path) -> bool:
    """Does it hold records? A run's folder has other files of JSON lines too."""
    with file.open("rb") as lines:
        return any(line.startswith(b'{"record":') for line in lines)


def _add_verdicts(found: Collected, contents: list[tuple[Path, list[Record]]]) -> None:
    """One for each claim, the last; files that disagree are named."""
    known: dict[str, Verdict] = {}
    for path, records in contents:
        for verdict in records:
            if not isinstance(verdict, Verdict):
                continue
            before = known.get(verdict.claim)
            if before is not None and before.verdict != verdict.verdict:
                found.notes.append(
                    f"claim {verdict.claim}: {verdict.verdict} in {path.name}, "
                    f"{before.verdict} in an earlier file"
                )
            known[verdict.claim] = verdict
    found.verdicts = list(known.values())


def _add_figures(found: Collected, contents: list[tuple[Path, list[Record]]]) -> None:
    """A figure is what follows a `FigureRecord` in its file; the last file counts."""
    known: dict[str, tuple[FigureRecord, list[Drawing]]] = {}
    for _, records in contents:
        about: FigureRecord | None = None
        for record in records:
            if isinstance(record, FigureRecord):
                about = record
                known[about.name] = about, []
            elif about is not None and isinstance(
                record, Region | Boundary | Curves | Surface | Bars
            ):
                known[about.name][1].append(record)
    found.figures = list(known.values())


def _add_studies(found: Collected, records: Sequence[Record]) -> None:
    studies: dict[StudyKey, list[StudyRecord]] = {}
    runs: dict[StudyKey, list[RunRecord]] = {}
    for record in records:
        if isinstance(record, StudyRecord):
            key = (record.name, record.scale, record.ruleset)
            studies.setdefault(key, []).append(record)
        elif isinstance(record, RunRecord):
            key = (record.study, record.scale, record.ruleset)
            runs.setdefault(key, []).append(record)
    for (name, scale, ruleset), some in runs.items():
        if (name, scale, ruleset) not in studies:
            found.problems.append(
                f"{len(some)} runs of {name} at scale {scale}, ruleset {ruleset}, have "
                "no record of their study; write both with acprop bench study --out "
                "FILE"
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
