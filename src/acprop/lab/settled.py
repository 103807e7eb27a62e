"""Where s and M go if s is centered on what the average implies: no closed form.

With center="average" the second moment s depends on the average M, and M on s:

    D_t = √s_{t-1} (and ε)      u_t = clip(g_t/D_t, ±c)
    r_t = g_t - D_t·clip(M_{t-1}, ±1)
    M_t = β1·M_{t-1} + (1 - β1)·u_t
    s_t = β2·s_{t-1} + (1 - β2)·(1 + β1)/2·r_t²

One period maps the state at its start to that at its end. After some plain periods
Newton's method looks for a state that is mapped to itself. It has settled if the map
contracts there and the plain periods came as close as that allows. Otherwise (small β2,
mostly on the sparse problem) the state goes round in a longer cycle or in none. Then
`settle` gives the mean over many periods.
"""

import math
from dataclasses import dataclass

import numpy as np

from acprop.lab.arrays import Array, Floats
from acprop.lab.period_map import Numbers, flat_start, run, tangents
from acprop.lab.problems import Problem
from acprop.rule import Convention

# Plain periods before Newton's method, and in the mean of what has not settled.
WARM = 64
MEAN_PERIODS, MEAN_STEPS = 60, 10_000
# How far the settled state may still move in a period, as logarithms.
SETTLED = 1e-11
ITERATIONS = 40
# Newton's step is cut to this many e-folds.
REACH = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What happens in the end, for every β1 and β2.

    drift: Σ d_t / Σ |d_t|. log_largest: log of the largest |u_t|.
    is_settled: does the state repeat with the problem's period?
    """

    drift: Array
    log_largest: Array
    is_settled: Array


def settle(
    problem: Problem,
    convention: Convention,
    *,
    beta1: Array,
    beta2: Array,
    eps: float,
    nesterov: bool,
    log_bound: float = math.inf,
) -> Settled:
    """Every β1 and β2 (which broadcast), with a clip that stays at c = e^log_bound."""
    beta1, beta2 = np.broadcast_arrays(np.float64(beta1), np.float64(beta2))
    h = Numbers(
        beta1.ravel(),
        beta2.ravel(),
        math.log(eps) if eps else -math.inf,
        convention.eps_placement,
        log_bound,
        nesterov,
    )
    start = flat_start(problem, h)
    warm, _ = run(problem, h, start, periods=WARM)
    fixed, left, radius = _newton(problem, h, warm)
    attracts = (left <= SETTLED) & (radius < 1)

    def arrives(lanes: Array, at: Floats, periods: int) -> Array:
        """Have plain periods come as close to the fixed state as it attracts?"""
        far = np.minimum(_size(start[:, lanes] - fixed[:, lanes]), 300)
        shrunk = np.minimum(radius[lanes], 1) ** periods
        # Distances of s itself shrink so; these are logarithms.
        allowed = np.maximum(1e-3, np.log1p(3 * shrunk * np.expm1(far)))
        return attracts[lanes] & (_size(at - fixed[:, lanes]) <= allowed)

    _, totals = run(problem, h, fixed, periods=1)
    settled = arrives(np.arange(len(radius)), warm, WARM)
    rest = np.flatnonzero(~settled)
    if len(rest):
        n = max(MEAN_PERIODS, MEAN_STEPS // problem.period)
        at, mean = run(problem, h.only(rest), warm[:, rest], periods=n)
        settled[rest] = arrives(rest, at, WARM + n)
        astray = ~settled[rest]
        for one_period, many in zip(totals, mean, strict=True):
            one_period[rest[astray]] = many[astray]
    values = totals.signed / totals.size, totals.log_largest, settled
    return Settled(*(value.reshape(beta1.shape) for value in values))


def _size(move: Floats) -> Floats:
    return np.max(np.abs(move), axis=0)


def _newton(
    problem: Problem, h: Numbers, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """A state that a period maps to itself, what is left to move, and the radius.

    A step of Newton's that did not bring the state nearer is followed by a plain one.
    """
    flat, n = np.array(start), start.shape[1]
    active = np.ones(n, bool)
    left, radius = np.full(n, np.inf), np.full(n, np.inf)
    for k in range(ITERATIONS):
        now = flat[:, active]
        end, jacobian = tangents(problem, h.only(active), now)
        move, last = end - now, left[active]
        size = _size(move)
        left[active], radius[active] = size, _radius(jacobian)
        step = _solve(jacobian, move)
        usable = ((size < last) | (k == 0)) & np.all(np.isfinite(step), axis=0)
        step = step * np.minimum(1, REACH / np.maximum(_size(step), REACH))
        found = np.where(usable, now + step, end)
        flat[:, active] = np.where(size > SETTLED / 10, found, now)
        active[active] = size > SETTLED / 10
        if not np.any(active):
            break
    return flat, left, radius


def _solve(jacobian: Floats, move: Floats) -> Floats:
    """δ with (1 - J)·δ = move, lane by lane."""
    a, b = 1 - jacobian[0, 0], -jacobian[0, 1]
    c, d = -jacobian[1, 0], 1 - jacobian[1, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.stack([d * move[0] - b * move[1], a * move[1] - c * move[0]])
        return step / (a * d - b * c)


def _radius(jacobian: Floats) -> Floats:
    """The spectral radius of 2 × 2 matrices whose first axes are row and column."""
    half = (jacobian[0, 0] + jacobian[1, 1]) / 2
    det = jacobian[0, 0] * jacobian[1, 1] - jacobian[0, 1] * jacobian[1, 0]
    root = np.sqrt(half**2 - det + 0j)
    return np.maximum(np.abs(half + root), np.abs(half - root))
