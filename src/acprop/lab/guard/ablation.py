"""What bounds a step, and what that costs: variants on the hazards and the planes."""

import platform
from collections.abc import Iterable
from dataclasses import asdict, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from acprop.lab.boundaries import RESOLVED
from acprop.lab.drift import drift
from acprop.lab.guard.hazards import hazards, spike_ratio, worst_step
from acprop.lab.methods import Method
from acprop.lab.problems import PERIODIC, periodic
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

Plain = dict[str, Any]

PERIODS = (3, 4, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
ONE_MINUS_BETA2 = np.geomspace(0.9, 1e-4, 41)
BETA1 = (0.5, 0.9)
STEPS = {"10⁴": 1e4, "10⁶": 1e6, "limit": inf}


class Variant(NamedTuple):
    """One row: a convention with its clip, and a rule."""

    name: str
    convention: Convention
    rule: Rule = ACPROP_PAPER

    @property
    def method(self) -> Method:
        """What the laboratory runs."""
        return Method(self.name, self.rule)


VARIANTS = (
    Variant("guarded (default)", GUARDED, ACPROP),
    Variant("guarded, without nesterov", GUARDED, replace(ACPROP, nesterov=False)),
    Variant("guarded, average after, center m", GUARDED, ACPROP_AFTER),
    Variant("guarded, average before", GUARDED, ACPROP_BEFORE),
    Variant("guarded, no average", GUARDED),
    Variant("guarded AdaShift", GUARDED, ADASHIFT),
    Variant("no average, clip 1", replace(GUARDED, clip=1.0)),
    Variant("no average, clip 10", replace(GUARDED, clip=10.0)),
    Variant("no average, ε = 1e-8", replace(GUARDED, eps=1e-8)),
    Variant("paper, clip t^¼", replace(PAPER, clip="t**0.25")),
    Variant("authors, clip t^¼", replace(AUTHORS, clip="t**0.25")),
    Variant("paper", PAPER),
    Variant("authors", AUTHORS),
    Variant("authors, ε = 1e-8", replace(AUTHORS, eps=1e-8)),
    Variant("optax", OPTAX),
    Variant("Adam", TORCH, ADAM),
)


def ablation(variants: Iterable[Variant] = VARIANTS) -> Plain:
    """The record of all variants, with what each of its fields means."""
    return {
        "schema": 2,
        "machine": platform.machine(),
        "numpy": np.__version__,
        "measures": definitions(),
        "rows": [measure(variant) for variant in variants],
    }


def measure(variant: Variant) -> Plain:
    """One row of the record."""
    method, convention = variant.method, variant.convention
    return {
        "variant": variant.name,
        "settings": {
            "convention": asdict(convention),
            "rule": asdict(variant.rule),
        },
        "worst_step": {
            name: worst_step(method, convention, hazard)
            for name, hazard in hazards().items()
        },
        "spike": spike_ratio(method, convention),
        "right_drift": {kind: right_drift(variant, kind) for kind in PERIODIC},
    }


def right_drift(variant: Variant, kind: str) -> dict[str, list[float]]:
    """Share of the (P, β2) plane with the right drift, by step; one for each β1."""
    problems = [periodic(kind, P) for P in PERIODS if kind == "dense" or P > 3]

    def share(t: float) -> list[float]:
        right = [
            drift(
                problem,
                variant.method,
                variant.convention,
                beta1=np.array(BETA1)[:, None],
                beta2=1 - ONE_MINUS_BETA2,
                t=t,
            )
            > RESOLVED
            for problem in problems
        ]
        return np.mean(right, axis=(0, 2)).tolist()

    return {name: share(t) for name, t in STEPS.items()}


def definitions() -> Plain:
    """What each field of a row means."""
    return {
        "worst_step": {
            "": "largest |step|/lr of any element; β = (0.9, 0.999)",
            **{name: hazard.definition for name, hazard in hazards().items()},
        },
        "spike": " ".join((spike_ratio.__doc__ or "").split()),
        "right_drift": {
            "": "share of the plane that drifts towards x* with the clip of step t",
            "P": PERIODS,
            "1 - beta2": ONE_MINUS_BETA2.tolist(),
            "beta1": BETA1,
        },
    }
