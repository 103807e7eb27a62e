"""The worst step after a past that taught the denominator nothing.

A hazard is a stream of gradients: some that are quiet, then some that are loud. What is
reported is the largest |d_t|, that is |step|/lr, while it is loud.
"""

from typing import NamedTuple

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.methods import Method
from acprop.lab.steps import feed, iterate
from acprop.reference import Settings
from acprop.rule import Convention

SEED = 0
N_LOUD = 30
SPIKE, SPIKE_AT, SPIKE_LR = 1e4, 1001, 1e-2


class Hazard(NamedTuple):
    """gradients: [t, element]; n_quiet: so many of them do not count."""

    definition: str
    gradients: Floats
    n_quiet: int = 0
    beta1: float = 0.9


def hazards() -> dict[str, Hazard]:
    """All hazards by name; the same numbers at every call."""
    rng = np.random.default_rng(SEED)
    ones, signs = np.ones(N_LOUD), rng.choice([-1.0, 1.0], size=N_LOUD)
    normal = rng.standard_normal((1000, 20))
    spiked = normal * np.where(np.arange(1000) == 500, SPIKE, 1.0)[:, None]

    def one(*parts: Floats) -> Floats:
        return np.concatenate(parts)[:, None]

    return {
        "zero first": Hazard("one zero, then ±1", one(np.zeros(1), signs), 1),
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


def embedding(n_rows: int = 1000, n_steps: int = 2000, n_drawn: int = 32) -> Floats:
    """Gradients of rows that follow Zipf's law: most are seldom seen."""
    rng = np.random.default_rng(SEED)
    chance = 1 / np.arange(1, n_rows + 1)
    rows = rng.choice(n_rows, size=(n_steps, n_drawn), p=chance / chance.sum())
    out = np.zeros((n_steps, n_rows))
    for t, drawn in enumerate(rows):
        np.add.at(out[t], drawn, rng.standard_normal(n_drawn))
    return out


def worst_step(method: Method, convention: Convention, hazard: Hazard) -> float:
    """The largest |d_t| of any element while the hazard is loud."""
    h = Settings(beta1=hazard.beta1)
    return max(
        float(np.max(np.abs(step.d)))
        for step in feed(method, convention, h, hazard.gradients)
        if step.t > hazard.n_quiet
    )


def spike_ratio(method: Method, convention: Convention) -> float | None:
    """Final loss of a noisy quadratic with one spike, over the final loss without.

    ½ Σ λ_i·x_i², 20 λ from 1e-3 to 1, gradient noise 0.1·√λ_i, from x_i = 1/√λ_i;
    2000 steps of 5 seeds; the loss is averaged over the last 100 steps. None if it
    ends above its start, 10, without a spike.
    """
    spiked, calm = (_final_loss(method, convention, at) for at in (SPIKE_AT, None))
    return spiked / calm if calm < 10 else None


def _final_loss(method: Method, convention: Convention, spike_at: int | None) -> float:
    rng = np.random.default_rng(1)
    curvature = np.geomspace(1e-3, 1, 20)

    def noisy(t: int, x: Floats) -> Floats:
        noise = rng.standard_normal(x.shape)
        g = curvature * x + 0.1 * np.sqrt(curvature) * noise
        return g * (SPIKE if t == spike_at else 1.0)

    def loss(x: Floats) -> float:
        of_seeds: Floats = np.sum(curvature * x**2, axis=-1) / 2
        return float(np.mean(of_seeds))

    x0 = np.tile(curvature**-0.5, (5, 1))
    run = iterate(
        method, convention, Settings(), noisy, steps=2000, x0=x0, alpha0=SPIKE_LR
    )
    with np.errstate(over="ignore", invalid="ignore"):
        losses = [loss(x) for _, x in run]
    return float(np.mean(losses[-100:]))
