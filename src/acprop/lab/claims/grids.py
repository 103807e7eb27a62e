"""The planes on which claims are checked: the paper's figures, and much wider ones."""

import numpy as np

from acprop.lab.methods import METHODS, Method
from acprop.lab.simulate import Sweep
from acprop.rule import PAPER, Convention

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


def methods(*names: str) -> tuple[Method, ...]:
    """Methods by name."""
    return tuple(METHODS[name] for name in names)


def protocol(
    *names: str,
    beta1: float,
    convention: Convention = PAPER,
    steps: int = 10_000,
    kick: bool = True,
) -> Sweep:
    """The protocol of Fig. 1."""
    return Sweep(
        methods(*names), beta1, BETA2, convention=convention, steps=steps, kick=kick
    )
