"""Sections 2.2 and 5 on the family: what turns into what, and what scaling changes."""

import numpy as np

from acprop.lab.claims.claim import Finding, claim
from acprop.lab.methods import advance, method
from acprop.reference import Settings, State
from acprop.rule import PAPER

FAMILY = ("adam", "rmsprop", "adabelief", "adashift", "acprop-paper")


def directions(name: str, gradients: np.ndarray, h: Settings) -> np.ndarray:
    """d_t for a sequence of gradients, from the second step on."""
    state, found = State(), list[np.ndarray]()
    for g in gradients:
        state, d = advance(method(name), PAPER, state, g, h, takes_first_step=False)
        found.append(np.asarray(d))
    return np.array(found[1:])


def _gradients() -> np.ndarray:
    return np.random.default_rng(0).normal(0.3, 1.0, size=(200, 7))


@claim("adam-without-momentum", "paper", "definition", "Section 2.2, Adam")
def adam_without_momentum() -> Finding:
    """“When β1 = 0, Adam reduces to RMSProp”"""
    gaps = {
        beta1: float(
            np.max(
                np.abs(
                    directions("adam", _gradients(), Settings(beta1, 0.99, 1e-8))
                    - directions("rmsprop", _gradients(), Settings(beta1, 0.99, 1e-8))
                )
            )
        )
        for beta1 in (0.0, 0.5)
    }
    return Finding.of(
        gaps[0.0] == 0 and gaps[0.5] > 0.1,
        f"200 steps of 7 elements: the directions of Adam and RMSProp differ by "
        f"{gaps[0.0]:g} at β1 = 0 and by up to {gaps[0.5]:.2f} at β1 = 0.5",
        {str(beta1): gap for beta1, gap in gaps.items()},
    )


def _scaling(name: str, factor: float) -> float:
    """By how much the directions grow if every gradient does by `factor`."""
    h = Settings(0.9, 0.99, 1e-30)
    plain = directions(name, _gradients(), h)
    scaled = directions(name, factor * _gradients(), h)
    return float(np.linalg.norm(scaled) / np.linalg.norm(plain))


@claim("avagrad-is-not-scale-invariant", "paper", "wording", "Section 5, remark")
def avagrad_scales() -> Finding:
    """“Unlike other adaptive optimizers, AVAGrad is not scale-invariant”"""
    grown = {name: _scaling(name, 100.0) for name in (*FAMILY, "avagrad")}
    still = max(abs(grown[name] - 1) for name in FAMILY)
    ok = still < 1e-9 and abs(grown["avagrad"] / 100 - 1) < 1e-9
    return Finding.of(
        ok,
        f"with gradients 100 times as large and ε = 1e-30 AVAGrad's steps are "
        f"{grown['avagrad']:.1f} times as large, those of {', '.join(FAMILY)} are the "
        f"same up to {still:.0e}",
        grown,
    )
