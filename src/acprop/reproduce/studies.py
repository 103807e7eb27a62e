"""Run studies: fetch their data, run what has not been run, collect the records."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acprop.bench import rosters
from acprop.bench.engines import Engine
from acprop.bench.execute import Outcome, collect, execute
from acprop.bench.rosters import Roster
from acprop.bench.store import Store
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
    study: Study,
    scale: str,
    runs: Path,
    *,
    jobs: int | None = None,
    engine: Engine | None = None,
    quiet: bool = False,
) -> StudyResult:
    """Run a study by itself; each run fetches its own data.

    engine: where; by default `jobs` processes here.
    """
    planned = study.planned(scale)
    Store(runs).check()
    rosters.write(runs, roster_of(study, scale, "paper", planned))
    ids = {p.spec.id: study.name for p in planned}
    with Bar(study.name, len(ids), quiet=quiet) as bar:
        outcomes = execute(
            [p.spec for p in planned],
            runs,
            engine=engine,
            jobs=jobs,
            studies=ids,
            on_progress=bar.share,
        )
    return _result(_Part(study, planned, []), scale, runs, outcomes, Datasets())


def roster_of(
    study: Study, scale: str, ruleset: str, planned: Sequence[PlannedRun]
) -> Roster:
    """Which runs these are, for `acprop bench status`."""
    wanted = rosters.asked(p.spec for p in planned)
    return Roster(study.name, scale, ruleset, study.scale(scale).seconds, wanted)


@dataclass(frozen=True, slots=True)
class _Part:
    """A study, those of its runs whose data are there, and the others."""

    study: Study
    able: list[PlannedRun]
    unable: list[PlannedRun]


def run_together(
    studies: Sequence[Study], scale: str, runs: Path, jobs: int, bar: Bar
) -> list[StudyResult]:
    """Run several studies as one; without its data, a run is left out.

    The same workers do them all: no core waits for the last run of a study, and none
    imports torch or hashes a dataset twice.
    """
    datasets = Datasets()
    parts = [_part(study, scale, datasets, bar) for study in studies]
    owners: dict[str, list[Study]] = {}
    for part in parts:
        for run in {p.spec.id for p in part.able}:
            owners.setdefault(run, []).append(part.study)

    def progress(run: str, share: float) -> None:
        for study in owners[run]:
            bar.show(study.name)
            seconds = study.scale(scale).seconds
            bar.share(f"{study.name} {run}", share, seconds)

    outcomes = execute(
        [p.spec for part in parts for p in part.able],
        runs,
        studies={run: those[0].name for run, those in owners.items()},
        jobs=jobs,
        on_progress=progress,
    )
    return [_result(part, scale, runs, outcomes, datasets) for part in parts]


def _part(study: Study, scale: str, datasets: Datasets, bar: Bar) -> _Part:
    bar.show(study.name)
    planned = study.planned(scale)
    able = [p for p in planned if datasets.has(dataset_of(p.spec))]
    left = len(planned) - len({p.spec.id for p in able})
    bar.advance(study.scale(scale).seconds * left)
    return _Part(study, able, [p for p in planned if p not in able])


def _result(
    part: _Part, scale: str, runs: Path, outcomes: Sequence[Outcome], datasets: Datasets
) -> StudyResult:
    study = part.study
    done = collect(part.able, outcomes, runs, study=study.name, scale=scale)
    without = _without_data(part.unable, datasets)
    ids = [run.run for run in done.records]
    record = study.record(scale, ids, [*without, *done.missing])
    is_needed = not all(p.optional for p in part.unable)
    complaints = [*done.complaints, *(without if is_needed else [])]
    return StudyResult(record, done.records, complaints)


def _without_data(unable: Sequence[PlannedRun], datasets: Datasets) -> list[str]:
    needed = Counter(dataset_of(p.spec) for p in unable)
    return [
        f"{n} runs on {name}: {datasets.why_not(name)}"
        for name, n in needed.items()
        if name is not None
    ]
