"""Averaging before dividing: borders on the dense problem, and where runs stall."""

from functools import cache

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.averaging_bounds import resting_gradient, resting_order
from acprop.lab.claims.averaging import HORIZONS, SKEWED, Stall, stall
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.claims.grids import drifts
from acprop.lab.methods import METHODS
from acprop.lab.nonconvex import problem
from acprop.lab.phase import (
    UNCENTERED,
    band_end,
    critical_beta1,
    scaled_border,
    threshold,
)
from acprop.rule import ACPROP_BEFORE, Rule

BETA1 = (0.6, 0.7, 0.8, 0.9)
LARGE = 1000
PERIODS = (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
BEFORE = METHODS["acprop-before"]
COMPARED = {
    "centered, delay 1": BEFORE,
    "uncentered, delay 1": UNCENTERED,
    "AdaBelief": METHODS["adabelief"],
    "Adam": METHODS["adam"],
}
# of the plateau
FIRST = "averaging before dividing"
GRID1, GRID2 = (0.5, 0.7, 0.9), (0.5, 0.9, 0.99, 0.999)


@claim("averaging-first-threshold", "ours", "central", "Lemma 3.3")
def near_one() -> Finding:
    """For m/√s on the dense problem (1 - β2*)·P² tends to 4(1+β1+β1²)/(2β1³+2β1²-1)
    with a delay of 1 and to 4/(1 - (1-β1)/(1+β1+β1²)) without (AdaBelief); uncentered
    to 4/(2β1-1) and to 4 (Adam).
    """
    # (1 - β2*)·P² at P and 2P; what is left falls as 1/P, so it is extrapolated.
    rows: dict[str, dict[str, list[float]]] = {}
    worst = 0.0
    for label, method in COMPARED.items():
        rows[label] = {}
        for beta1 in BETA1:
            assert isinstance(method.rule, Rule)
            once, twice = (scaled_border(method, beta1, P) for P in (LARGE, 2 * LARGE))
            limit = threshold(method.rule, beta1)
            worst = max(worst, abs(2 * twice - once - limit) / limit)
            rows[label][str(beta1)] = [once, 2 * twice - once, limit]
    text = ", ".join(
        f"{once:.2f} at β1 = {beta1} ({limit:.2f} in the limit)"
        for beta1, (once, _, limit) in rows["centered, delay 1"].items()
    )
    return Finding.of(
        worst < 2e-3,
        f"at P = {LARGE} (1 - β2*)·P² is {text}; extrapolated from P and 2P, four "
        f"rules and {len(BETA1)} β1 differ from their formulas by at most {worst:.0e}",
        {"borders": rows, "worst": worst},
    )


def wrong_cells(beta1: float) -> int:
    """Of 14 periods and 120 β2, how many drift away from x*."""
    beta2 = 1 - np.geomspace(0.99, 1e-8, 120)
    return int(np.sum(drifts("dense", "acprop-before", PERIODS, beta1, beta2) <= 0))


@claim("averaging-first-critical-beta1", "ours", "central", "Lemma 3.3")
def protected() -> Finding:
    """Averaging first keeps Lemma 3.3 for 2β1³ + 2β1² ≤ 1, β1 ≤ 0.5652, and loses it
    above.
    """
    critical = critical_beta1(ACPROP_BEFORE)
    below = [wrong_cells(b) for b in (0.1, 0.3, 0.5, critical - 0.001)]
    above = {b: wrong_cells(b) for b in (critical + 0.02, 0.7, 0.9)}
    root = 2 * critical**3 + 2 * critical**2
    text = ", ".join(f"{n} at {b:.4g}" for b, n in above.items())
    return Finding.of(
        not any(below) and all(above.values()) and abs(root - 1) < 1e-12,
        f"2β1³ + 2β1² = 1 at β1 = {critical:.4f}; of {len(PERIODS) * 120} cells "
        f"{sum(below)} are wrong for β1 from 0.1 to just below it, above it {text}",
        {"critical": critical, "below": below, "above": text},
    )


@claim("averaging-first-band", "ours", "central", "Lemma 3.3")
def band() -> Finding:
    """Above the critical β1 the drift is wrong in a band c*/P² < 1 - β2 < a*/P."""
    P, rows = 4 * LARGE, dict[str, list[float]]()
    for beta1 in BETA1:
        a = band_end(ACPROP_BEFORE, beta1)
        gap = a / P * np.linspace(0.9, 1.1, 401)
        (found,) = drifts("dense", "acprop-before", [P], beta1, 1 - gap)
        rows[str(beta1)] = [float(gap[found < 0].max()) * P, a]
    worst = max(abs(last / a - 1) for last, a in rows.values())
    text = ", ".join(f"{last:.2f} ({a:.2f})" for last, a in rows.values())
    return Finding.of(
        worst < 0.02,
        f"at P = {P} and β1 = 0.6, 0.7, 0.8, 0.9 the drift is right again from "
        f"(1 - β2)·P = {text} on; in brackets the limit",
        {"ends": rows, "worst": worst},
    )


@cache
def resting() -> Floats:
    """The gradient at which averaging first comes to rest, [β1, β2]; ε = 0.1."""
    noise, beta1 = problem(SKEWED).noise, np.array(GRID1)[:, None]
    return resting_gradient(
        beta1, np.array(GRID2), noise, eps=0.1, steps=8000, lanes=500
    )


@claim("average-before-plateau", "ours", "central", FIRST)
def plateau() -> Finding:
    """The neighbourhood is needed: on skewed noise runs stall where ‖∇f‖² =
    ((1-β2)·Ψ·Eδ³/(2σ²))² as β2 → 1. It scales like (1-β2)², not like b(1-β2).
    """
    noise, rest = problem(SKEWED).noise, resting()
    cells = [(i, j) for i in range(len(GRID1)) for j in (0, 1)]
    runs = {
        (GRID1[i], GRID2[j]): (
            stall(BEFORE, beta1=GRID1[i], beta2=GRID2[j]),
            float(rest[i, j] ** 2),
        )
        for i, j in cells
    }
    near = all(0.9 < run.late / square < 1.4 for run, square in runs.values())
    still = not any(run.goes_on for run, _ in runs.values())
    order = [resting_order(b1, GRID2[-1], noise, eps=0.1) for b1 in GRID1]
    gaps = [float(abs(r / o - 1)) for r, o in zip(rest[:, -1], order, strict=True)]
    # From 1 - β2 = 0.001 to 0.01: 10 times for b(1-β2), 100 times for (1-β2)².
    growth = [float((row[2] / row[3]) ** 2) for row in rest]
    b = (np.array(GRID1) / (1 - np.array(GRID1)))[:, None]
    spread = rest**2 / b / (1 - np.array(GRID2))
    text = ", ".join(
        f"{run.late:.4f} (at rest {square:.4f}) at {betas}"
        for betas, (run, square) in runs.items()
    )
    return Finding.of(
        near and still and max(gaps) < 0.05 and min(growth) > 80,
        f"skewed noise, plateau of runs at T = 16k: {text}; from 1 - β2 = 0.001 to "
        f"0.01 the square at rest grows {min(growth):.0f} to {max(growth):.0f} times, "
        f"and divided by b(1-β2) it is between {spread.min():.0e} and "
        f"{spread.max():.0e}",
        {
            "runs": {str(betas): list(run) for betas, (run, _) in runs.items()},
            "at rest": rest.tolist(),
            "first order at 0.999": order,
            "growth": growth,
        },
    )


def decaying() -> Stall:
    """The same runs with β2,t = 1 - 1/t: s is the plain mean of all r²."""
    p, rng = problem(SKEWED), np.random.default_rng(0)
    x = np.tile(np.array(p.x0), (256, 1))
    m, s = np.zeros_like(x), np.zeros_like(x)
    squared = np.empty(HORIZONS[1])
    for t in range(1, len(squared) + 1):
        gradient = p.gradient(x)
        squared[t - 1] = np.mean(gradient**2)
        g = gradient + p.noise.draw(rng, gradient)
        m = 0.9 * m + 0.1 * g
        x = x - 0.1 / np.sqrt(t) * m / (np.sqrt(s) + 0.1)
        s = s + ((g - m) ** 2 - s) / t
    return Stall.of(squared)


@claim("average-before-decaying-beta2", "ours", "central", FIRST)
def vanishes() -> Finding:
    """With β2,t = 1 - 1/t the neighbourhood vanishes."""
    found, fixed = decaying(), stall(BEFORE)
    return Finding.of(
        found.goes_on and not fixed.goes_on,
        f"mean squared gradient of the last quarter at T = 4k and 16k: {found} with "
        f"β2,t = 1 - 1/t, {fixed} with β2 = 0.9",
        {"decaying": list(found), "fixed": list(fixed)},
    )
