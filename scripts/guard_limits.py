"""Which way variants of the guard drift in the end on the paper's periodic problems.

m and s settle as in `acprop.lab.limits`. What the laboratory does not have: a tensor of
two elements that share one A, an A that only follows slowly, and a clip.
"""

from typing import Any, NamedTuple

import numpy as np

from acprop.lab import problems
from acprop.lab.limits import log_centered
from acprop.rule import Convention

Array = Any


class Problem(NamedTuple):
    """One period of gradients, from t = 1 on.

    x* lies to the left, so a right drift is a positive sum of directions.

    ahead: None is a tensor of one element; otherwise a second element receives the same
        gradients so many steps earlier, and the two share one A.
    """

    periodic: problems.Problem
    ahead: int | None = None

    @property
    def P(self) -> int:  # noqa: N802
        return self.periodic.period

    def gradients(self) -> Array:
        return np.roll(self.periodic.cycle, -1)

    def squared_sizes(self) -> Array:
        """w² = (Σg² / Σ|g|)² of the tensor."""
        size = np.abs(self.gradients())
        if self.ahead is None:
            return size**2
        both = np.stack([size, np.roll(size, -self.ahead)])
        total = np.sum(both, axis=0)
        return (np.sum(both**2, axis=0) / np.where(total > 0, total, 1)) ** 2


def dense(P: int) -> Problem:
    """Eq. 1."""
    return Problem(problems.dense(P))


def sparse(P: int) -> Problem:
    """Eq. 2."""
    return Problem(problems.sparse(P))


def log_denominators(
    problem: Problem,
    convention: Convention,
    *,
    beta1: Array,
    beta2: Array,
    eps: float,
    rise: bool = True,
) -> Array:
    """log of what g_t is divided by, t over one period, in the limit k, n → ∞.

    There the bias correction is 1, the prior is gone, A's pace is (1 - β2)/10 and the
    clamp no longer binds.
    """
    beta1, beta2 = np.broadcast_arrays(beta1, beta2)
    # what step t = i + 1 divides by is s at the phase i
    log_s = log_centered(problem.periodic, beta1, beta2)
    if convention.residual == "previous":
        log_s = log_s - 2 * np.log(beta1)
    with np.errstate(divide="ignore"):  # log 0 = -inf: a floor of nothing
        log_eps, log_kappa2 = np.log(eps), 2 * np.log(convention.kappa)
        log_A = np.log(scale(problem, beta2, rise=rise))
    radicand = np.logaddexp(log_s, log_kappa2 + log_A)
    if convention.eps_placement == "inside":
        return np.logaddexp(radicand, log_eps) / 2
    if convention.eps_placement == "accumulated":
        radicand = np.logaddexp(radicand, log_eps - np.log1p(-beta2))
    return np.logaddexp(radicand / 2, log_eps)


def scale(problem: Problem, beta2: Array, *, rise: bool = True) -> Array:
    """A before each step; gradients that are zero throughout leave it alone.

    With `rise`, as in the package, A is the largest w² right after it.
    """
    w2 = problem.squared_sizes()
    first = int(np.argmax(w2)) + 1
    pace = (1 - beta2) / 10

    def walk(A: Array, out: list[Array]) -> Array:
        for new in np.roll(w2, -first):
            out.append(A)
            A = A + (new - A) * pace if new > 0 else A
            A = np.maximum(A, new) if rise else A
        return A

    start = np.full(np.shape(beta2), np.max(w2))
    if not rise:
        # What one period adds, over what it takes away: 1 - (1 - pace)^n.
        lost = -np.expm1(np.count_nonzero(w2) * np.log1p(-pace))
        start = walk(np.zeros(np.shape(beta2)), []) / lost
    out: list[Array] = []
    walk(start, out)
    return np.roll(np.array(out), first, axis=0)


def drift(
    problem: Problem,
    convention: Convention,
    *,
    beta1: Array,
    beta2: Array,
    eps: float = 0.0,
    clip: float = np.inf,
    rise: bool = True,
) -> Array:
    """Σ d_t / Σ |d_t| over one period in the limit; positive is the right way."""
    log_den = log_denominators(
        problem, convention, beta1=beta1, beta2=beta2, eps=eps, rise=rise
    )
    g = problem.gradients().reshape(-1, *([1] * (log_den.ndim - 1)))
    with np.errstate(divide="ignore"):
        log_d = np.minimum(np.log(np.abs(g)) - log_den, np.log(clip))
    size = np.exp(log_d - np.max(log_d, axis=0))
    return np.sum(np.sign(g) * size, axis=0) / np.sum(size, axis=0)
