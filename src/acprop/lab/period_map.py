"""One period of a rule that is centered on its average, as a map of s and M.

s and M are kept as logarithms, M with its sign: on the sparse problem both leave the
range of float64. The unknowns of the map are log s and

    z = M  where |M| ≤ 1,  else  sign M·(1 + log |M|)        dz = dM / max(|M|, 1)

and `tangents` has its exact derivatives by them. `settled` has the formulas of a step.
"""

import math
from typing import NamedTuple

import numpy as np

from acprop.lab.arrays import Array, Floats
from acprop.lab.problems import Problem


class Numbers(NamedTuple):
    """What a step needs besides the state; arrays have one axis, the lane.

    log_bound: log of the clip c.
    """

    beta1: Array
    beta2: Array
    log_eps: float
    placement: str
    log_bound: float
    nesterov: bool

    def only(self, lanes: Array) -> "Numbers":
        """The same for some of the lanes."""
        return self._replace(beta1=self.beta1[lanes], beta2=self.beta2[lanes])


class Totals(NamedTuple):
    """Σ d_t and Σ |d_t| of some periods, both over e^log_top, and the largest |u_t|."""

    log_top: Array
    signed: Array
    size: Array
    log_largest: Array


class _State(NamedTuple):
    """log s, and M as its sign and log |M|."""

    log_s: Array
    sign: Array
    log_m: Array

    @property
    def flat(self) -> Floats:
        """The unknowns."""
        inside = self.sign * np.exp(np.minimum(self.log_m, 0))
        outside = self.sign * (1 + self.log_m)
        out = np.empty((2, len(inside)))
        out[0], out[1] = self.log_s, np.where(self.log_m > 0, outside, inside)
        return out

    @classmethod
    def at(cls, flat: Floats) -> "_State":
        """The way back."""
        log_s, z = flat
        size: Floats = np.abs(z)
        with np.errstate(divide="ignore"):
            log_m = np.where(size > 1, size - 1, np.log(size))
        return cls(log_s, np.sign(z), log_m)


class _Moved(NamedTuple):
    """A step: the state after it, log D, the residual, u with its sign."""

    state: _State
    log_d: Array
    sign_r: Array
    log_r: Array
    sign_u: float
    log_u: Array


def flat_start(problem: Problem, h: Numbers) -> Floats:
    """The unknowns before step 1: M = 0 and the s that step 1 leaves, corrected."""
    first = 2 * math.log(abs(problem.cycle[1]))
    return np.stack([first + np.log((1 + h.beta1) / 2), np.zeros_like(h.beta1)])


def run(
    problem: Problem, h: Numbers, flat: Floats, *, periods: int
) -> tuple[Floats, Totals]:
    """Go round so many times from before step 1; the unknowns after it, the totals."""
    state, walk, P = _State.at(flat), _Walk(h), problem.period
    zero = np.zeros(flat.shape[1])
    totals = Totals(zero - np.inf, zero, zero, zero - np.inf)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for t in range(1, periods * P + 1):
            moved = walk.step(state, float(problem.cycle[t % P]))
            state = moved.state
            totals = walk.add(totals, moved)
    return state.flat, totals


def tangents(problem: Problem, h: Numbers, flat: Floats) -> tuple[Floats, Floats]:
    """The unknowns after a period, and their derivatives [of, by, lane]."""
    state, walk, P = _State.at(flat), _Walk(h), problem.period
    tangent = np.zeros((2, 2, flat.shape[1]))
    tangent[0, 0] = tangent[1, 1] = 1.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for t in range(1, P + 1):
            moved = walk.step(state, float(problem.cycle[t % P]))
            tangent = walk.tangent(tangent, state, moved)
            state = moved.state
    return state.flat, tangent


class _Walk:
    """The steps of some lanes; logarithms of what does not change are kept."""

    def __init__(self, h: Numbers) -> None:
        self.h = h
        with np.errstate(divide="ignore"):
            self.log_beta1, self.log_new = np.log(h.beta1), np.log1p(-h.beta1)
            self.log_beta2 = np.log(h.beta2)
        self.log_gain = np.log1p(-h.beta2) + np.log((1 + h.beta1) / 2)

    def step(self, old: _State, g: float) -> _Moved:
        """Take one gradient."""
        log_d = self._denominator(old.log_s)
        within = np.minimum(old.log_m, 0)
        if g == 0:
            sign_r, log_r = -old.sign, log_d + within
            sign_u, log_u = 0.0, np.full_like(log_d, -np.inf)
        else:
            r = g - np.exp(log_d + within) * old.sign
            sign_r, log_r = np.sign(r), np.log(np.abs(r))
            sign_u = math.copysign(1.0, g)
            log_u = np.minimum(math.log(abs(g)) - log_d, self.h.log_bound)
        log_s = np.logaddexp(self.log_beta2 + old.log_s, self.log_gain + 2 * log_r)
        if self.h.placement == "accumulated":
            log_s = np.logaddexp(log_s, self.h.log_eps)
        sign, log_m = self._mean(old.sign, old.log_m, sign_u, log_u)
        return _Moved(_State(log_s, sign, log_m), log_d, sign_r, log_r, sign_u, log_u)

    def tangent(self, tangent: Array, old: _State, moved: _Moved) -> Array:
        """The derivatives of log s and z after a step, by those before it."""
        new, log_d = moved.state, moved.log_d
        by_d = self._share(old.log_s, log_d) * tangent[0]
        c = old.sign * np.exp(np.minimum(old.log_m, 0))
        by_c = c * by_d + tangent[1] * (old.log_m < 0)
        keep = np.exp(self.log_beta2 + old.log_s - new.log_s)
        push = np.exp(self.log_gain + moved.log_r + log_d - new.log_s)
        by_s = keep * tangent[0] - 2 * moved.sign_r * push * by_c
        log_high = np.maximum(new.log_m, 0)
        stay = np.exp(self.log_beta1 + np.maximum(old.log_m, 0) - log_high)
        free = moved.sign_u * (moved.log_u < self.h.log_bound)
        fresh = np.exp(self.log_new + moved.log_u - log_high)
        return np.stack([by_s, stay * tangent[1] - free * fresh * by_d])

    def add(self, totals: Totals, moved: _Moved) -> Totals:
        """The totals with one step more."""
        state = moved.state
        sign, log_d = state.sign, state.log_m
        if self.h.nesterov:
            sign, log_d = self._mean(sign, log_d, moved.sign_u, moved.log_u)
        log_top = np.maximum(totals.log_top, log_d)
        here = np.where(log_top > -np.inf, log_top, 0.0)
        shrink, size = np.exp(totals.log_top - here), np.exp(log_d - here)
        return Totals(
            log_top,
            shrink * totals.signed + sign * size,
            shrink * totals.size + size,
            np.maximum(totals.log_largest, moved.log_u),
        )

    def _mean(
        self, sign: Array, log_m: Array, sign_u: float, log_u: Array
    ) -> tuple[Array, Array]:
        """β1·M + (1 - β1)·u."""
        if sign_u == 0:
            return sign, self.log_beta1 + log_m
        log_a, log_b = self.log_beta1 + log_m, self.log_new + log_u
        top = np.maximum(log_a, log_b)
        total = sign * np.exp(log_a - top) + sign_u * np.exp(log_b - top)
        return np.sign(total), top + np.log(np.abs(total))

    def _denominator(self, log_s: Array) -> Array:
        """log D."""
        log_eps = self.h.log_eps
        if log_eps == -math.inf:
            return log_s / 2
        if self.h.placement == "inside":
            return np.logaddexp(log_s, log_eps) / 2
        return np.logaddexp(log_s / 2, log_eps)

    def _share(self, log_s: Array, log_d: Array) -> Array:
        """d log D/d log s."""
        inside = self.h.placement == "inside"
        return np.exp(log_s - 2 * log_d if inside else log_s / 2 - log_d) / 2
