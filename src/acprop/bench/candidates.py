"""Which optimizers a study compares by the rulesets default and tuned.

A candidate is an optimizer of the study, in a variant of it. Arms that differ only in
what is searched are one candidate; what a space neither searches nor fixes tells them
apart, such as the convention of ACProp. Where each arm is searched over its own grid,
every arm is a candidate.
"""

from dataclasses import dataclass

from acprop.bench.optimizers import find
from acprop.bench.spaces import Space, Spaces
from acprop.bench.studies import PlannedRun, Study, StudyArm
from acprop.checks import UserError
from acprop.plain import Plain, canonical

# Never a variant: a ruleset chooses it, or it does nothing without one that is chosen.
_CHOSEN = {"lr", "weight_decay", "decoupled", "eps", "beta1", "beta2", "betas"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """name: its optimizer, and what tells it from others of the same optimizer.

    arm: the first of its arms. variant: what all of its runs have in common.
    space: where it is searched, unless that is the arm's own grid.
    """

    name: str
    arm: StudyArm
    variant: Plain
    space: Space | None = None

    def default_settings(self) -> Plain:
        """What its library takes if given nothing, but for the variant."""
        return {**find(self.arm.optimizer).published, **self.variant}

    def runs(
        self, study: Study, scale: str, settings: Plain, seeds: list[int]
    ) -> list[PlannedRun]:
        """One run for each seed."""
        return study.runs(scale, self.arm, {**self.variant, **settings}, seeds)


def candidates(study: Study, scale: str, spaces: Spaces) -> list[Candidate]:
    """Those of the arms that take part at this scale, in their order."""
    found: dict[str, Candidate] = {}
    for arm, settings in study.points(scale):
        space = spaces.of(arm.optimizer, settings)
        chosen = _CHOSEN | space.searched() | set(space.fixed)
        variant = {k: v for k, v in settings.items() if k not in chosen}
        own = {**variant, **arm.task_settings}
        name = " ".join([arm.optimizer, *(f"{k}={v}" for k, v in own.items())])
        key = canonical([arm.optimizer, variant, arm.task_settings])
        found.setdefault(key, Candidate(name, arm, variant, space))
    return list(found.values())


def grid_candidates(study: Study, scale: str) -> list[Candidate]:
    """Every arm that takes part; what all arms of an optimizer share is not named."""
    arms = study.arms_at(scale)
    found: dict[str, Candidate] = {}
    for arm in arms:
        own = {**arm.settings, **arm.task_settings}
        others = [
            {**a.settings, **a.task_settings}
            for a in arms
            if a.optimizer == arm.optimizer
        ]
        apart = {k: v for k, v in own.items() if any(o.get(k) != v for o in others)}
        name = " ".join([arm.optimizer, *(f"{k}={v}" for k, v in apart.items())])
        if name in found:
            raise UserError(
                f"arms must differ in more than their grids, got {name} twice"
            )
        found[name] = Candidate(name, arm, arm.settings)
    return list(found.values())
