"""Where averaging first comes to rest: the plateau, its size, and what removes it."""

from functools import cache

import numpy as np

from acprop.lab.arrays import Floats
from acprop.lab.averaging_bounds import resting_gradient, resting_order
from acprop.lab.claims.averaging import HORIZONS, SKEWED, Stall, stall
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.methods import METHODS
from acprop.lab.nonconvex import problem

PLACE = "averaging before dividing"

BEFORE = METHODS["acprop-before"]
GRID1, GRID2 = (0.5, 0.7, 0.9), (0.5, 0.9, 0.99, 0.999)


@cache
def resting() -> Floats:
    """The gradient at which averaging first comes to rest, [β1, β2]; ε = 0.1."""
    noise = problem(SKEWED).noise
    beta1 = np.array(GRID1)[:, None]
    return resting_gradient(
        beta1, np.array(GRID2), noise, eps=0.1, steps=8000, lanes=500
    )


@claim("average-before-plateau", "ours", "central", PLACE)
def plateau() -> Finding:
    """The neighbourhood is needed: on skewed noise runs stall where ‖∇f‖² =
    ((1-β2)·Ψ·Eδ³/(2σ²))² as β2 → 1. It scales like (1-β2)², not like b(1-β2).
    """
    noise, rest = problem(SKEWED).noise, resting()
    runs = {
        (b1, b2): stall(BEFORE, beta1=b1, beta2=b2) for b1 in GRID1 for b2 in (0.5, 0.9)
    }
    squares = {key: rest[GRID1.index(key[0]), GRID2.index(key[1])] ** 2 for key in runs}
    near = all(0.9 < runs[k].late / squares[k] < 1.4 for k in runs)
    still = not any(run.goes_on for run in runs.values())
    order = [resting_order(b1, GRID2[-1], noise, eps=0.1) for b1 in GRID1]
    gaps = [float(abs(r / o - 1)) for r, o in zip(rest[:, -1], order, strict=True)]
    # From 1 - β2 = 0.001 to 0.01: 10 times for b(1-β2), 100 times for (1-β2)².
    growth = [float((row[2] / row[3]) ** 2) for row in rest]
    scaled = rest**2 / (np.array(GRID1) / (1 - np.array(GRID1)))[:, None]
    spread = scaled / (1 - np.array(GRID2))
    holds = near and still and max(gaps) < 0.05 and min(growth) > 80
    listed = ", ".join(
        f"{runs[k].late:.4f} (at rest {squares[k]:.4f}) at {k}" for k in runs
    )
    return Finding.of(
        holds,
        f"skewed noise, plateau of runs at T = 16k: {listed}; from 1 - β2 = 0.001 to "
        f"0.01 the square at rest grows {min(growth):.0f} to {max(growth):.0f} times, "
        f"and divided by b(1-β2) it is between {spread.min():.0e} and "
        f"{spread.max():.0e}",
        {
            "runs": {str(k): list(run) for k, run in runs.items()},
            "at rest": rest.tolist(),
            "first order at 0.999": order,
            "growth": growth,
            "over b(1-beta2)": spread.tolist(),
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
    return Stall(*(float(np.mean(squared[T - T // 4 : T])) for T in HORIZONS))


@claim("average-before-decaying-beta2", "ours", "central", PLACE)
def vanishes() -> Finding:
    """With β2,t = 1 - 1/t the neighbourhood vanishes."""
    found, fixed = decaying(), stall(BEFORE)
    return Finding.of(
        found.goes_on and not fixed.goes_on,
        f"mean squared gradient of the last quarter at T = 4k and 16k: {found} with "
        f"β2,t = 1 - 1/t, {fixed} with β2 = 0.9",
        {"decaying": list(found), "fixed": list(fixed)},
    )
