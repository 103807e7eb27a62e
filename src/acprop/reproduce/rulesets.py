"""Run a study by the ruleset "default" or "tuned": search, final runs, records."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acprop.bench import rosters
from acprop.bench.engines import Engine, LocalEngine
from acprop.bench.execute import Outcome, execute
from acprop.bench.rosters import Roster
from acprop.bench.rulesets import default_runs
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import PlannedRun, Study
from acprop.plain import Plain
from acprop.progress import Bar
from acprop.report.selection import winner
from acprop.reproduce.clock import Clock
from acprop.reproduce.contest import Contest, Rules, contest_of
from acprop.reproduce.halving import Pace, seconds_in
from acprop.reproduce.plans import final_seconds, ladder_of, trial_pace
from acprop.reproduce.search import Searched, climb, search
from acprop.reproduce.studies import StudyResult, roster_of, run_study


def run_by(
    rules: Rules,
    study: Study,
    scale: str,
    runs: Path,
    *,
    jobs: int | None,
    engine: Engine | None = None,
    quiet: bool = False,
) -> StudyResult:
    """Run a study by its rules; each run fetches its own data.

    engine: where; by default `jobs` processes here.
    """
    if rules.ruleset == "paper":
        return run_study(study, scale, runs, jobs=jobs, engine=engine, quiet=quiet)
    with Bar(study.name, quiet=quiet) as bar:
        empty = roster_of(study, scale, rules.ruleset, [])
        runner = _Running(empty, runs, engine or LocalEngine(jobs), bar)
        contest = contest_of(study, scale, rules, runs, runner)
        bar.set(study.name, 0, _n_runs(contest))
        if rules.ruleset == "default":
            return run_default(contest)
        return run_tuned(contest, rules, jobs)


@dataclass(slots=True)
class _Running:
    """Runs by one engine, with one bar for all stages. roster: all asked for so far."""

    roster: Roster
    runs: Path
    engine: Engine
    bar: Bar

    def __call__(
        self, specs: Sequence[RunSpec], *, until_epoch: int | None = None
    ) -> list[Outcome]:
        Store(self.runs).check()
        known = {one.run: one for one in self.roster.runs}
        known |= {one.run: one for one in rosters.asked(specs)}
        self.roster = replace(self.roster, runs=tuple(known.values()))
        rosters.write(self.runs, self.roster)
        return execute(
            specs,
            self.runs,
            engine=self.engine,
            studies={spec.id: self.roster.study for spec in specs},
            until_epoch=until_epoch,
            on_progress=self.bar.share,
        )


def _n_runs(contest: Contest) -> int:
    """All that there will be, about: a budget may leave some out."""
    n_seeds = len(contest.study.scale(contest.scale).seeds)
    tuned = contest.n_trials * len(contest.tuning_seeds)
    each = n_seeds + (tuned if contest.ruleset == "tuned" else 0)
    return each * len(contest.contestants)


def run_default(contest: Contest) -> StudyResult:
    """Every contestant as published, one shot."""
    planned = default_runs(contest.study, contest.scale, list(contest.contestants))
    return _finish(contest, _by_contestant(contest, planned), [], {})


def run_tuned(contest: Contest, rules: Rules, jobs: int | None) -> StudyResult:
    """Search, choose by validation, run the winners again on fresh seeds."""
    searched = _search(contest, rules, jobs)
    metric, results = contest.results(searched.trials)
    winners: dict[str, int | None] = {}
    finals: dict[str, list[PlannedRun]] = {}
    for who in contest.contestants:
        best = winner([r for r in results if r.contestant == who.name], metric)
        winners[who.name] = None if best is None else best.number
        if best is not None:
            finals[who.name] = contest.final_runs(who.name, best.settings)
    trials = [run for trial in searched.trials for run in contest.trial_runs(trial)]
    tuning = {
        "search": rules.search,
        "design": searched.design,
        "space": contest.spaces.name,
        "space_sha256": contest.spaces.digest,
        "metric": metric,
        "seeds": contest.tuning_seeds,
        "n_trials": searched.ladder[0].trials,
        "budget": rules.budget,
        "rungs": [[rung.epochs, rung.trials] for rung in searched.ladder],
        "left_out": list(searched.left_out),
        "winners": winners,
        "trials": [contest.plain(trial) for trial in searched.trials],
    }
    return _finish(contest, finals, trials, tuning)


def _search(contest: Contest, rules: Rules, jobs: int | None) -> Searched:
    if rules.search == "tpe":
        from acprop.reproduce import tpe  # optuna: not before it is asked for

        return tpe.search(contest, rules.storage)
    if rules.budget is None:
        return search(contest)
    n_jobs = jobs or os.cpu_count() or 1
    clock = Clock(contest.runs, contest.study.scale(contest.scale).seconds)
    ladder = ladder_of(contest, rules, clock, n_jobs)
    one = trial_pace(contest, clock)
    pace = Pace(one.start / n_jobs, one.epoch / n_jobs)
    budget = seconds_in(rules.budget) - final_seconds(contest, clock) / n_jobs
    return climb(contest, ladder, budget, pace)


def _by_contestant(
    contest: Contest, planned: Sequence[PlannedRun]
) -> dict[str, list[PlannedRun]]:
    n = len(contest.study.scale(contest.scale).seeds)
    return {
        who.name: list(planned[i * n : (i + 1) * n])
        for i, who in enumerate(contest.contestants)
    }


def _finish(
    contest: Contest,
    finals: dict[str, list[PlannedRun]],
    trials: Sequence[PlannedRun],
    tuning: Plain,
) -> StudyResult:
    """Run the finals; put records and complaints together."""
    planned = [run for runs in finals.values() for run in runs]
    outcomes = contest.runner([run.spec for run in planned])
    records = contest.records([*planned, *trials])
    complaints = [
        f"{o.spec.optimizer} {o.spec.settings} seed {o.spec.seed}: "
        f"{o.message or o.status.message}"
        for o in outcomes
        if not o.status.is_result
    ]
    lost = [
        f"{who.name}: no trial of it came to its end, so there is nothing to run again"
        for who in contest.contestants
        if who.name not in finals
    ]
    study = contest.study.record(
        contest.scale, list(dict.fromkeys(run.spec.id for run in planned)), lost
    )
    by_name = {n: [run.spec.id for run in runs] for n, runs in finals.items()}
    shown = replace(
        study,
        shows="curves",
        axes=(),
        ruleset=contest.ruleset,
        contestants=by_name,
        tuning=tuning,
    )
    return StudyResult(shown, records, [*complaints, *lost])
