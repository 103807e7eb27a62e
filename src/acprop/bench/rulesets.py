"""Who takes part in a comparison, and with which settings: the three rulesets.

    paper    the arms and grids that the study wrote down, as `Study.planned` says
    default  each contestant as its library makes it if told nothing, one shot
    tuned    each contestant at the best of equally many trials

A contestant is an optimizer of the study, in a variant of it. Arms that differ only in
what is searched are one contestant; what a space neither searches nor fixes tells them
apart, such as the convention of ACProp.
"""

from dataclasses import dataclass

from acprop.bench.optimizers import find
from acprop.bench.spaces import Space, Spaces
from acprop.bench.studies import PlannedRun, Study
from acprop.plain import Plain, canonical

# Never a variant: a ruleset chooses it, or it does nothing without one that is chosen.
_CHOSEN = {"lr", "weight_decay", "decoupled", "eps", "beta1", "beta2", "betas"}


@dataclass(frozen=True, slots=True)
class Contestant:
    """name: its optimizer, and what tells it from others of the same optimizer.

    task_settings: where its arm differs in the task itself.
    """

    name: str
    optimizer: str
    variant: Plain
    task_settings: Plain
    space: Space
    optional: bool

    def default_settings(self) -> Plain:
        """What its library takes if told nothing, but for the variant."""
        return {**find(self.optimizer).published, **self.variant}


@dataclass(frozen=True, slots=True)
class Trial:
    """One point of a contestant's space; number: from 0 on."""

    contestant: str
    number: int
    settings: Plain


def contestants(study: Study, scale: str, spaces: Spaces) -> list[Contestant]:
    """Those of the arms that take part at this scale, in their order."""
    found: dict[str, Contestant] = {}
    for arm, settings in study.points(scale):
        space = spaces.of(arm.optimizer, settings)
        chosen = _CHOSEN | space.searched() | set(space.fixed)
        variant = {k: v for k, v in settings.items() if k not in chosen}
        own = {**variant, **arm.task_settings}
        name = " ".join([arm.optimizer, *(f"{k}={v}" for k, v in own.items())])
        key = canonical([arm.optimizer, variant, arm.task_settings])
        found.setdefault(
            key,
            Contestant(
                name, arm.optimizer, variant, arm.task_settings, space, arm.optional
            ),
        )
    return list(found.values())


def runs_of(
    study: Study, scale: str, who: Contestant, settings: Plain, seeds: list[int]
) -> list[PlannedRun]:
    """One run for each seed."""
    given = {**who.variant, **settings}
    return [
        PlannedRun(
            study.spec(scale, who.optimizer, given, seed, **who.task_settings),
            {**given, **who.task_settings},
            who.optional,
        )
        for seed in seeds
    ]


def default_runs(study: Study, scale: str, who: list[Contestant]) -> list[PlannedRun]:
    """Every contestant as published, on the scale's seeds."""
    seeds = study.scale(scale).seeds
    return [
        run
        for one in who
        for run in runs_of(study, scale, one, one.default_settings(), seeds)
    ]
