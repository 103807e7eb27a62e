"""The worst step after a past that taught the denominator nothing.

A hazard is a stream of gradients: some that are quiet, then some that are loud. What is
reported is the largest |d_t|, that is |step|/lr, while it is loud. A rule is anything
that takes a state and a gradient and returns the new state and the direction, its first
state being None: see `of_reference`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP, Convention, Rule

Array = Any
# (state or None, g, β1) -> (state, d)
Step = Callable[[Any, Array, float], tuple[Any, Array]]

SEED = 0
N_LOUD = 30
SPIKE, SPIKE_AT, SPIKE_LR = 1e4, 1000, 1e-2


def of_reference(convention: Convention, rule: Rule = ACPROP, **numbers: Any) -> Step:
    """The numpy reference as a rule; `numbers` are other fields of its `Hyper`."""

    def advance(state: State | None, g: Array, beta1: float) -> tuple[State, Array]:
        h = Hyper(beta1=beta1, **numbers)
        return step(rule, convention, state or State(), g, h)

    return advance


class Hazard(NamedTuple):
    """gradients: [t, element]; loud: the first step that counts, from 0."""

    definition: str
    gradients: Array
    loud: int = 0
    beta1: float = 0.9


def hazards() -> dict[str, Hazard]:
    rng = np.random.default_rng(SEED)
    ones, signs = np.ones(N_LOUD), rng.choice([-1.0, 1.0], size=N_LOUD)
    normal = rng.standard_normal((1000, 20))
    spiked = normal * np.where(np.arange(1000) == 500, SPIKE, 1.0)[:, None]

    def one(*parts: Array) -> Array:
        return np.concatenate(parts)[:, None]

    return {
        "zero first": Hazard("one zero, then ±1", one([0.0], signs), 1),
        "silent start": Hazard("777 zeros, then 1", one(np.zeros(777), ones), 777),
        "silent later": Hazard(
            "10 times ±1, 5000 zeros, then 1",
            one(signs[:10], np.zeros(5000), ones),
            5010,
        ),
        "β1 = 0": Hazard(f"β1 = 0, {N_LOUD} times ±1", one(signs), beta1=0.0),
        "constant": Hazard("3000 times 1, then -1", one(np.ones(3000), -ones), 3000),
        "embedding": Hazard(
            "1000 rows, of which 32 are drawn at each of 2000 steps, row i with a "
            "probability that falls as 1/i, with a standard normal gradient",
            embedding(),
        ),
        "loss × 1e8": Hazard(
            "20 elements, 1000 standard normal gradients × 1e8", 1e8 * normal
        ),
        "spike": Hazard(
            f"20 elements, 1000 standard normal gradients, the 501st × {SPIKE:g}",
            spiked,
            500,
        ),
    }


def embedding(n_rows: int = 1000, n_steps: int = 2000, n_drawn: int = 32) -> Array:
    """Zipf's law: most rows are seldom seen."""
    rng = np.random.default_rng(SEED)
    chance = 1 / np.arange(1, n_rows + 1)
    rows = rng.choice(n_rows, size=(n_steps, n_drawn), p=chance / chance.sum())
    out = np.zeros((n_steps, n_rows))
    for t, drawn in enumerate(rows):
        np.add.at(out[t], drawn, rng.standard_normal(n_drawn))
    return out


def worst_step(advance: Step, hazard: Hazard) -> float:
    """max |d_t| of any element while it is loud."""
    state, worst = None, 0.0
    for t, g in enumerate(hazard.gradients):
        state, d = advance(state, g, hazard.beta1)
        if t >= hazard.loud:
            worst = max(worst, float(np.max(np.abs(d))))
    return worst


def spike_ratio(advance: Step) -> float | None:
    """Final loss of a noisy quadratic with one spike, over the final loss without.

    ½ Σ λ_i·x_i², 20 λ from 1e-3 to 1, gradient noise 0.1·√λ_i, from x_i = 1/√λ_i;
    2000 steps of 5 seeds; the loss is averaged over the last 100 steps. None if it
    ends above its start, 10, without a spike.
    """
    spiked, calm = (_final_loss(advance, at) for at in (SPIKE_AT, None))
    return spiked / calm if calm < 10 else None


def _final_loss(advance: Step, spike_at: int | None) -> float:
    rng = np.random.default_rng(1)
    curvature = np.geomspace(1e-3, 1, 20)
    x, state, losses = np.tile(curvature**-0.5, (5, 1)), None, []
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(2000):
            noise = rng.standard_normal(x.shape)
            g = curvature * x + 0.1 * np.sqrt(curvature) * noise
            state, d = advance(state, g * (SPIKE if t == spike_at else 1.0), 0.9)
            x = x - SPIKE_LR * d
            losses.append(np.mean(np.sum(curvature * x**2, axis=-1) / 2))
    return float(np.mean(losses[-100:]))
