"""The planes on which claims are checked: the paper's figures, and much wider ones."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from acprop.lab.arrays import Array, Floats
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS, Method
from acprop.lab.problems import periodic
from acprop.lab.regions import regions, share
from acprop.lab.simulate import Sweep
from acprop.rule import PAPER, Rule

# Fig. 1 names neither its periods nor its β2 ("a log grid"); these are ours.
PERIODS = {"dense": tuple(range(3, 43)), "sparse": tuple(range(4, 44))}
BETA2 = tuple(float(b) for b in 1 - np.geomspace(0.9, 1e-4, 40))
# Nor is ε printed. On problem 1 it is that of the published curves: with 1e-16, that of
# the table of hyper-parameters, some cells need more than 10⁴ steps.
EPS = {"dense": 1e-8, "sparse": 1e-16}
COMPARED = ("adam", "rmsprop", "adabelief", "adashift", "acprop-paper")

# For exact statements: small and large P, and β from 0.001 to 0.99999.
WIDE_PERIODS = (3, 4, 5, 6, 7, 8, 10, 13, 20, 33, 50, 100, 200, 500, 1000)
WIDE_BETA = np.sort(
    np.concatenate([np.geomspace(1e-3, 0.5, 30), 1 - np.geomspace(0.5, 1e-5, 41)[1:]])
)
SOME_BETA1 = (0.001, 0.1, 0.3, 0.5, 0.7, 0.85, 0.9, 0.95, 0.99, 0.999)
WIDE_BETA1 = np.array(SOME_BETA1)[:, None]
SPARSE_PERIODS = WIDE_PERIODS[1:]
CELLS = len(SPARSE_PERIODS) * len(SOME_BETA1) * len(WIDE_BETA)  # of the sparse problem

Signs = NDArray[np.bool_]


def drifts(
    kind: str, method: Method | str, periods: Sequence[int], beta1: Array, beta2: Array
) -> Floats:
    """The drift in the limit, ε = 0 and no bound: [period, …]; the betas broadcast."""
    m = METHODS[method] if isinstance(method, str) else method
    return np.array(
        [
            drift(periodic(kind, P), m, PAPER, beta1=beta1, beta2=beta2, eps=0.0)
            for P in periods
        ]
    )


@cache
def right(kind: str, name: str) -> Signs:
    """Is the drift right? [period, β1, β2] on the wide grid."""
    periods = WIDE_PERIODS if kind == "dense" else SPARSE_PERIODS
    return drifts(kind, name, periods, WIDE_BETA1, WIDE_BETA) > 0


def wrong_delays(kind: str, P: int, rule: Rule, most: int) -> list[int]:
    """The delays from 1 to `most` with which a rule drifts wrongly, both betas 0.5."""
    problem = periodic(kind, P)
    methods = [Method("delayed", replace(rule, delay=n)) for n in range(1, most + 1)]
    found = [drift(problem, m, PAPER, beta1=0.5, beta2=0.5) for m in methods]
    return [n for n, move in enumerate(found, 1) if move < 0]


def protocol(*names: str, beta1: float) -> Sweep:
    """The protocol of Fig. 1."""
    return Sweep(tuple(METHODS[name] for name in names), beta1, BETA2)


def shares(
    kind: str, sweep: Sweep, periods: Sequence[int] | None = None
) -> dict[str, tuple[float, float]]:
    """By method: which part of the plane has converged, and will in the limit."""
    found = regions(kind, periods or PERIODS[kind], sweep)
    return {region.optimizer: share(region) for region in found}
