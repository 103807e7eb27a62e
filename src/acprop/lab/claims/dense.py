"""Section 3.1 and appendix A.1: Reddi's problem, synchronous against asynchronous."""

from dataclasses import replace

import numpy as np

from acprop.lab.boundaries import boundary
from acprop.lab.claims.claim import Claim, Finding
from acprop.lab.claims.grids import (
    PERIODS,
    SOME_BETA1,
    WIDE_BETA,
    WIDE_PERIODS,
    protocol,
)
from acprop.lab.drift import drift
from acprop.lab.limits import log_centered
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense
from acprop.lab.regions import regions, share, surprises
from acprop.rule import ADASHIFT, PAPER

SYNC = ("adam", "rmsprop", "adabelief")
ASYNC = ("acprop", "adashift")


def lowest_drift(name: str, *, eps: float) -> tuple[float, int]:
    """The smallest drift over the wide grid, and how many cells that has."""
    drifts = [
        drift(dense(P), METHODS[name], PAPER, beta1=b, beta2=WIDE_BETA, eps=eps)
        for P in WIDE_PERIODS
        for b in SOME_BETA1
    ]
    return float(np.min(drifts)), int(np.size(drifts))


def every_beta2_has_a_period_that_breaks_it() -> Finding:
    first: dict[str, int] = {}
    for name in ("adam", "rmsprop"):
        for beta2 in (0.5, 0.9, 0.99, 0.999, 0.9999):
            wrong = [
                P
                for P in (*range(3, 60), *np.geomspace(60, 3000, 60).astype(int))
                if drift(dense(int(P)), METHODS[name], PAPER, beta1=0.9, beta2=beta2)
                < 0
            ]
            if not wrong:
                return Finding("fails", f"{name} never drifts wrongly at β2 = {beta2}")
            first[f"{name}, β2 = {beta2}"] = int(wrong[0])
    worst = max(first.values())
    return Finding(
        "holds",
        f"with β1 = 0.9 Adam and RMSProp drift to the wrong end from some P ≤ {worst} "
        f"on for each of 5 β2 up to 0.9999",
        {"first wrong period": first},
    )


def rmsprop_has_a_threshold() -> Finding:
    found = boundary(
        "dense", METHODS["rmsprop"], beta1=0.9, periods=PERIODS["dense"], eps=0.0
    )
    single = [c for c in found.crossings if len(c.beta2) == 1]
    above = all(c.lowest == "diverges" for c in single)
    ok = above and len(single) == len(found.crossings)
    last = found.crossings[-1]
    return Finding(
        "holds" if ok else "fails",
        f"exactly one β2* for each P from 3 to 42, convergence above it: "
        f"{found.crossings[0].beta2[0]:.10f} at P = 3, "
        f"{last.beta2[0]:.10f} at P = {last.period}",
        {str(c.period): c.beta2 for c in found.crossings},
    )


def sync_has_one_threshold_curve() -> Finding:
    pockets: dict[str, list[int]] = {}
    for name in SYNC:
        for beta1 in (0.5, 0.7, 0.9):
            found = boundary(
                "dense", METHODS[name], beta1=beta1, periods=range(3, 43), eps=0.0
            )
            several = [c.period for c in found.crossings if len(c.beta2) > 1]
            if several:
                pockets[f"{name}, β1 = {beta1}"] = several
    where = "; ".join(f"{k}: P = {v}" for k, v in pockets.items())
    return Finding(
        "fails" if pockets else "holds",
        f"the border is not one curve: convergence returns at small β2 ({where})"
        if pockets
        else "one crossing at most for each P",
        pockets,
    )


def async_drifts_right() -> Finding:
    low = {name: lowest_drift(name, eps=0.0) for name in ASYNC}
    ok = all(value > 0 for value, _ in low.values())
    n = sum(cells for _, cells in low.values())
    return Finding(
        "holds" if ok else "fails",
        f"the exact drift is positive in all {n} cells (P to 1000, β1 from 0.001 to "
        f"0.999, β2 to 0.99999), smallest {min(v for v, _ in low.values()):.1e}",
        {name: value for name, (value, _) in low.items()},
    )


def s_is_smallest_before_the_spike() -> Finding:
    worst = -np.inf
    for P in WIDE_PERIODS:
        for beta1 in SOME_BETA1:
            log_s = log_centered(dense(P), beta1, WIDE_BETA)
            worst = max(worst, float(np.max(log_s[0] - np.min(log_s, axis=0))))
    # Where s hardly changes within a period, rounding decides which is smallest.
    return Finding(
        "holds" if worst < 1e-11 else "fails",
        f"log s_kP exceeds the smallest log s of its period by at most {worst:.0e} "
        f"over {len(WIDE_PERIODS) * len(SOME_BETA1) * len(WIDE_BETA)} cells",
        {"largest excess": worst},
    )


def area(beta1: float) -> Finding:
    found = regions("dense", PERIODS["dense"], protocol(*ASYNC, beta1=beta1))
    shares = {r.optimizer: share(r) for r in found}
    text = ", ".join(f"{k} {finite:.1%}" for k, (finite, _) in shares.items())
    limit = min(limit for _, limit in shares.values())
    return Finding(
        "holds" if all(finite == 1 for finite, _ in shares.values()) else "fails",
        f"converged on our 40 × 40 grid: {text}; in the limit {limit:.0%}",
        {k: {"finite": f, "limit": a} for k, (f, a) in shares.items()},
    )


def the_first_step_decides() -> Finding:
    short, long = (
        share(
            regions(
                "dense",
                PERIODS["dense"][::6],
                protocol("acprop", beta1=0.9, kick=False, steps=steps),
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


def a_long_delay_breaks_it() -> Finding:
    signs = {
        n: float(
            drift(
                dense(10),
                replace(METHODS["adashift"], rule=replace(ADASHIFT, delay=n)),
                PAPER,
                beta1=0.5,
                beta2=0.5,
            )
        )
        for n in range(1, 31)
    }
    wrong = [n for n, value in signs.items() if value < 0]
    return Finding(
        "holds" if signs[1] > 0 and wrong else "fails",
        f"at P = 10, β1 = β2 = 0.5 AdaShift drifts right for n = 1 and wrongly for "
        f"n = {', '.join(map(str, wrong))}",
        {str(n): value for n, value in signs.items()},
    )


def amsgrad_always_converges() -> Finding:
    value, n = lowest_drift("amsgrad", eps=0.0)
    return Finding(
        "holds" if value > 0 else "fails",
        f"once the maximum stands still the drift is that of Σm = Σg = 1 > 0: "
        f"positive in all {n} cells",
        {"lowest drift": value},
    )


def threshold_at_large_periods() -> Finding:
    scaled = {
        P: (
            1
            - boundary("dense", METHODS["rmsprop"], beta1=0.9, periods=[P], eps=0.0)
            .crossings[0]
            .beta2[-1]
        )
        * P**2
        for P in (100, 1000, 10_000)
    }
    error = abs(scaled[10_000] - 4)
    return Finding(
        "holds" if error < 0.01 else "fails",
        f"(1 - β2*)·P² is {scaled[100]:.4f}, {scaled[1000]:.4f}, {scaled[10_000]:.4f} "
        "at P = 10², 10³, 10⁴",
        {str(P): value for P, value in scaled.items()},
    )


CLAIMS = (
    Claim(
        "lemma-3.1",
        "paper",
        "Lemma 3.1",
        "for every β2 there is a P at which Adam and RMSProp fail on problem 1",
        every_beta2_has_a_period_that_breaks_it,
    ),
    Claim(
        "lemma-3.2",
        "paper",
        "Lemma 3.2",
        "for every P there is a threshold of β2 above which RMSProp converges",
        rmsprop_has_a_threshold,
    ),
    Claim(
        "fig-1-threshold",
        "paper",
        "Section 3.1, Fig. 1",
        "one threshold curve bounds the area of Adam, RMSProp and AdaBelief",
        sync_has_one_threshold_curve,
    ),
    Claim(
        "lemma-3.3",
        "paper",
        "Lemma 3.3, in the limit",
        "ACProp and AdaShift (n = 1) converge on problem 1 for all β1, β2, P",
        async_drifts_right,
    ),
    Claim(
        "lemma-3.3-minimum",
        "paper",
        "Appendix A.1",
        "s is smallest just before the large gradient",
        s_is_smallest_before_the_spike,
    ),
    *(
        Claim(
            f"fig-area-dense-{beta1}",
            "paper",
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
        "adashift-long-delay",
        "paper",
        "Section 3.1, Fig. 2",
        "a larger delay n can make AdaShift diverge on problem 1",
        a_long_delay_breaks_it,
    ),
    Claim(
        "amsgrad-converges",
        "paper",
        "Section 3.1, remark",
        "AMSGrad always converges on problem 1",
        amsgrad_always_converges,
    ),
    Claim(
        "dense-no-contradiction",
        "ours",
        "Fig. 1",
        "no cell of problem 1 converges at the horizon against its drift",
        no_dense_surprise,
    ),
    Claim(
        "dense-first-step",
        "ours",
        "Fig. 1",
        "that async converges within 10⁴ steps is the work of the first step",
        the_first_step_decides,
    ),
    Claim(
        "rmsprop-threshold-scaling",
        "ours",
        "Lemma 3.2",
        "RMSProp's threshold on problem 1 tends to 1 - 4/P²",
        threshold_at_large_periods,
    ),
)
