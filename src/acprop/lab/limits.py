"""Where m, v and s settle on a periodic problem: closed forms at every phase.

After many periods the state repeats itself. A problem is a constant c ("rest") with
impulses, so with u = m - c and the impulses at phases a_i, J_i = g - c,

    u_{a_i}     = (1-β1)/(1-β1^P) · Σ_b J_b·β1^((a_i - a_b) mod P)
    u_{a_i+j}   = β1^j·u_{a_i}                                  until the next impulse
    r_{a_i}     = β1·(J_i - u_{a_i-1})                          r = g - m, Algorithm 2
    r_{a_i+j}   = -u_{a_i+j}
    s_{a_i+j}   = β2^(j+1)·s_{a_i-1} + (1-β2)·(β2^j·r_{a_i}² + β1²·u_{a_i}²·G_j)
    G_j         = (β2^j - β1^(2j)) / (β2 - β1²),  and  j·β2^(j-1)  where β1² = β2

and v likewise with g for r. Everything under a root is a sum of positive terms, kept
as a logarithm: β^P underflows, and g - m cancels where the state has settled (at small
β and large P a simulated s is wrong by orders of magnitude).
"""

from dataclasses import dataclass

import numpy as np

from acprop.checks import UserError
from acprop.lab.arrays import Array
from acprop.lab.problems import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The periodic state; the first axis is the phase t mod P, so [0] is t = kP.

    m is signed and the others positive, hence their logarithms.
    """

    m: Array
    log_v: Array
    log_s: Array

    @property
    def v(self) -> Array:
        """The uncentered second moment; 0 where it underflows."""
        return np.exp(self.log_v)

    @property
    def s(self) -> Array:
        """The centered second moment, residual against m_t; 0 where it underflows."""
        return np.exp(self.log_s)


def limits(problem: Problem, beta1: Array, beta2: Array) -> Limits:
    """The periodic state for every phase and every β1, β2 (which broadcast)."""
    beta1, beta2 = np.broadcast_arrays(np.float64(beta1), np.float64(beta2))
    return Limits(
        m=mean(problem, beta1),
        log_v=log_uncentered(problem, beta2),
        log_s=log_centered(problem, beta1, beta2),
    )


def mean(problem: Problem, beta1: Array) -> Array:
    """m at every phase."""
    impulses = _Impulses(problem, _open_unit("beta1", beta1))
    m = np.empty((impulses.P, *np.shape(beta1)))
    for i in range(impulses.n):
        where, j = impulses.phases(i, np.ndim(beta1))
        m[where] = impulses.c + impulses.after[i] * impulses.beta1**j
    return m


def log_uncentered(problem: Problem, beta2: Array) -> Array:
    """log v at every phase."""
    beta2 = _open_unit("beta2", beta2)
    impulses = _Impulses(problem, np.float64(0.5))  # any β1: v does not depend on m
    with np.errstate(divide="ignore"):  # a gradient of 0
        log_g2 = 2 * np.log(np.abs(problem.cycle[list(impulses.at)]))
        log_c2 = np.full(impulses.n, 2 * np.log(np.abs(problem.rest)))
    return _settled(impulses, np.log(beta2), log_g2, log_c2, np.float64(0.0))


def log_centered(problem: Problem, beta1: Array, beta2: Array) -> Array:
    """log s at every phase; β1 and β2 broadcast."""
    beta1, beta2 = _open_unit("beta1", beta1), _open_unit("beta2", beta2)
    impulses, log_beta1 = _Impulses(problem, beta1), np.log(beta1)
    with np.errstate(divide="ignore"):  # a residual of 0
        log_u2 = 2 * (np.log(np.abs(impulses.after)) + log_beta1)
        log_r2 = 2 * (np.log(np.abs(impulses.surprise)) + log_beta1)
    return _settled(impulses, np.log(beta2), log_r2, log_u2, 2 * log_beta1)


def _open_unit(name: str, beta: Array) -> Array:
    beta = np.asarray(beta, np.float64)
    if not np.all((beta > 0) & (beta < 1)):
        raise UserError(f"{name} must be between 0 and 1, got {beta}")
    return beta


class _Impulses:
    """How m goes round: where the impulses are, and u before and after each."""

    def __init__(self, problem: Problem, beta1: Array) -> None:
        self.P, self.c, self.at = problem.period, problem.rest, problem.impulses
        self.n, self.beta1 = len(self.at), beta1
        # how many phases from each impulse to the next, itself included
        following = (*self.at[1:], self.at[0])
        self.gaps = [
            (b - a) % self.P or self.P for a, b in zip(self.at, following, strict=True)
        ]
        jumps = dict(zip(self.at, problem.cycle[list(self.at)] - self.c, strict=True))
        weight = (1 - beta1) / -np.expm1(self.P * np.log(beta1))
        self.after = np.array(
            [
                weight * sum(J * beta1 ** ((a - b) % self.P) for b, J in jumps.items())
                for a in self.at
            ]
        )
        # J_i - u_{a_i - 1}: what the impulse adds to what was expected
        self.surprise = np.array(
            [
                J - self.after[i - 1] * beta1 ** (self.gaps[i - 1] - 1)
                for i, J in enumerate(jumps.values())
            ]
        )

    def phases(self, i: int, ndim: int) -> tuple[Array, Array]:
        """The phases from impulse i up to the next, and j = 0, 1 … along them."""
        j = np.arange(self.gaps[i])
        return (self.at[i] + j) % self.P, j.reshape(-1, *([1] * ndim))


def _settled(
    impulses: _Impulses,
    log_beta2: Array,
    log_first: Array,
    log_rest: Array,
    log_ratio: Array,
) -> Array:
    """log y of y_t = β2·y_{t-1} + (1 - β2)·w_t, where w is periodic.

    In the segment of impulse i: w = first_i, then rest_i·ratio^(j-1) for j = 1, 2 …
    """
    log_gain = np.log(-np.expm1(log_beta2))
    shape = np.broadcast_shapes(np.shape(log_beta2), np.shape(log_ratio))
    ndim = len(shape)
    own: list[Array] = []  # what a segment itself adds, at each of its phases
    for i in range(impulses.n):
        _, j = impulses.phases(i, ndim)
        first = j * log_beta2 + log_first[i]
        own.append(
            log_gain
            + np.logaddexp(first, log_rest[i] + _log_sum(j, log_beta2, log_ratio))
        )
    # once round: what all segments leave at the end of the last
    total = np.full(shape, -np.inf)
    for part, gap in zip(own, impulses.gaps, strict=True):
        total = np.logaddexp(total + gap * log_beta2, part[-1])
    y = total - np.log(-np.expm1(impulses.P * log_beta2))
    out = np.empty((impulses.P, *shape))
    for i in range(impulses.n):
        where, j = impulses.phases(i, ndim)
        out[where] = np.logaddexp((j + 1) * log_beta2 + y, own[i])
        y = out[where[-1]]
    return out


def _log_sum(j: Array, log_a: Array, log_b: Array) -> Array:
    """log Σ_{l=1..j} a^(j-l)·b^(l-1) = log (a^j - b^j)/(a - b); -∞ for j = 0.

    With h the larger and δ = |log a - log b| this is h^(j-1)·(1-e^(-jδ))/(1-e^(-δ)),
    and the quotient is j where δ = 0: nothing cancels at or near a = b.
    """
    high = np.maximum(log_a, log_b)
    delta = np.abs(log_a - log_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.expm1(-j * delta) / np.expm1(-delta)
        np.copyto(quotient, j, where=delta == 0)
        return np.log(quotient) + (j - 1) * high
