"""Where in the (P, β2) plane a method converges: at a horizon, and in the end.

Two verdicts for every cell. The paper's (Fig. 1): run 10⁴ steps with six initial
learning rates; converged if for one of them the mean of |x - x*| over the last 1000
steps is below 0.01. And the exact one: the sign of the drift as t → ∞.

They may differ in two ways. If the drift is right but x is not there yet, the cell is
"undecided" at this horizon. If the drift is wrong but x is there now, `surprises` lists
the cell. The dense problem has no such cells, because x0 = 0 is far from x*. The sparse
problem has some: a small step oscillates near the left end during the whole run.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np

from acprop.checks import UserError
from acprop.lab.arrays import Floats
from acprop.lab.drift import drift
from acprop.lab.methods import Method
from acprop.lab.problems import Problem, periodic
from acprop.lab.simulate import Sweep, distances
from acprop.records import Cell, Region

CONVERGED = 0.01  # Fig. 1: "the average distance … is below 0.01"


def regions(
    problem: str, periods: Sequence[int], sweep: Sweep, *, x0: float | None = None
) -> list[Region]:
    """One region for each method of the sweep."""
    problems = [periodic(problem, P, x0=x0) for P in periods]
    if not (problems and sweep.beta2 and sweep.alpha0 and sweep.methods):
        raise UserError("periods, beta2, alpha0 and optimizers must not be empty")
    return [_region(problems, sweep, method) for method in sweep.methods]


def surprises(region: Region) -> list[Cell]:
    """Cells that have converged at the horizon though the drift is wrong."""
    return [
        cell
        for cell in region.cells
        if cell.finite == "converged" and cell.asymptotic == "diverges"
    ]


def share(region: Region) -> tuple[float, float]:
    """The share of cells that converge: at the horizon, and in the end."""
    n = len(region.cells)
    finite = sum(cell.finite == "converged" for cell in region.cells)
    return finite / n, sum(c.asymptotic == "converges" for c in region.cells) / n


def _region(problems: Sequence[Problem], sweep: Sweep, method: Method) -> Region:
    far = distances(problems, replace(sweep, methods=(method,)))[0]
    beta2 = np.array(sweep.beta2)

    def toward(problem: Problem) -> Floats:
        return drift(
            problem,
            method,
            sweep.convention,
            beta1=sweep.beta1,
            beta2=beta2,
            eps=sweep.eps,
        )

    # numpy lets go of the interpreter's lock in its long loops
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        drifts = np.stack(list(pool.map(toward, problems)))
    cells: list[Cell] = []
    for (i, problem), (j, b) in product(enumerate(problems), enumerate(sweep.beta2)):
        k, d = int(np.argmin(far[:, i, j])), float(drifts[i, j])
        distance = float(far[k, i, j])
        finite = "undecided" if d > 0 else "not converged"
        cells.append(
            Cell(
                problem.period,
                b,
                "converged" if distance < CONVERGED else finite,
                sweep.alpha0[k],
                distance,
                d,
                "converges" if d > 0 else "diverges",
            )
        )
    return Region(
        problem=problems[0].name,
        optimizer=method.name,
        beta1=sweep.beta1,
        convention=sweep.convention.name,
        steps=sweep.steps,
        cells=tuple(cells),
    )
