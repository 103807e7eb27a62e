"""Run studies: the one way, for `bench study` and `reproduce`, by any engine.

The same workers do all studies: no core waits for the last run of a study, and none
imports torch or hashes a dataset twice.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from acprop.bench.engines import Engine
from acprop.bench.execute import Outcome, execute
from acprop.bench.run_files import DamagedError
from acprop.bench.spec import RunSpec
from acprop.bench.status import RunList, requested
from acprop.bench.store import Store
from acprop.bench.studies import PlannedRun, Study
from acprop.bench.tasks import dataset_of
from acprop.progress import Bar
from acprop.records import Record, RunRecord, RunStatus, StudyRecord, read, write
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
    driver = _Driver(ruleset, engine, scale, runs, bar)
    tried = [_Stage(study, ruleset.trials(study, scale)) for study in studies]
    driver.carry_out(tried)
    finals = [ruleset.finals(stage.study, scale, stage.records) for stage in tried]
    ended = [
        _Stage(trials.study, final.runs, before=trials.planned)
        for trials, final in zip(tried, finals, strict=True)
    ]
    driver.carry_out(ended)
    outcomes: list[StudyOutcome] = []
    for trials, final, stage in zip(tried, finals, ended, strict=True):
        lost = [e for r, e in stage.errors.items() if r not in stage.records]
        missing = [*trials.without_data, *stage.without_data, *lost]
        record = stage.study.record(scale, list(stage.records), missing)
        records = {**stage.records, **trials.records}
        complaints = [*trials.needed_data, *stage.errors.values()]
        complaints += stage.needed_data
        outcomes.append(
            StudyOutcome(
                replace(record, **final.about), list(records.values()), complaints
            )
        )
    return outcomes


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
    seconds, wanted = study.scale(scale).seconds, requested(specs)
    return RunList(study.name, scale, ruleset.name, seconds, wanted)


def artifacts_of(runs: Path, results: Sequence[StudyOutcome]) -> dict[str, Path]:
    """Where the files to look at are, for each run that has any."""
    records = [record for result in results for record in result.runs]
    return {r.run: runs / r.run / ARTIFACTS for r in records if r.artifacts}


def restore(runs: Path, out: Path) -> None:
    """Take over the results that a file of records holds, if there is such a file."""
    store = Store(runs)
    store.check()
    for record in read(out) if out.exists() else ():
        if isinstance(record, RunRecord):
            store.restore(record, out.parent / ARTIFACTS)


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


@dataclass(slots=True)
class _Stage:
    """Some runs of a study, and what became of them.

    before        what the study requested in the stage before
    able          those that can be run, by id
    records       of all that ended, also by an error
    errors        a line for each that should have a result and has none
    without_data  a line for each dataset that is not there
    """

    study: Study
    planned: Sequence[PlannedRun]
    before: Sequence[PlannedRun] = ()
    able: dict[str, PlannedRun] = field(default_factory=dict[str, PlannedRun])
    records: dict[str, RunRecord] = field(default_factory=dict[str, RunRecord])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    without_data: list[str] = field(default_factory=list[str])

    @property
    def unable(self) -> list[PlannedRun]:
        return [plan for plan in self.planned if plan.spec.id not in self.able]

    @property
    def needed_data(self) -> list[str]:
        """Datasets without which the study is not whole."""
        is_whole = all(plan.optional for plan in self.unable)
        return [] if is_whole else self.without_data


class _Driver:
    """Carries out stages of studies; each dataset is fetched once."""

    def __init__(
        self, ruleset: Ruleset, engine: Engine, scale: str, runs: Path, bar: Bar
    ) -> None:
        self.ruleset, self.engine, self.scale = ruleset, engine, scale
        self.runs, self.bar = runs, bar
        self.why_missing = cache(_why_missing)

    def carry_out(self, stages: Sequence[_Stage]) -> None:
        """Run a stage of each study, all of them at once."""
        for stage in stages:
            self._request(stage)
        left = {stage.study.name: set(stage.able) for stage in stages}
        owners = {
            run: [stage.study for stage in stages if run in stage.able]
            for stage in stages
            for run in stage.able
        }

        def progress(run: str, share: float) -> None:
            for study in owners[run]:
                self.bar.show(study.name)
                seconds = _seconds(study, self.scale)
                self.bar.share(f"{study.name} {run}", share, seconds)

        def ended(outcome: Outcome) -> None:
            for study in owners[outcome.spec.id]:
                left[study.name].discard(outcome.spec.id)
                if not left[study.name]:
                    self.bar.finish_part(study.name)

        outcomes: list[Outcome] = []
        if owners:  # else there is nothing to run in this stage
            outcomes = execute(
                [plan.spec for stage in stages for plan in stage.able.values()],
                self.runs,
                engine=self.engine,
                studies={run: those[0].name for run, those in owners.items()},
                on_progress=progress,
                on_end=ended,
            )
        for stage in stages:
            self._collect(stage, outcomes)

    def _request(self, stage: _Stage) -> None:
        """Note which runs the study wants, and find out which can be run."""
        self.bar.show(stage.study.name)
        if stage.planned:
            specs = [plan.spec for plan in (*stage.before, *stage.planned)]
            list_runs(stage.study, self.scale, self.ruleset, specs).write(self.runs)
        for plan in stage.planned:
            if self._is_able(plan.spec):
                stage.able.setdefault(plan.spec.id, plan)
        n_left_out = len(stage.planned) - len(stage.able)
        self.bar.advance(n_left_out * _seconds(stage.study, self.scale))
        datasets = Counter(dataset_of(plan.spec) for plan in stage.unable)
        stage.without_data = [
            f"{n} runs on {name}: {self.why_missing(name)}"
            for name, n in datasets.items()
        ]

    def _is_able(self, spec: RunSpec) -> bool:
        """Is it done, or are its data there?"""
        try:
            is_done = Store(self.runs).finished(spec)
        except DamagedError:  # which its outcome will say
            is_done = True
        return is_done or not self.why_missing(dataset_of(spec))

    def _collect(self, stage: _Stage, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            spec, status = outcome.spec, outcome.status
            if spec.id in stage.able and not status.is_result:
                stage.errors[spec.id] = (
                    f"{spec.optimizer} {spec.settings} seed {spec.seed}: "
                    f"{outcome.message or status.message}"
                )
        for run, plan in stage.able.items():
            folder = Store(self.runs).folder(plan.spec)
            try:
                if folder.status() not in (None, RunStatus.INTERRUPTED):
                    stage.records[run] = folder.record(
                        study=stage.study.name,
                        scale=self.scale,
                        study_settings=plan.study_settings,
                        ruleset=self.ruleset.name,
                    )
            except DamagedError as error:
                stage.errors[run] = str(error)


def _why_missing(dataset: str | None) -> str:
    """Fetch it if needed; why that fails. A run that needs no dataset has None."""
    if dataset is not None:
        try:
            fetch(dataset, progress=False)
        except (DataError, ValueError, OSError) as error:
            return str(error)
    return ""
