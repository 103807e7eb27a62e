"""What a study would cost, before it is run: runs, minutes, disk."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acprop.bench.execute import Outcome
from acprop.bench.rulesets import default_runs
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import Study
from acprop.records import Ruleset
from acprop.reproduce.clock import START, Clock
from acprop.reproduce.contest import Contest, Rules, contest_of
from acprop.reproduce.halving import (
    Ladder,
    Pace,
    Rung,
    fit,
    left_out,
    seconds_in,
)
from acprop.reproduce.search import sobol_trials

_BYTES = 4096, 400  # of a run's files without checkpoint, and of a line of metrics


@dataclass(frozen=True, slots=True)
class Stage:
    """Runs that are alike. minutes: of those that are not done, on one core."""

    name: str
    runs: int
    done: int
    epochs: int
    minutes: float


@dataclass(frozen=True, slots=True)
class Plan:
    """minutes: with so many jobs at once. sources: where they come from, in words."""

    study: str
    scale: str
    ruleset: Ruleset
    stages: tuple[Stage, ...]
    jobs: int
    minutes: float
    disk_bytes: int
    sources: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def stage(name: str, specs: Sequence[RunSpec], clock: Clock, epochs: int) -> Stage:
    """What is left of these runs, trained from the beginning to this epoch."""
    unique = list({spec.id: spec for spec in specs}.values())
    store = Store(clock.runs)
    left = [spec for spec in unique if not store.finished(spec)]
    seconds = sum(START + epochs * clock.epoch_seconds(spec) for spec in left)
    return Stage(name, len(unique), len(unique) - len(left), epochs, seconds / 60)


def disk(specs: Sequence[RunSpec], clock: Clock, at_once: int) -> int:
    """Bytes of all runs, and of the checkpoints that lie there at the same time."""
    unique = list({spec.id: spec for spec in specs}.values())
    plain = sum(_BYTES[0] + _BYTES[1] * spec.epochs for spec in unique)
    sizes = sorted((clock.checkpoint_bytes(spec) for spec in unique), reverse=True)
    return plain + sum(sizes[:at_once])


def plan_of(
    study: Study, scale: str, rules: Rules, runs: Path, jobs: int | None
) -> Plan:
    """What would be run, and what it would cost; nothing is written."""
    n_jobs = jobs or os.cpu_count() or 1
    clock = Clock(runs, study.scale(scale).seconds)
    if rules.ruleset == "paper":
        specs = [planned.spec for planned in study.planned(scale)]
        clock.learn(specs)
        stages = [stage("runs", specs, clock, study.scale(scale).epochs)]
        return _plan(
            study, scale, rules, stages, disk(specs, clock, n_jobs), clock, n_jobs
        )
    contest = contest_of(study, scale, rules, runs, _nobody)
    if rules.ruleset == "default":
        planned = default_runs(study, scale, list(contest.contestants))
        specs = [run.spec for run in planned]
        clock.learn(specs)
        stages = [stage("runs", specs, clock, contest.epochs)]
        return _plan(
            study, scale, rules, stages, disk(specs, clock, n_jobs), clock, n_jobs
        )
    return _tuned_plan(contest, rules, clock, n_jobs)


def _tuned_plan(contest: Contest, rules: Rules, clock: Clock, n_jobs: int) -> Plan:
    ladder = ladder_of(contest, rules, clock, n_jobs)
    trials = sobol_trials(contest, ladder[0].trials)
    specs = [run.spec for trial in trials for run in contest.trial_runs(trial)]
    stages: list[Stage] = []
    before = 0
    for rung in ladder:
        n = rung.trials * len(contest.contestants) * len(contest.tuning_seeds)
        name = f"trials to epoch {rung.epochs} of {contest.epochs}"
        made = stage(name, specs[:n], clock, rung.epochs - before)
        stages.append(replace(made, epochs=rung.epochs))
        before = rung.epochs
    finals = [
        run.spec
        for who in contest.contestants
        for run in contest.final_runs(who.name, who.default_settings())
    ]
    last = stage("winners on fresh seeds", finals, clock, contest.epochs)
    stages.append(replace(last, done=0))  # who wins is not known yet
    paused = len(specs) if len(ladder) > 1 else n_jobs
    words = left_out(ladder, contest.n_trials, contest.epochs, len(contest.contestants))
    size = disk([*specs, *finals], clock, paused)
    made = _plan(contest.study, contest.scale, rules, stages, size, clock, n_jobs)
    return replace(made, left_out=tuple(words))


def _plan(
    study: Study,
    scale: str,
    rules: Rules,
    stages: Sequence[Stage],
    size: int,
    clock: Clock,
    n_jobs: int,
) -> Plan:
    minutes = sum(one.minutes for one in stages) / n_jobs
    return Plan(
        study.name,
        scale,
        rules.ruleset,
        tuple(stages),
        n_jobs,
        minutes,
        size,
        clock.sources(),
    )


def _nobody(
    specs: Sequence[RunSpec], *, until_epoch: int | None = None
) -> list[Outcome]:
    raise RuntimeError(f"a plan runs nothing, got {len(specs)} runs, {until_epoch}")


def ladder_of(contest: Contest, rules: Rules, clock: Clock, n_jobs: int) -> Ladder:
    """One rung without a budget; else what fits, besides the final runs."""
    trials = sobol_trials(contest, contest.n_trials)
    clock.learn(run.spec for trial in trials for run in contest.trial_runs(trial))
    if rules.budget is None:
        return (Rung(contest.epochs, contest.n_trials),)
    left = seconds_in(rules.budget) * n_jobs - final_seconds(contest, clock)
    pace = trial_pace(contest, clock)
    return fit(contest.n_trials, contest.epochs, pace, left)


def trial_pace(contest: Contest, clock: Clock) -> Pace:
    """Of one trial of every contestant on all seeds, on one core."""
    first = sobol_trials(contest, 1)
    specs = [run.spec for trial in first for run in contest.trial_runs(trial)]
    return Pace(
        start=START * len(specs),
        epoch=sum(clock.epoch_seconds(spec) for spec in specs),
    )


def final_seconds(contest: Contest, clock: Clock) -> float:
    """Of the winners' runs, on one core."""
    return sum(
        START + contest.epochs * clock.epoch_seconds(run.spec)
        for who in contest.contestants
        for run in contest.final_runs(who.name, who.default_settings())
    )
