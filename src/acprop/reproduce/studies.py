"""Run a study: fetch its data, run what has not been run, collect the records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acprop.bench.execute import execute_planned
from acprop.bench.studies import PlannedRun, Study
from acprop.bench.tasks import dataset_of
from acprop.progress import Bar
from acprop.records import Record, RunRecord, StudyRecord, write
from acprop.report.collect import ARTIFACTS
from acprop.report.gallery import copy_artifact
from acprop.tasks.data import DataError, fetch


@dataclass(frozen=True, slots=True)
class StudyResult:
    """complaints: a line for each run that should have a result and has none."""

    study: StudyRecord
    runs: list[RunRecord]
    complaints: list[str]

    @property
    def records(self) -> list[Record]:
        """All of it, as a file holds it."""
        return [self.study, *self.runs]


def artifacts_of(runs: Path, results: Sequence[StudyResult]) -> dict[str, Path]:
    """Where the files to look at are, for each run that has any."""
    records = [record for result in results for record in result.runs]
    return {r.run: runs / r.run / ARTIFACTS for r in records if r.artifacts}


def keep(result: StudyResult, runs: Path, out: Path) -> None:
    """Write the records to a file, and beside it the files to look at."""
    write(out, result.records)
    folders = artifacts_of(runs, [result])
    for record in result.runs:
        for name in record.artifacts:
            place = out.parent / ARTIFACTS / record.run / name
            copy_artifact(folders[record.run] / name, place)


@dataclass(slots=True)
class Datasets:
    """Which datasets are there; each is fetched once."""

    _present: set[str] = field(default_factory=set[str])
    _errors: dict[str, str] = field(default_factory=dict[str, str])

    def has(self, name: str | None) -> bool:
        """Fetch it if needed; a run that needs no dataset has None."""
        if name is None:
            return True
        if name not in self._present and name not in self._errors:
            try:
                fetch(name, progress=False)
                self._present.add(name)
            except (DataError, ValueError, OSError) as error:
                self._errors[name] = str(error)
        return name in self._present

    def why_not(self, name: str) -> str:
        """Why a dataset is missing."""
        return self._errors[name]


def run_study(
    study: Study, scale: str, runs: Path, *, jobs: int | None, quiet: bool = False
) -> StudyResult:
    """Run a study by itself; each run fetches its own data."""
    planned = study.planned(scale)
    with Bar(study.name, len({p.spec.id for p in planned}), quiet=quiet) as bar:
        done = execute_planned(
            planned,
            runs,
            study=study.name,
            scale=scale,
            jobs=jobs,
            on_progress=bar.share,
        )
    ids = [run.run for run in done.records]
    record = study.record(scale, ids, done.missing)
    return StudyResult(record, done.records, done.complaints)


def run_among_others(
    study: Study, scale: str, runs: Path, datasets: Datasets, jobs: int, bar: Bar
) -> StudyResult:
    """Run a study as a part of the main job: without its data, a run is left out."""
    bar.show(study.name)
    planned = study.planned(scale)
    able = [p for p in planned if datasets.has(dataset_of(p.spec))]
    seconds = study.scale(scale).seconds
    bar.advance(seconds * (len(planned) - len({p.spec.id for p in able})))
    done = execute_planned(
        able,
        runs,
        study=study.name,
        scale=scale,
        jobs=jobs,
        on_progress=lambda run, share: bar.share(f"{study.name} {run}", share, seconds),
    )
    unable = [p for p in planned if p not in able]
    without = _without_data(unable, datasets)
    ids = [run.run for run in done.records]
    record = study.record(scale, ids, [*without, *done.missing])
    is_needed = not all(p.optional for p in unable)
    complaints = [*done.complaints, *(without if is_needed else [])]
    return StudyResult(record, done.records, complaints)


def _without_data(unable: Sequence[PlannedRun], datasets: Datasets) -> list[str]:
    needed = Counter(dataset_of(p.spec) for p in unable)
    return [
        f"{n} runs on {name}: {datasets.why_not(name)}"
        for name, n in needed.items()
        if name is not None
    ]
