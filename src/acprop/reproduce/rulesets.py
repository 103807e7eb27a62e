"""Who chooses the settings that a study compares: three rulesets, as values.

    paper    the arms and grids that the study wrote down
    default  each candidate as its library makes it if given nothing, one shot
    tuned    each candidate at the best of equally many trials, on fresh seeds

A study is run in two stages: the trials by which settings are chosen (tuned alone has
any), then the final runs, which are shown.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from acprop import checks
from acprop.bench.candidates import Candidate, candidates, grid_candidates
from acprop.bench.spaces import SOBOL, Spaces, read_spaces, sobol
from acprop.bench.studies import PlannedRun, Study, study_folder
from acprop.checks import UserError
from acprop.metrics import primary_metric
from acprop.plain import Plain
from acprop.records import RULESETS, RunRecord, TrialRuns
from acprop.records import Ruleset as RulesetName
from acprop.report.selection import trial_results, winner


@dataclass(frozen=True, slots=True)
class FinalRuns:
    """The runs that a study shows.

    about: how they were chosen, as the study's record says it.
    """

    runs: list[PlannedRun]
    about: dict[str, Any] = field(default_factory=dict[str, Any])


class Ruleset(ABC):
    """How settings are chosen; it refuses a study before anything is run."""

    name: ClassVar[RulesetName]
    space: str | None = None  # of studies/spaces; None is what the scale says

    def trials(self, study: Study, scale: str) -> list[PlannedRun]:
        """Runs by which settings are chosen; none, unless we search."""
        study.scale(scale)
        return []

    @abstractmethod
    def finals(
        self, study: Study, scale: str, tried: Mapping[str, RunRecord]
    ) -> FinalRuns:
        """The runs to show. tried: what became of the trials, by id."""

    def n_finals(self, study: Study, scale: str) -> int:
        """How many runs there will be to show."""
        return len(self.finals(study, scale, {}).runs)

    def spaces(self, study: Study, scale: str) -> Spaces:
        """Where candidates may be searched."""
        name = self.space or study.scale(scale).tuning.space
        return read_spaces(study_folder().root, name)

    def candidates(self, study: Study, scale: str) -> list[Candidate]:
        """Who is compared."""
        return candidates(study, scale, self.spaces(study, scale))

    def runs_of(
        self,
        study: Study,
        scale: str,
        chosen: Sequence[tuple[Candidate, Plain]],
        tuning: Plain | None = None,
    ) -> FinalRuns:
        """Candidates with their settings, on the same seeds for everyone."""
        seeds = study.scale(scale).seeds
        by_name = {c.name: c.runs(study, scale, given, seeds) for c, given in chosen}
        is_grid = study.scale(scale).tuning.search == "grid"
        about: dict[str, Any] = {
            "shows": study.shows if study.shows == "effects" else "curves",
            # What a search over grids leaves as it is, such as a dial.
            "axes": tuple(study.axes) if is_grid and tuning else (),
            "ruleset": self.name,
            "contestants": {n: [r.spec.id for r in own] for n, own in by_name.items()},
            "tuning": tuning or {},
        }
        runs = [run for own in by_name.values() for run in own]
        return FinalRuns(runs, about)


class PaperRuleset(Ruleset):
    """The settings that the study wrote down."""

    name = "paper"

    def finals(
        self, study: Study, scale: str, tried: Mapping[str, RunRecord]
    ) -> FinalRuns:
        del tried
        return FinalRuns(study.planned(scale))


class DefaultRuleset(Ruleset):
    """Every candidate as published, on the scale's own seeds."""

    name = "default"

    def finals(
        self, study: Study, scale: str, tried: Mapping[str, RunRecord]
    ) -> FinalRuns:
        del tried
        who = self.candidates(study, scale)
        return self.runs_of(study, scale, [(c, c.default_settings()) for c in who])


@dataclass(frozen=True)
class TunedRuleset(Ruleset):
    """The best of equally many trials. n_trials, space: None is what the scale says."""

    n_trials: int | None = None
    space: str | None = None
    name = "tuned"

    def __post_init__(self) -> None:
        if self.n_trials is not None:
            checks.integer("trials", self.n_trials)

    def trials(self, study: Study, scale: str) -> list[PlannedRun]:
        return [run for _, runs in self.search(study, scale) for run in runs]

    def n_finals(self, study: Study, scale: str) -> int:
        return len(self.candidates(study, scale)) * len(study.scale(scale).seeds)

    def candidates(self, study: Study, scale: str) -> list[Candidate]:
        if study.scale(scale).tuning.search == "sobol":
            return super().candidates(study, scale)
        for option, value in (("trials", self.n_trials), ("space", self.space)):
            if value is not None:
                raise UserError(
                    f"{option} must come with a study that has Sobol points, "
                    f"got {study.name} at {scale}, which searches grids"
                )
        return grid_candidates(study, scale)

    def points(self, study: Study, scale: str) -> list[tuple[Candidate, list[Plain]]]:
        """What each candidate is tried with: equally many settings."""
        who = self.candidates(study, scale)
        made = sobol(self.n_trials or study.scale(scale).tuning.trials)
        found = [
            (
                c,
                [c.space.point(point) for point in made]
                if c.space is not None
                else study.grid(scale, c.arm),
            )
            for c in who
        ]
        counts = {c.name: len(settings) for c, settings in found}
        if len(set(counts.values())) > 1:
            raise UserError(
                f"grid must have equally many points for every arm, got {counts}"
            )
        return found

    def search(
        self, study: Study, scale: str
    ) -> list[tuple[TrialRuns, list[PlannedRun]]]:
        """Every candidate's points, on the seeds of tuning.

        All candidates at their first point, then at the second, …
        """
        seeds = study.scale(scale).tuning.seeds
        found: list[tuple[int, TrialRuns, list[PlannedRun]]] = []
        for candidate, points in self.points(study, scale):
            for number, settings in enumerate(points):
                runs = candidate.runs(study, scale, settings, seeds)
                trial: TrialRuns = {
                    "contestant": candidate.name,
                    "number": number,
                    "settings": settings,
                    "runs": [run.spec.id for run in runs],
                }
                found.append((number, trial, runs))
        found.sort(key=lambda each: each[0])
        return [(trial, runs) for _, trial, runs in found]

    def finals(
        self, study: Study, scale: str, tried: Mapping[str, RunRecord]
    ) -> FinalRuns:
        """The winners by validation, on the scale's own seeds, which are fresh."""
        trials = [trial for trial, _ in self.search(study, scale)]
        metric = _validation_metric(list(tried.values()))
        results = trial_results(trials, tried, metric)
        winners: dict[str, int | None] = {}
        chosen: list[tuple[Candidate, Plain]] = []
        for candidate in self.candidates(study, scale):
            own = [r for r in results if r.contestant == candidate.name]
            best = winner(own, metric)
            winners[candidate.name] = None if best is None else best.number
            # Of one that failed in every trial, failing on fresh seeds is the result.
            chosen.append((candidate, (best or own[0]).settings))
        tuning = {
            **self._design(study, scale),
            "metric": metric,
            "seeds": study.scale(scale).tuning.seeds,
            "n_trials": len(trials) // max(1, len(winners)),
            "winners": winners,
            "trials": trials,
        }
        return self.runs_of(study, scale, chosen, tuning)

    def _design(self, study: Study, scale: str) -> Plain:
        """Where the points come from, as the record tells it."""
        if study.scale(scale).tuning.search == "grid":
            return {"search": "grid"}
        spaces = self.spaces(study, scale)
        return {
            "search": "sobol",
            "design": SOBOL,
            "space": spaces.name,
            "space_sha256": spaces.digest,
        }


def ruleset_of(
    name: str, *, trials: int | None = None, space: str | None = None
) -> Ruleset:
    """A ruleset by its name. trials, space: of tuned alone."""
    checks.one_of("ruleset", name, RULESETS)
    if name == "tuned":
        return TunedRuleset(trials, space)
    for option, value in (("trials", trials), ("space", space)):
        if value is not None:
            raise UserError(f"{option} must come with the ruleset tuned, got {name}")
    return PaperRuleset() if name == "paper" else DefaultRuleset()


def _validation_metric(runs: Sequence[RunRecord]) -> str:
    """What decides between trials."""
    names = {name for run in runs for entry in run.history[-1:] for name in entry}
    found = primary_metric(names, "val")
    if names and found not in names:
        raise UserError(
            "runs must have a validation metric, val_…, to choose settings by, got "
            "none; set n_validation in the study's task_settings"
        )
    return found
