"""Which way ACProp drifts in the end on the paper's two periodic problems.

After many periods m, s and the guard's A repeat themselves. Each is an affine
recursion, so its periodic state is the one-period sum divided by 1 - (decay over the
period): no simulation, and valid for any P and β2.

Nothing is subtracted that could cancel. Both problems are a constant c plus impulses,
so m - c is a geometric tail β1^j and the residual needs no g - m; s and A are sums of
positive terms. They are kept as logarithms because β^P underflows (0.1^2000).
"""

from typing import Any, NamedTuple

import numpy as np

from acprop.rule import Convention

Array = Any


class Problem(NamedTuple):
    """One period of gradients: `rest`, and at each position a value instead.

    x* lies to the left, so a right drift is a positive sum of directions.

    ahead: None is a tensor of one element; otherwise a second element receives the same
        gradients so many steps earlier, and the two share one A.
    """

    P: int
    rest: float
    impulses: dict[int, float]
    ahead: int | None = None

    def gradients(self) -> Array:
        g = np.full(self.P, self.rest)
        g[list(self.impulses)] = list(self.impulses.values())
        return g

    def squared_sizes(self) -> Array:
        """w² = (Σg² / Σ|g|)² of the tensor."""
        size = np.abs(self.gradients())
        if self.ahead is None:
            return size**2
        both = np.stack([size, np.roll(size, -self.ahead)])
        total = np.sum(both, axis=0)
        return (np.sum(both**2, axis=0) / np.where(total > 0, total, 1)) ** 2


def dense(P: int) -> Problem:
    """Eq. 1: P at t mod P = 1, otherwise -1."""
    return Problem(P, -1.0, {0: float(P)})


def sparse(P: int) -> Problem:
    """Eq. 2: P/2 at t mod P = 1, -1 at t mod P = P - 2, otherwise 0."""
    return Problem(P, 0.0, {0: P / 2, P - 3: -1.0})


def log_squared_residuals(problem: Problem, beta1: Array) -> Array:
    """log (g_t - m_t)² over one period, along axis 0.

    With c = rest and u = m - c: between impulses u decays by β1, and the residual is
    -u_t; at an impulse it is β1·(g_t - c - u_{t-1}).
    """
    P, c = problem.P, problem.rest
    at = np.array(list(problem.impulses))
    jump = np.array(list(problem.impulses.values())) - c
    weight = (1 - beta1) / (1 - beta1**P)
    after = [  # u right after each impulse: the sum of all tails
        weight * sum(j * beta1 ** ((a - b) % P) for b, j in zip(at, jump, strict=True))
        for a in at
    ]
    out = np.empty((P, *np.shape(beta1)))
    with np.errstate(divide="ignore"):
        for i, a in enumerate(at):
            gap = int(at[(i + 1) % len(at)] - a) % P or P
            for j in range(gap):
                out[a + j] = 2 * (np.log(np.abs(after[i])) + j * np.log(beta1))
            before = after[i - 1] * beta1 ** (int(a - at[i - 1]) % P or P) / beta1
            out[a] = 2 * np.log(beta1 * np.abs(jump[i] - before))
    return out


def log_before_each_step(log_decay: Array, log_gain: Array) -> Array:
    """log y_{t-1} over one period of the periodic solution of y_t = decay·y + gain."""
    total = np.full(np.shape(log_gain[0]), -np.inf)
    for decay, gain in zip(log_decay, log_gain, strict=True):
        total = np.logaddexp(decay + total, gain)
    y = total - np.log(-np.expm1(np.sum(log_decay, axis=0)))
    before = np.empty_like(log_gain)
    for t, (decay, gain) in enumerate(zip(log_decay, log_gain, strict=True)):
        before[t] = y
        y = np.logaddexp(decay + y, gain)
    return before


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
    log_r2 = log_squared_residuals(problem, beta1)
    if convention.residual == "previous":
        log_r2 = log_r2 - 2 * np.log(beta1)
    decay = np.broadcast_to(np.log(beta2), log_r2.shape)
    log_s = log_before_each_step(decay, np.log1p(-beta2) + log_r2)
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
