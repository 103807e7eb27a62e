"""A running mean of u = g/√s: which mean s is centered on decides Lemma 3.3."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS
from acprop.lab.problems import Problem, periodic
from acprop.rule import PAPER

PERIODS = tuple(range(5, 105, 5))
BETA2 = 1 - np.geomspace(0.9, 1e-3, 20)
BETA1 = MU = 0.9
# e^-40 is left of what s was at the start.
STEPS = 40_000

Signs = NDArray[np.bool_]


class Ends(NamedTuple):
    """right: is Σ M over the last period above 0? lost: cells whose s overflowed."""

    right: Signs
    lost: int


@cache
def simulated(kind: str, centering: str) -> Ends:
    """Runs for every cell [period, beta2].

    centering: "m" is the paper's, r_t = g_t - m_t; "M" takes √s_{t-1}·M_t for m_t,
    which needs no m; ε = 0 and no bound.
    """
    problems = [periodic(kind, P) for P in PERIODS]
    periods = np.array(PERIODS)
    cycles = np.concatenate([p.cycle for p in problems])
    starts = np.concatenate([[0], np.cumsum(periods)[:-1]])
    m, mean = np.zeros((len(PERIODS), 1)), np.zeros((len(PERIODS), len(BETA2)))
    s, total = np.ones_like(mean), np.zeros_like(mean)
    with np.errstate(over="ignore", invalid="ignore"):  # centered on M, s may explode
        for t in range(1, STEPS + 1):
            g = cycles[starts + t % periods][:, None]
            root = np.sqrt(s)
            mean = MU * mean + (1 - MU) * (g / root)
            m = BETA1 * m + (1 - BETA1) * g
            r = g - (m if centering == "m" else root * mean)
            s = BETA2 * s + (1 - BETA2) * r**2
            total += np.where((t > STEPS - periods)[:, None], mean, 0.0)
    return Ends(total > 0, int(np.sum(~np.isfinite(s))))


def exact(kind: str, name: str) -> Signs:
    """Is the exact drift right? [period, beta2]."""

    def one(problem: Problem) -> Signs:
        method = METHODS[name]
        return drift(problem, method, PAPER, beta1=BETA1, beta2=BETA2, eps=0.0) > 0

    return np.array([one(periodic(kind, P)) for P in PERIODS])


def keeps_the_drift() -> Finding:
    n = len(PERIODS) * len(BETA2)
    agree = {
        kind: int(np.sum(simulated(kind, "m").right == exact(kind, "acprop-paper")))
        for kind in ("dense", "sparse")
    }
    right = {kind: int(np.sum(simulated(kind, "m").right)) for kind in agree}
    return Finding(
        "holds" if all(k == n for k in agree.values()) else "fails",
        f"in {agree['dense']} and {agree['sparse']} of {n} cells of the two problems a "
        f"run with μ = {MU} drifts as ACProp without it does: rightly in "
        f"{right['dense']} and {right['sparse']}",
        {"agree": agree, "right": right, "cells": n},
    )


def centering_on_its_own_mean() -> Finding:
    n = len(PERIODS) * len(BETA2)
    shares = {
        kind: {
            "on m": int(np.sum(simulated(kind, "m").right)),
            "on √s·M": int(np.sum(simulated(kind, "M").right)),
            "AdaShift": int(np.sum(exact(kind, "adashift"))),
        }
        for kind in ("dense", "sparse")
    }
    dense, sparse = shares["dense"], shares["sparse"]
    loses = dense["on √s·M"] < n and sparse["on √s·M"] < sparse["on m"]
    most = dense["on √s·M"] > 0.9 * n and sparse["on √s·M"] > sparse["AdaShift"]
    lost = sum(simulated(kind, "M").lost for kind in shares)
    listed = "; ".join(
        f"{kind}: " + ", ".join(f"{k} {v}" for k, v in row.items())
        for kind, row in shares.items()
    )
    return Finding(
        "holds" if loses and most else "fails",
        f"right drift of {n} cells, {listed}; centered on √s·M, s overflows in {lost}",
        {**shares, "overflows": lost, "cells": n},
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "momentum-u-keeps-the-drift",
        "ours",
        "central",
        "Lemmas 3.3 and 3.4",
        "a running mean of u drifts as u does, if s is centered on the paper's m",
        keeps_the_drift,
    ),
    Claim(
        "momentum-u-own-centering",
        "ours",
        "central",
        "Lemmas 3.3 and 3.4",
        "centered on √s·M instead, which saves m, it loses cells of both problems and "
        "keeps more of problem 2 than AdaShift",
        centering_on_its_own_mean,
    ),
)
