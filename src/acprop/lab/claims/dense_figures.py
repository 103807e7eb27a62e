"""What the figures on Reddi's problem show: areas, borders, trajectories, periods."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from acprop.lab.boundaries import boundary
from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.claims.dense import ASYNC, SYNC
from acprop.lab.claims.grids import PERIODS, protocol
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense
from acprop.lab.regions import regions, share, surprises
from acprop.lab.simulate import trajectory
from acprop.lab.trajectories import paper_trajectories
from acprop.rule import AUTHORS, PAPER


def _pockets(
    names: Sequence[str], beta1s: Sequence[float]
) -> dict[tuple[str, float], dict[int, float]]:
    """Below the last border, the β2 up to which convergence returns, by period."""
    found: dict[tuple[str, float], dict[int, float]] = {}
    for name in names:
        for beta1 in beta1s:
            border = boundary(
                "dense", METHODS[name], beta1=beta1, periods=range(3, 43), eps=0.0
            )
            found[name, beta1] = {
                c.period: c.beta2[-2] for c in border.crossings if len(c.beta2) > 1
            }
    return found


def sync_has_one_threshold_curve() -> Finding:
    pockets = {k: v for k, v in _pockets(SYNC, (0.5, 0.7, 0.9)).items() if v}
    cells = [(b1, b2) for (_, b1), v in pockets.items() for b2 in v.values()]
    outside = sum(b1 > b2**0.5 for b1, b2 in cells)
    listed = {f"{name}, β1 = {b1}": [*v] for (name, b1), v in pockets.items()}
    where = "; ".join(f"{k}: P = {v}" for k, v in listed.items())
    return Finding(
        "fails" if pockets else "holds",
        f"convergence returns at small β2 ({where}); {outside} of these {len(cells)} "
        "pockets lie where β1 > √β2, outside the condition under which Reddi et al. "
        "show divergence"
        if pockets
        else "one crossing at most for each P",
        {"pockets": listed, "outside": outside},
    )


def one_curve_under_reddis_condition() -> Finding:
    """With β1 < √β2 no pocket is left, for the methods that have one."""
    found = _pockets(("adam", "adabelief"), (0.7, 0.9))
    left = [
        (name, b1, P)
        for (name, b1), v in found.items()
        for P, b2 in v.items()
        if b1 < b2**0.5
    ]
    n = sum(map(len, found.values()))
    return Finding(
        "fails" if left or not n else "holds",
        f"{len(left)} of the {n} pockets of Adam and AdaBelief (β1 = 0.7, 0.9, P to "
        "42) reach to where β1 < √β2",
        {"left": len(left), "pockets": n},
    )


def area(beta1: float) -> Finding:
    """The paper prints neither the grid nor ε: ε = 1e-8, that of its curves."""
    shares: dict[str, float] = {}
    limit = 1.0
    for names, convention in ((ASYNC, PAPER), (("acprop-paper",), AUTHORS)):
        sweep = replace(protocol(*names, beta1=beta1, convention=convention), eps=1e-8)
        for r in regions("dense", PERIODS["dense"], sweep):
            finite, end = share(r)
            shares[f"{r.optimizer}, {convention.name}"] = finite
            limit = min(limit, end)
    text = ", ".join(f"{k} {finite:.1%}" for k, finite in shares.items())
    return Finding(
        "holds" if min(shares.values()) == 1 else "fails",
        f"converged on our 40 × 40 grid at ε = 1e-8: {text}; in the limit {limit:.0%}",
        {**shares, "limit": limit},
    )


def a_tiny_eps_is_late() -> Finding:
    """Algorithm 2 with the ε of the table of hyper-parameters."""
    shares = {
        beta1: share(
            regions("dense", PERIODS["dense"], protocol("acprop-paper", beta1=beta1))[0]
        )
        for beta1 in (0.5, 0.7, 0.9)
    }
    late = [beta1 for beta1, (finite, _) in shares.items() if finite < 1]
    text = ", ".join(f"{finite:.1%} at β1 = {b}" for b, (finite, _) in shares.items())
    ok = late == [0.5] and all(limit == 1 for _, limit in shares.values())
    return Finding(
        "holds" if ok else "fails",
        f"Algorithm 2 with ε = 1e-16: ACProp has converged in {text} of the cells at "
        "10⁴ steps, and in all in the limit",
        {str(b): list(v) for b, v in shares.items()},
    )


# Far from the optimum: more than this at the end of a trajectory.
_AWAY = 0.5


def trajectories() -> Finding:
    """Fig. 2 as we draw it, with Algorithm 2's first step and without."""
    ends = {
        kick: {
            line.label: line.y[-1]
            for line in paper_trajectories("dense", kick=kick).lines
        }
        for kick in (True, False)
    }
    near, far = ("ACProp", "AdaShift, n = 1"), ("Adam", "RMSProp", "AdaBelief")
    ok = all(
        max(x[k] for k in near) < -1 + _AWAY
        and min(x[k] for k in (*far, "AdaShift, n = 10")) > -1 + _AWAY
        for x in ends.values()
    )
    text = ", ".join(f"{k} {x:.2f}" for k, x in ends[False].items())
    return Finding(
        "holds" if ok else "fails",
        f"P = 10, β1 = β2 = 0.5, α0 = 0.1, first step 0: after 4000 steps x is {text}; "
        "with Algorithm 2's first step the same ones are far from x* = -1",
        {str(kick): x for kick, x in ends.items()},
    )


def periods_of_s_and_g() -> Finding:
    """Settled runs: s and g repeat, s is least at kP, and g largest right after it."""
    worst, phases = 0.0, set[tuple[int, int]]()
    settings = [(P, b) for P in (5, 10, 20) for b in (0.5, 0.9)]
    for P, beta in settings:
        run = trajectory(
            dense(P), METHODS["acprop-paper"], beta1=beta, beta2=beta, alpha0=0.1, steps=4000
        )
        # index t - 1 is step t; the last two whole periods, from kP on
        start = (4000 // P - 2) * P - 1
        first, second = (run.s[start + i * P : start + (i + 1) * P] for i in (0, 1))
        worst = max(worst, float(np.max(np.abs(second / first - 1))))
        g = run.g[start : start + P]
        phases.add((int(np.argmin(first)), int(np.argmax(g))))
    ok = worst < 1e-6 and phases == {(0, 1)}
    return Finding(
        "holds" if ok else "fails",
        f"in {len(settings)} settled runs (P = 5, 10, 20; both betas 0.5 or 0.9) s "
        f"repeats up to {worst:.0e}, is smallest at kP, and the largest gradient comes "
        "at kP + 1",
        {"relative change": worst, "phases": sorted(phases)},
    )


def the_first_step_decides() -> Finding:
    short, long = (
        share(
            regions(
                "dense",
                PERIODS["dense"][::6],
                protocol("acprop-paper", beta1=0.9, kick=False, steps=steps),
            )[0]
        )[0]
        for steps in (10_000, 1_000_000)
    )
    ok = short < 0.9 and long == 1
    return Finding(
        "holds" if ok else "fails",
        f"without Algorithm 2's first step, α0·g/√ε, which throws x to the optimum, "
        f"{short:.1%} of the cells have converged at 10⁴ steps and {long:.1%} at 10⁶",
        {"10⁴ steps": short, "10⁶ steps": long},
    )


def no_dense_surprise() -> Finding:
    found = [
        r
        for beta1 in (0.5, 0.7, 0.9)
        for r in regions(
            "dense",
            PERIODS["dense"],
            protocol(*SYNC, *ASYNC, "rmsprop-centered", beta1=beta1),
        )
    ]
    bad = sum(len(surprises(r)) for r in found)
    n = sum(len(r.cells) for r in found)
    return Finding(
        "fails" if bad else "holds",
        f"{bad} of {n} cells have converged at 10⁴ steps against their drift",
        {"cells": n, "contradictions": bad},
    )


CLAIMS = (
    Claim(
        "fig-1-threshold",
        "paper",
        "central",
        "Fig. 1, caption",
        "“there's a threshold curve beyond which sync-optimizers (Adam, RMSProp, "
        "AdaBelief) will diverge”",
        sync_has_one_threshold_curve,
    ),
    Claim(
        "fig-1-threshold-corrected",
        "ours",
        "central",
        "Fig. 1, caption",
        "where β1 < √β2, the condition of Reddi et al., the border is one curve",
        one_curve_under_reddis_condition,
    ),
    *(
        Claim(
            f"fig-area-dense-{beta1}",
            "paper",
            "central",
            place,
            f"with β1 = {beta1} ACProp and AdaShift converge everywhere in 10⁴ steps",
            lambda beta1=beta1: area(beta1),
        )
        for beta1, place in (
            (0.5, "Appendix A.3, β1 = 0.5"),
            (0.7, "Appendix A.3, β1 = 0.7"),
            (0.9, "Fig. 1"),
        )
    ),
    Claim(
        "fig-2-trajectories",
        "paper",
        "central",
        "Fig. 2",
        "Adam, AdaBelief and RMSProp “diverge from the optimal”, ACProp and AdaShift "
        "converge, and a large delay n in AdaShift “could cause non-convergence”",
        trajectories,
    ),
    Claim(
        "fig-periods-dense",
        "paper",
        "proof step",
        "Appendix A.1, plots of S_t and g_t",
        "as k → ∞ “the behavior of ACProp is periodic”: the largest gradient appears "
        "at step kP + 1, and S takes its minimum at step kP",
        periods_of_s_and_g,
    ),
    Claim(
        "dense-no-contradiction",
        "ours",
        "central",
        "Fig. 1",
        "no cell of problem 1 converges at the horizon against its drift",
        no_dense_surprise,
    ),
    Claim(
        "dense-first-step",
        "ours",
        "proof step",
        "Fig. 1",
        "that async converges within 10⁴ steps is the work of the first step",
        the_first_step_decides,
    ),
    Claim(
        "dense-tiny-eps",
        "ours",
        "constant",
        "Fig. 1, Appendix A.3",
        "with ε = 1e-16 some cells of β1 = 0.5 need more than 10⁴ steps",
        a_tiny_eps_is_late,
    ),
)
