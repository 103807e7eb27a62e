"""What bounds a step, and what that costs: variants on hazards and on the planes.

A hazard is a past that taught the denominator nothing: some gradients that are quiet,
then some that are loud. What counts is the largest |d_t|, that is |step|/lr, while it
is loud. The price of a bound is the share of the (P, β2) plane with a wrong drift.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.boundaries import RESOLVED
from acprop.lab.curves import Points, curves
from acprop.lab.drift import drift
from acprop.lab.methods import Method
from acprop.lab.problems import periodic
from acprop.lab.steps import feed
from acprop.records import Curves
from acprop.reference import Settings
from acprop.rule import (
    ACPROP,
    ACPROP_AFTER,
    ACPROP_BEFORE,
    ACPROP_PAPER,
    ADAM,
    ADASHIFT,
    AUTHORS,
    GUARDED,
    OPTAX,
    PAPER,
    TORCH,
    Convention,
    Rule,
)

PERIODS = (3, 4, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
ONE_MINUS_BETA2 = np.geomspace(0.9, 1e-4, 41)
STEPS = {"10⁴": 1e4, "10⁶": 1e6, "limit": inf}
N_LOUD = 30

VARIANTS: dict[str, tuple[Convention, Rule]] = {
    "guarded (default)": (GUARDED, ACPROP),
    "guarded, without nesterov": (GUARDED, replace(ACPROP, nesterov=False)),
    "guarded, average after, center m": (GUARDED, ACPROP_AFTER),
    "guarded, average before": (GUARDED, ACPROP_BEFORE),
    "guarded, no average": (GUARDED, ACPROP_PAPER),
    "guarded AdaShift": (GUARDED, ADASHIFT),
    "no average, clip 1": (replace(GUARDED, clip=1.0), ACPROP_PAPER),
    "no average, clip 10": (replace(GUARDED, clip=10.0), ACPROP_PAPER),
    "no average, ε = 1e-8": (replace(GUARDED, eps=1e-8), ACPROP_PAPER),
    "paper, clip t^¼": (replace(PAPER, clip="t**0.25"), ACPROP_PAPER),
    "authors, clip t^¼": (replace(AUTHORS, clip="t**0.25"), ACPROP_PAPER),
    "paper": (PAPER, ACPROP_PAPER),
    "authors": (AUTHORS, ACPROP_PAPER),
    "authors, ε = 1e-8": (replace(AUTHORS, eps=1e-8), ACPROP_PAPER),
    "optax": (OPTAX, ACPROP_PAPER),
    "Adam": (TORCH, ADAM),
}


class Hazard(NamedTuple):
    """gradients: [t, element]; n_quiet: so many of them do not count."""

    definition: str
    gradients: Floats
    n_quiet: int = 0
    beta1: float = 0.9


def hazards() -> dict[str, Hazard]:
    """All hazards by name; the same numbers at every call."""
    ones = np.ones(N_LOUD)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=N_LOUD)

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
    }


def embedding(n_rows: int = 1000, n_steps: int = 2000, n_drawn: int = 32) -> Floats:
    """Gradients of rows that follow Zipf's law: most are seldom seen."""
    rng = np.random.default_rng(0)
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


def right_drift(
    method: Method, convention: Convention, kind: str, beta1: float, t: float
) -> float:
    """The share of the plane that drifts towards x* with the clip of step t."""
    right = [
        drift(
            periodic(kind, P),
            method,
            convention,
            beta1=beta1,
            beta2=1 - ONE_MINUS_BETA2,
            t=t,
        )
        > RESOLVED
        for P in PERIODS
        if kind == "dense" or P > 3
    ]
    return float(np.mean(right))


def records(names: Iterable[str] = VARIANTS) -> list[Curves]:
    """A line for each variant: its worst step after each hazard; its right drifts."""
    planes = [("dense", t) for t in STEPS] + [("sparse", "limit")]
    worst, right = list[Points](), list[Points]()
    for name in names:
        convention, rule = VARIANTS[name]
        method = Method(name, rule)
        steps = [worst_step(method, convention, h) for h in hazards().values()]
        worst.append((name, range(len(steps)), steps))
        shares = [
            right_drift(method, convention, kind, 0.9, STEPS[t]) for kind, t in planes
        ]
        right.append((name, range(len(shares)), shares))
    definitions = {name: hazard.definition for name, hazard in hazards().items()}
    return [
        curves(
            "guard",
            "worst step after a hazard",
            ("hazard", "largest |step|/lr of any element"),
            worst,
            log="y",
            about={"beta1": 0.9, "beta2": 0.999, "hazards": definitions},
        ),
        curves(
            "guard",
            "right drift with the clip of step t",
            ("problem and t", "share of the (P, β2) plane"),
            right,
            about={
                "beta1": 0.9,
                "problems": [f"{kind}, {t}" for kind, t in planes],
                "periods": list(PERIODS),
                "1 - beta2": ONE_MINUS_BETA2.tolist(),
            },
        ),
    ]
