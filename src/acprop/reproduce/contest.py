"""What a search and the final runs share: who takes part, and how runs are run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from acprop import checks
from acprop.bench.execute import Outcome
from acprop.bench.rulesets import Contestant, Trial, contestants, runs_of
from acprop.bench.spaces import Spaces, read_spaces
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import PlannedRun, Study, study_folder
from acprop.metrics import primary_metric
from acprop.plain import Plain
from acprop.records import RULESETS, Ruleset, RunRecord
from acprop.report.selection import TrialResult, trial_results
from acprop.reproduce.halving import seconds_in

SEARCHES = ("sobol", "tpe")


@dataclass(frozen=True, slots=True)
class Rules:
    """How settings are chosen.

    search: "sobol" or "tpe". storage: of Optuna, a database's url; None is a journal.
    trials, space: None is what the study's scale says. budget: as 30min.
    """

    ruleset: Ruleset = "paper"
    search: str = "sobol"
    storage: str | None = None
    trials: int | None = None
    space: str | None = None
    budget: str | None = None

    def __post_init__(self) -> None:
        checks.one_of("search", self.search, SEARCHES)
        if self.trials is not None:
            checks.whole("trials", self.trials)
        if self.budget is not None:
            seconds_in(self.budget)
        given = [
            name
            for name, value in (
                ("search", self.search != "sobol"),
                ("storage", self.storage),
                ("trials", self.trials),
                ("space", self.space),
                ("budget", self.budget),
            )
            if value
        ]
        if given and self.ruleset != "tuned":
            raise ValueError(
                f"{given[0]} must come with the ruleset tuned, got {self.ruleset}"
            )
        if self.storage is not None and self.search != "tpe":
            raise ValueError(f"storage must come with --search tpe, got {self.search}")
        if self.budget is not None and self.search == "tpe":
            raise ValueError(
                "budget must come with --search sobol, got tpe; give --trials instead"
            )


def rules_of(ruleset: str, *, search: str = "sobol", **more: Any) -> Rules:
    """Rules as the command line gives them, checked."""
    known: dict[str, Ruleset] = {name: name for name in RULESETS}
    return Rules(known[checks.one_of("ruleset", ruleset, RULESETS)], search, **more)


class Runner(Protocol):
    """Runs specs, by whatever engine; what is done already is not done again."""

    def __call__(
        self, specs: Sequence[RunSpec], *, until_epoch: int | None = None
    ) -> list[Outcome]: ...


@dataclass(frozen=True, slots=True)
class Contest:
    """A study at a scale, by the ruleset "default" or "tuned".

    runs: the store. n_trials: of each contestant.
    """

    study: Study
    scale: str
    ruleset: Ruleset
    contestants: tuple[Contestant, ...]
    spaces: Spaces
    runs: Path
    runner: Runner
    n_trials: int

    @property
    def epochs(self) -> int:
        """The length of every run."""
        return self.study.scale(self.scale).epochs

    @property
    def tuning_seeds(self) -> list[int]:
        """Seeds of trials, and of nothing else."""
        return self.study.scale(self.scale).tuning.seeds

    def contestant(self, name: str) -> Contestant:
        """The one of that name."""
        return next(who for who in self.contestants if who.name == name)

    def trial_runs(self, trial: Trial) -> list[PlannedRun]:
        """The runs of a trial."""
        who = self.contestant(trial.contestant)
        return runs_of(self.study, self.scale, who, trial.settings, self.tuning_seeds)

    def final_runs(self, name: str, settings: Plain) -> list[PlannedRun]:
        """The runs of a winner: on the scale's own seeds, the same for everyone."""
        seeds = self.study.scale(self.scale).seeds
        who = self.contestant(name)
        return runs_of(self.study, self.scale, who, settings, seeds)

    def plain(self, trial: Trial) -> Plain:
        """A trial as a record keeps it."""
        return {
            "contestant": trial.contestant,
            "number": trial.number,
            "settings": trial.settings,
            "runs": [planned.spec.id for planned in self.trial_runs(trial)],
        }

    def records(self, planned: Iterable[PlannedRun]) -> list[RunRecord]:
        """Of every run that was begun, also of one that is paused."""
        found: dict[str, RunRecord] = {}
        for run in planned:
            folder = Store(self.runs).folder(run.spec)
            if run.spec.id not in found and folder.status() is not None:
                found[run.spec.id] = folder.record(
                    study=self.study.name,
                    scale=self.scale,
                    study_settings=run.study_settings,
                    ruleset=self.ruleset,
                )
        return list(found.values())

    def results(
        self, trials: Sequence[Trial], *, epoch: int | None = None
    ) -> tuple[str, list[TrialResult]]:
        """The metric that decides, and what became of trials."""
        runs = self.records(run for trial in trials for run in self.trial_runs(trial))
        metric = _metric(runs)
        known = {run.run: run for run in runs}
        plain = [self.plain(trial) for trial in trials]
        return metric, trial_results(plain, known, metric, epoch=epoch)


def contest_of(
    study: Study, scale: str, rules: Rules, runs: Path, runner: Runner
) -> Contest:
    """Everything that can be refused is refused here, before anything is run."""
    tuning = study.scale(scale).tuning
    spaces = read_spaces(study_folder().root, rules.space or tuning.space)
    return Contest(
        study,
        scale,
        rules.ruleset,
        tuple(contestants(study, scale, spaces)),
        spaces,
        runs,
        runner,
        n_trials=rules.trials or tuning.trials,
    )


def _metric(runs: Sequence[RunRecord]) -> str:
    """What judges these runs on validation; also runs that are paused."""
    names = {name for run in runs for entry in run.history[-1:] for name in entry}
    found = primary_metric(names, "val")
    if names and found not in names:
        raise ValueError(
            "runs must have a validation metric, val_…, to choose settings by, got "
            "none; set n_validation in the study's task_settings"
        )
    return found
