"""Run studies: the one way, for `bench study` and `reproduce`, by any engine.

The same workers do all studies: no core waits for the last run of a study, and none
imports torch or hashes a dataset twice.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acprop.bench import run_lists
from acprop.bench.engines import Engine
from acprop.bench.execute import Outcome, execute
from acprop.bench.run_files import DamagedError
from acprop.bench.run_lists import RunList
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import PlannedRun, Study
from acprop.bench.tasks import dataset_of
from acprop.progress import Bar
from acprop.records import Record, RunRecord, RunStatus, StudyRecord, write
from acprop.report.collect import ARTIFACTS
from acprop.report.gallery import copy_artifact
from acprop.reproduce.rulesets import Ruleset
from acprop.tasks.data import DataError, fetch


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """complaints: a line for each run that should have a result and has none."""

    study: StudyRecord
    runs: list[RunRecord]
    complaints: list[str]

    @property
    def records(self) -> list[Record]:
        """All of it, as a file holds it."""
        return [self.study, *self.runs]


def run(
    studies: Sequence[Study],
    ruleset: Ruleset,
    engine: Engine,
    *,
    scale: str,
    runs: Path,
    bar: Bar,
) -> list[StudyOutcome]:
    """Run what has not been run; without its data, a run is left out.

    Args:
        engine: where. runs: the store.
        bar: advanced by what `cost` says of these studies.
    """
    Store(runs).check()
    running = _Running(studies, ruleset, engine, scale, runs, bar)
    tried = running.stage([ruleset.trials(study, scale) for study in studies])
    finals = [
        ruleset.finals(study, scale, stage.records)
        for study, stage in zip(studies, tried, strict=True)
    ]
    ended = running.stage([final.runs for final in finals])
    results: list[StudyOutcome] = []
    for study, trials, final, stage in zip(studies, tried, finals, ended, strict=True):
        missing = [*trials.without_data, *stage.missing, *final.lost]
        record = replace(
            study.record(scale, list(stage.records), missing), **final.about
        )
        records = {**stage.records, **trials.records}
        complaints = [*trials.needed_data, *stage.complaints, *final.lost]
        results.append(StudyOutcome(record, list(records.values()), complaints))
    return results


def cost(studies: Iterable[Study], ruleset: Ruleset, scale: str) -> float:
    """Seconds on one core, as the studies estimate them."""
    return sum(
        (len(ruleset.trials(study, scale)) + ruleset.n_finals(study, scale))
        * _seconds(study, scale)
        for study in studies
    )


@dataclass(frozen=True, slots=True)
class RunStage:
    """Runs that are alike. minutes: of those that are not done, on one core."""

    name: str
    runs: int
    done: int
    minutes: float


def stages(study: Study, ruleset: Ruleset, *, scale: str, runs: Path) -> list[RunStage]:
    """What would be run, by the study's own estimate; nothing is written."""
    store = Store(runs)

    def stage(name: str, planned: Sequence[PlannedRun], n_runs: int) -> RunStage:
        specs = {p.spec.id: p.spec for p in planned}
        done = sum(store.finished(spec) for spec in specs.values())
        minutes = (n_runs - done) * study.scale(scale).seconds / 60
        return RunStage(name, n_runs, done, minutes)

    trials = ruleset.trials(study, scale)
    n_finals = ruleset.n_finals(study, scale)
    if trials:  # who wins is not known yet
        first = stage("trials", trials, len(trials))
        return [first, stage("winners on fresh seeds", [], n_finals)]
    return [stage("runs", ruleset.finals(study, scale, {}).runs, n_finals)]


def list_runs(
    study: Study, scale: str, ruleset: Ruleset, specs: Iterable[RunSpec]
) -> RunList:
    """These runs, for `acprop bench status`."""
    seconds, wanted = study.scale(scale).seconds, run_lists.requested(specs)
    return RunList(study.name, scale, ruleset.name, seconds, wanted)


def artifacts_of(runs: Path, results: Sequence[StudyOutcome]) -> dict[str, Path]:
    """Where the files to look at are, for each run that has any."""
    records = [record for result in results for record in result.runs]
    return {r.run: runs / r.run / ARTIFACTS for r in records if r.artifacts}


def keep(result: StudyOutcome, runs: Path, out: Path) -> None:
    """Write the records to a file, and beside it the files to look at."""
    write(out, result.records)
    folders = artifacts_of(runs, [result])
    for record in result.runs:
        for name in record.artifacts:
            place = out.parent / ARTIFACTS / record.run / name
            copy_artifact(folders[record.run] / name, place)


def _seconds(study: Study, scale: str) -> float:
    return study.scale(scale).seconds or 1.0


@dataclass(frozen=True, slots=True)
class _Stage:
    """What became of some runs of a study.

    records       of all that ended, also by an error, by id
    without_data  a line for each dataset that is not there
    needed_data   those of them without which the study is not whole
    complaints    a line for each that should have a result and has none
    missing       those of these lines whose runs have no record
    """

    records: dict[str, RunRecord]
    without_data: list[str]
    needed_data: list[str]
    complaints: list[str]
    missing: list[str]


@dataclass(slots=True)
class _Running:
    studies: Sequence[Study]
    ruleset: Ruleset
    engine: Engine
    scale: str
    runs: Path
    bar: Bar
    datasets: "_Datasets" = field(default_factory=lambda: _Datasets())
    requested: dict[str, list[RunSpec]] = field(
        default_factory=dict[str, list[RunSpec]]
    )

    def stage(self, planned: Sequence[Sequence[PlannedRun]]) -> list[_Stage]:
        """Run these of each study, all of them at once."""
        able: list[list[PlannedRun]] = []
        left: dict[str, set[str]] = {}  # of each study, the runs that have not ended
        owners: dict[str, list[Study]] = {}  # of each run
        for study, wanted in zip(self.studies, planned, strict=True):
            self._request(study, wanted)
            able.append([p for p in wanted if self._is_able(p.spec)])
            ids = left[study.name] = {p.spec.id for p in able[-1]}
            n_left_out = len(wanted) - len(ids)
            self.bar.advance(n_left_out * _seconds(study, self.scale))
            for run_id in ids:
                owners.setdefault(run_id, []).append(study)

        def progress(run_id: str, share: float) -> None:
            for study in owners[run_id]:
                self.bar.show(study.name)
                seconds = _seconds(study, self.scale)
                self.bar.share(f"{study.name} {run_id}", share, seconds)

        def ended(outcome: Outcome) -> None:
            for study in owners[outcome.spec.id]:
                left[study.name].discard(outcome.spec.id)
                if not left[study.name]:
                    self.bar.finish_part(study.name)

        outcomes: list[Outcome] = []
        if owners:  # else there is nothing to run in this stage
            outcomes = execute(
                [p.spec for some in able for p in some],
                self.runs,
                engine=self.engine,
                studies={run_id: those[0].name for run_id, those in owners.items()},
                on_progress=progress,
                on_end=ended,
            )
        return [
            self._result(study, some, wanted, outcomes)
            for study, some, wanted in zip(self.studies, able, planned, strict=True)
        ]

    def _request(self, study: Study, planned: Sequence[PlannedRun]) -> None:
        self.bar.show(study.name)
        specs = self.requested.setdefault(study.name, [])
        specs += [p.spec for p in planned]
        if planned:
            wanted = list_runs(study, self.scale, self.ruleset, specs)
            run_lists.write(self.runs, wanted)

    def _is_able(self, spec: RunSpec) -> bool:
        """Is it done, or are its data there?"""
        try:
            is_done = Store(self.runs).finished(spec)
        except DamagedError:  # which its outcome will say
            is_done = True
        return is_done or self.datasets.has(dataset_of(spec))

    def _result(
        self,
        study: Study,
        able: Sequence[PlannedRun],
        planned: Sequence[PlannedRun],
        outcomes: Iterable[Outcome],
    ) -> _Stage:
        ours: dict[str, PlannedRun] = {}
        for plan in able:
            ours.setdefault(plan.spec.id, plan)
        records: dict[str, RunRecord] = {}
        complaints = {
            o.spec.id: f"{o.spec.optimizer} {o.spec.settings} seed {o.spec.seed}: "
            f"{o.message or o.status.message}"
            for o in outcomes
            if o.spec.id in ours and not o.status.is_result
        }
        for run_id, plan in ours.items():
            folder = Store(self.runs).folder(plan.spec)
            try:
                if folder.status() in (None, RunStatus.INTERRUPTED):
                    continue
                records[run_id] = folder.record(
                    study=study.name,
                    scale=self.scale,
                    study_settings=plan.study_settings,
                    ruleset=self.ruleset.name,
                )
            except DamagedError as error:
                complaints[run_id] = str(error)
        unable = [p for p in planned if p.spec.id not in ours]
        without = self.datasets.missing_for([p.spec for p in unable])
        is_needed = not all(p.optional for p in unable)
        needed = without if is_needed else []
        return _Stage(
            records,
            without,
            needed,
            complaints=[*complaints.values(), *needed],
            missing=[*without, *(c for r, c in complaints.items() if r not in records)],
        )


@dataclass(slots=True)
class _Datasets:
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

    def missing_for(self, specs: Iterable[RunSpec]) -> list[str]:
        """A line for each dataset that these runs need."""
        needed = Counter(dataset_of(spec) for spec in specs)
        return [
            f"{n} runs on {name}: {self._errors[name]}"
            for name, n in needed.items()
            if name is not None
        ]
