"""What the figures on Reddi's problem show: areas, borders, trajectories, periods."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.claims.claim import Finding, claim, formula, listed
from acprop.lab.claims.dense import ASYNC, SYNC
from acprop.lab.claims.grids import EPS, PERIODS, drifts, protocol, shares
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense
from acprop.lab.regions import regions, surprises
from acprop.lab.simulate import trajectory
from acprop.lab.trajectories import paper_trajectories
from acprop.rule import AUTHORS, PAPER

# Both ends of (0, 1) stretched: 0.001 to 0.9999.
THRESHOLD_BETA1 = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
THRESHOLD_BETA2 = 1 / (1 + np.exp(-np.linspace(-6.9, 9.2, 140)))
THRESHOLD_PERIODS = range(3, 301)
_NONE = max(THRESHOLD_PERIODS) + 1


@cache
def first_wrong(name: str, beta1: float) -> tuple[Floats, int]:
    """P* for each β2, and how many larger P drift rightly all the same."""
    wrong = drifts("dense", name, THRESHOLD_PERIODS, beta1, THRESHOLD_BETA2) < 0
    first = np.where(wrong.any(axis=0), np.argmax(wrong, axis=0) + 3, _NONE)
    beyond = np.array(THRESHOLD_PERIODS)[:, None] >= first
    return first, int(np.sum(beyond & ~wrong))


@claim("sync-threshold", "paper", "central", "Fig. 1, caption")
@formula(r"D<0\iff P\ge P^*(\beta_2)")
def sync_diverges_beyond_a_threshold() -> Finding:
    """“in the (P, β2) plane, there's a threshold curve beyond which sync-optimizers
    (Adam, RMSProp, AdaBelief) will diverge”
    """
    # Beyond: above the curve P*(β2) of the plane whose y-axis is P.
    found = [first_wrong(name, b1) for name in SYNC for b1 in THRESHOLD_BETA1]
    returns = sum(back for _, back in found)
    cells = len(found) * len(THRESHOLD_PERIODS) * len(THRESHOLD_BETA2)
    return Finding.of(
        not returns and any(np.min(first) < _NONE for first, _ in found),
        f"Adam, RMSProp and AdaBelief, {len(THRESHOLD_BETA1)} β1 from 0.1 to 0.99, "
        f"{len(THRESHOLD_BETA2)} β2 from 0.001 to 0.9999, P from 3 to 300: for every "
        f"β2 the P that drift wrongly are those from some P*(β2) on; {returns} of "
        f"{cells} cells beyond P* drift rightly",
        {"cells": cells, "returns": returns},
    )


@claim("sync-threshold-folds", "ours", "central", "Fig. 1, caption")
def the_threshold_folds() -> Finding:
    """the threshold P* of Adam and AdaBelief is not monotone in β2: it can fall as β2
    grows, only where β1 > √β2, outside the condition of Reddi et al.
    """
    falls = [
        (b1, b2)
        for name in SYNC
        for b1 in THRESHOLD_BETA1
        for b2 in THRESHOLD_BETA2[1:][np.diff(first_wrong(name, b1)[0]) < 0]
    ]
    inside = [b1 for b1, b2 in falls if b1 < b2**0.5]
    first, _ = first_wrong("adam", 0.9)
    least = int(np.argmin(first))
    return Finding.of(
        falls and not inside,
        f"Adam at β1 = 0.9 drifts wrongly from P* = {first[0]} on at β2 = 0.001, from "
        f"{first[least]} on at β2 = {THRESHOLD_BETA2[least]:.2f}, and from {first[-1]} "
        f"on at 0.9999; {len(inside)} of all {len(falls)} places at which P* falls "
        "have β1 < √β2",
        {"falls": len(falls), "where β1 < √β2": len(inside)},
    )


def area(beta1: float) -> Finding:
    """The paper prints neither the grid nor ε; ours are those of our figure."""
    found: dict[str, tuple[float, float]] = {}
    for names, convention in ((ASYNC, PAPER), (("acprop-paper",), AUTHORS)):
        sweep = protocol(*names, beta1=beta1)
        sweep = replace(sweep, convention=convention, eps=EPS["dense"])
        parts = shares("dense", sweep)
        found |= {f"{name}, {convention.name}": part for name, part in parts.items()}
    finite = {name: part for name, (part, _) in found.items()}
    limit = min(end for _, end in found.values())
    return Finding.of(
        min(finite.values()) == 1,
        f"converged on our 40 × 40 grid at ε = 1e-8: {listed(finite, '.1%')}; in the "
        f"limit {limit:.0%}",
        {**finite, "limit": limit},
    )


for _beta1, _place in (
    (0.5, "Appendix A.3, β1 = 0.5"),
    (0.7, "Appendix A.3, β1 = 0.7"),
    (0.9, "Fig. 1"),
):
    _words = f"with β1 = {_beta1} ACProp and AdaShift converge everywhere in 10⁴ steps"
    claim(f"dense-area-{_beta1}", "paper", "central", _place, _words)(
        lambda beta1=_beta1: area(beta1)
    )


@claim("dense-trajectories", "paper", "central", "Fig. 2")
def trajectories() -> Finding:
    """Adam, AdaBelief and RMSProp “diverge from the optimal”, ACProp and AdaShift
    converge, and a large delay n in AdaShift “could cause non-convergence”
    """
    near, far = ("ACProp", "AdaShift, n = 1"), ("Adam", "RMSProp", "AdaBelief")
    ends: dict[bool, dict[str, float]] = {}
    for first in (True, False):
        lines = paper_trajectories("dense", takes_first_step=first).lines
        ends[first] = {line.label: line.y[-1] for line in lines}
    return Finding.of(
        all(
            max(x[k] for k in near) < -0.5
            and min(x[k] for k in (*far, "AdaShift, n = 10")) > -0.5
            for x in ends.values()
        ),
        f"P = 10, β1 = β2 = 0.5, α0 = 0.1, first step 0: after 4000 steps x is "
        f"{listed(ends[False], '.2f')}; with Algorithm 2's first step the same ones "
        "are far from x* = -1",
        ends,
    )


@claim("dense-periods", "paper", "proof step", "Appendix A.1, plots of S_t and g_t")
def periods_of_s_and_g() -> Finding:
    """as k → ∞ “the behavior of ACProp is periodic”: the largest gradient appears at
    step kP + 1, and S takes its minimum at step kP
    """
    worst, phases = 0.0, set[tuple[int, int]]()
    settings = [(P, b) for P in (5, 10, 20) for b in (0.5, 0.9)]
    for P, beta in settings:
        h: dict[str, Any] = {"beta1": beta, "beta2": beta, "alpha0": 0.1}
        run = trajectory(dense(P), METHODS["acprop-paper"], **h, steps=4000)
        # index t - 1 is step t; the last two whole periods, from kP on
        start = (4000 // P - 2) * P - 1
        first, second = (run.s[start + i * P : start + (i + 1) * P] for i in (0, 1))
        worst = max(worst, float(np.max(np.abs(second / first - 1))))
        g = run.g[start : start + P]
        phases.add((int(np.argmin(first)), int(np.argmax(g))))
    return Finding.of(
        worst < 1e-6 and phases == {(0, 1)},
        f"in {len(settings)} settled runs (P = 5, 10, 20; both betas 0.5 or 0.9) s "
        f"repeats up to {worst:.0e}, is smallest at kP, and the largest gradient comes "
        "at kP + 1",
        {"relative change": worst, "phases": sorted(phases)},
    )


@claim("dense-no-contradiction", "ours", "central", "Fig. 1")
def no_dense_surprise() -> Finding:
    """no cell of problem 1 converges at the horizon against its drift"""
    names = (*SYNC, *ASYNC, "rmsprop-centered")
    found = [
        region
        for beta1 in (0.5, 0.7, 0.9)
        for region in regions("dense", PERIODS["dense"], protocol(*names, beta1=beta1))
    ]
    bad = sum(len(surprises(r)) for r in found)
    n = sum(len(r.cells) for r in found)
    return Finding.of(
        not bad,
        f"{bad} of {n} cells have converged at 10⁴ steps against their drift",
        {"cells": n, "contradictions": bad},
    )


@claim("dense-first-step", "ours", "proof step", "Fig. 1")
def the_first_step_decides() -> Finding:
    """that async converges within 10⁴ steps is the work of the first step"""
    periods = PERIODS["dense"][::6]
    sweep = replace(protocol("acprop-paper", beta1=0.9), takes_first_step=False)
    ((short, _),) = shares("dense", sweep, periods).values()
    ((long, _),) = shares("dense", replace(sweep, steps=10**6), periods).values()
    return Finding.of(
        short < 0.9 and long == 1,
        f"without Algorithm 2's first step, α0·g/√ε, which throws x to the optimum, "
        f"{short:.1%} of the cells have converged at 10⁴ steps and {long:.1%} at 10⁶",
        {"10⁴ steps": short, "10⁶ steps": long},
    )


@claim("dense-tiny-eps", "ours", "constant", "Fig. 1, Appendix A.3")
def a_tiny_eps_is_late() -> Finding:
    """with ε = 1e-16 some cells of β1 = 0.5 need more than 10⁴ steps"""
    found = {
        beta1: shares("dense", protocol("acprop-paper", beta1=beta1))["acprop-paper"]
        for beta1 in (0.5, 0.7, 0.9)
    }
    late = [beta1 for beta1, (finite, _) in found.items() if finite < 1]
    text = ", ".join(f"{finite:.1%} at β1 = {b}" for b, (finite, _) in found.items())
    return Finding.of(
        late == [0.5] and all(limit == 1 for _, limit in found.values()),
        f"Algorithm 2 with ε = 1e-16: ACProp has converged in {text} of the cells at "
        "10⁴ steps, and in all in the limit",
        found,
    )
