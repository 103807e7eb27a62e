"""The default: what it promises, where it drifts, and why its center is limited."""

from functools import cache
from typing import NamedTuple

import numpy as np

from acprop.lab.arrays import Array, Floats
from acprop.lab.claims.claim import Finding, claim, listed
from acprop.lab.claims.grids import Signs, drifts
from acprop.lab.descent import WalkSettings, walk
from acprop.lab.methods import METHODS, Method, advance
from acprop.lab.nonconvex import problem
from acprop.lab.problems import periodic
from acprop.lab.steps import feed
from acprop.reference import Settings, State
from acprop.rule import GUARDED, PAPER, choose

PERIODS = (4, 5, 6, 7, 8, 10, 14, 20, 30, 50, 80, 130, 220, 500)
BETA1 = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.995)
SMALL = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8)
BETA2 = np.array([*SMALL, 0.9, 0.95, 0.98, 0.99, 0.999])
# Both betas below it: all that the default loses of the dense problem.
TINY = 0.01
# 1 - cos x with skewed noise; the horizons of the stall.
SKEWED = "cosine-skewed"
HORIZONS = (4000, 16_000)


def default() -> Method:
    """What `acprop.ACProp` is by default."""
    return Method("acprop", choose(GUARDED))


@cache
def right(kind: str, method: Method) -> Signs:
    """Is the drift in the limit right? [period, β1, β2], ε = 0 and no bound."""
    return drifts(kind, method, PERIODS, np.array(BETA1)[:, None], BETA2) > 0


def bias(method: Method) -> float:
    """How far E d_{t+1} is from linear in g_t, over the size of the steps.

    After 30 gradients comes g_t = 9 with probability 1/10, else -1, and then a 0. For
    a filter of unbiased u the mean of d_{t+1} is what the mean gradient 0 gives.
    """
    rng, h = np.random.default_rng(0), Settings(0.9, 0.9, axis=())
    state = State(t=10**6)  # the growing bound no longer binds
    for g in rng.standard_normal((30, 8)):
        state, _ = advance(method, GUARDED, state, g, h)

    def after(g: float) -> Array:
        new, now = advance(method, GUARDED, state, np.full(8, g), h)
        _, then = advance(method, GUARDED, new, np.zeros(8), h)
        return np.concatenate([now, then])

    mean = 0.1 * after(9.0) + 0.9 * after(-1.0)
    return float(np.max(np.abs(mean - after(0.0))) / np.max(np.abs(after(9.0))))


class Stall(NamedTuple):
    """Mean squared gradient of the last quarter of a run, at two horizons."""

    early: float
    late: float

    @classmethod
    def of(cls, squared: Floats) -> "Stall":
        """squared: by step, over all seeds."""
        return cls(*(float(np.mean(squared[T - T // 4 : T])) for T in HORIZONS))

    @property
    def goes_on(self) -> bool:
        """√16k/√4k = 2 is the rate; a plateau has 1."""
        return self.early / self.late > 1.5

    def __str__(self) -> str:
        return f"{self.early:.4f} and {self.late:.4f}"


@cache
def stall(method: Method, *, beta1: float = 0.9, beta2: float = 0.9) -> Stall:
    """1 - cos x with skewed noise, α0 = 0.1, ε = 0.1, with the growing bound."""
    h = WalkSettings(
        0.1, 0.5, HORIZONS[1], 0.1, beta1, beta2, seeds=256, clip="t**0.25"
    )
    return Stall.of(walk(problem(SKEWED), method, h).squared)


@claim("default-promise", "ours", "central", "Lemma 3.3 and Theorem 4.1")
def promise() -> Finding:
    """Every normalised gradient of the default is unbiased given the past once the
    growing bound no longer binds. So it drifts to x* on the dense problem wherever
    Algorithm 2 does, but for some betas that are both below 0.01, and goes on where
    averaging first stalls.
    """
    # The sentence of README, part by part.
    method = default()
    off = bias(method)
    here, first = stall(method), stall(METHODS["acprop-before"])
    paper, ours = right("dense", METHODS["acprop-paper"]), right("dense", method)
    lost = [
        (PERIODS[i], BETA1[j], float(BETA2[k]))
        for i, j, k in np.argwhere(paper & ~ours).tolist()
    ]
    named = all(max(beta1, beta2) < TINY for _, beta1, beta2 in lost)
    goes_on = here.goes_on and not first.goes_on and here.late < first.late / 4
    return Finding.of(
        METHODS["acprop"] == method and off < 1e-12 and named and goes_on,
        f"the mean over a skewed g_t of its part in a later step is off by {off:.0e}; "
        f"of {paper.sum()} cells of the dense problem where Algorithm 2 drifts to x* "
        f"it loses {len(lost)}, {'all' if named else 'not all'} with both betas below "
        f"{TINY}; on 1 - cos x with skewed noise the mean squared gradient of the last "
        f"quarter is {here} at T = 4k and 16k, averaging first {first}",
        {"bias": off, "lost": lost, "default": here, "average before": first},
    )


@claim("default-on-the-planes", "ours", "central", "Lemmas 3.3 and 3.4")
def planes() -> Finding:
    """On the sparse problem the default drifts rightly in more cells than AdaShift and
    in fewer than Algorithm 2; with β2 ≥ 0.9 in nearly as many.
    """
    methods = {
        "default": default(),
        "Algorithm 2": METHODS["acprop-paper"],
        "AdaShift": METHODS["adashift"],
    }
    n = len(PERIODS) * len(BETA1) * len(BETA2)

    def counts(kind: str, least: float) -> dict[str, int]:
        where = least <= BETA2
        return {k: int(np.sum(right(kind, m)[..., where])) for k, m in methods.items()}

    dense, sparse, usual = (
        counts(*row) for row in (("dense", 0.0), ("sparse", 0.0), ("sparse", 0.9))
    )
    near = usual["Algorithm 2"] - usual["default"]
    return Finding.of(
        sparse["AdaShift"] < sparse["default"] < sparse["Algorithm 2"]
        and near <= 0.01 * n
        and dense["default"] >= 0.99 * n,
        f"right drift of {n} cells, dense: {listed(dense)}; sparse: {listed(sparse)}; "
        f"sparse with β2 ≥ 0.9: {listed(usual)}",
        {"cells": n, "dense": dense, "sparse": sparse, "sparse, β2 ≥ 0.9": usual},
    )


FEW_PERIODS = tuple(range(5, 105, 5))
FEW_BETA2 = 1 - np.geomspace(0.9, 1e-2, 20)
FEW_CELLS = len(FEW_PERIODS) * len(FEW_BETA2)
STEPS = 4000  # e^-40 is left of what s was at the start


def _gradients(kind: str) -> Floats:
    """[t, period, 1]: the problems of the few periods side by side."""
    t = np.arange(1, STEPS + 1)
    cycles = [periodic(kind, P).cycle for P in FEW_PERIODS]
    return np.stack([c[t % len(c)] for c in cycles], axis=1)[:, :, None]


@claim("default-needs-the-limit-of-one", "ours", "proof step", "Lemmas 3.3 and 3.4")
def limit_of_one() -> Finding:
    """Centered on D·M without a limit on M, s feeds on itself and overflows; centered
    on D·clip(M, ±1) it does not.
    """
    with_it, without = (
        sum(overflows(kind, limit) for kind in ("dense", "sparse"))
        for limit in (1.0, np.inf)
    )
    return Finding.of(
        with_it == 0 and without > 0,
        f"of {2 * FEW_CELLS} cells of the two problems s overflows in {with_it} with "
        f"the limit and in {without} without it",
        {"with": with_it, "without": without},
    )


def overflows(kind: str, limit: float) -> int:
    """Cells in which s leaves the range of float64 with r = g - D·clip(M, ±limit)."""
    beta1, shape = 0.9, (len(FEW_PERIODS), len(FEW_BETA2))
    mean, s = np.zeros(shape), np.ones(shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for g in _gradients(kind):
            root = np.sqrt(s)
            r = g - root * np.clip(mean, -limit, limit)
            mean = beta1 * mean + (1 - beta1) * g / root
            s = FEW_BETA2 * s + (1 - FEW_BETA2) * (1 + beta1) / 2 * r**2
    return int(np.sum(~np.isfinite(s)))


@claim("average-after-keeps-the-drift", "ours", "central", "Lemmas 3.3 and 3.4")
def keeps_the_drift() -> Finding:
    """A running mean of u drifts as u does, if s is centered on the paper's m."""
    h = Settings(0.9, FEW_BETA2, 0.0, axis=())
    agree: dict[str, int] = {}
    for kind in ("dense", "sparse"):
        total = np.zeros((len(FEW_PERIODS), len(FEW_BETA2)))
        periods = np.array(FEW_PERIODS)[:, None]
        run = feed(
            METHODS["acprop-after"], PAPER, h, _gradients(kind), takes_first_step=False
        )
        for step in run:
            total += np.where(step.t > STEPS - periods, step.d, 0.0)
        exact = drifts(kind, "acprop-paper", FEW_PERIODS, 0.9, FEW_BETA2)
        agree[kind] = int(np.sum((total > 0) == (exact > 0)))
    return Finding.of(
        set(agree.values()) == {FEW_CELLS},
        f"in {agree['dense']} and {agree['sparse']} of {FEW_CELLS} cells of the two "
        f"problems a run with β1 = 0.9 drifts as Algorithm 2 does",
        agree,
    )
