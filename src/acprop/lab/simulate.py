"""Run many hyper-parameters on many problems, and see how far from x* they end.

`engine="numpy"` is the readable one: the reference, with the whole plane as lanes.
`engine="native"` is the same in C, for the rules it has; "auto" takes it where it can.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from acprop import native
from acprop.lab.problems import Problem
from acprop.reference import Hyper, State, step
from acprop.rule import PAPER, Convention, Rule

Floats = NDArray[np.float64]
Engine = Literal["auto", "numpy", "native"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is tried: every rule with every β2 and every initial learning rate.

    eta: the learning rate of step t is alpha0·t^-eta.
    tail: over how many of the last steps the distance is averaged.
    eps: None takes the convention's own.
    """

    rules: tuple[Rule, ...]
    beta1: float
    beta2: tuple[float, ...]
    alpha0: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    convention: Convention = PAPER
    eps: float | None = None
    steps: int = 10_000
    tail: int = 1_000
    eta: float = 0.5

    def __post_init__(self) -> None:
        if not 1 <= self.tail <= self.steps:
            raise ValueError(
                f"tail must be between 1 and steps = {self.steps}, got {self.tail}"
            )


def distances(
    problems: Sequence[Problem],
    sweep: Sweep,
    *,
    engine: Engine = "auto",
    threads: int | None = None,
) -> Floats:
    """The mean of |x - x*| over the last steps: [rule, alpha0, problem, beta2].

    All problems must be of one family: the same interval, start and optimum.

    threads: how many problems the native engine works on at once; None is one for
        each core. The numpy engine has one only.
    """
    if engine == "auto":
        engine = "native" if _has_native(sweep) else "numpy"
    if engine == "numpy":
        return np.stack([_distances_numpy(problems, sweep, r) for r in sweep.rules])
    if not _has_native(sweep):
        reason = native.why_not() or "it has no delay above 1 and no reduction"
        raise RuntimeError(f"engine must be 'numpy' here, got 'native': {reason}")
    # ctypes lets go of the interpreter's lock, so threads are enough.
    with ThreadPoolExecutor(os.cpu_count() if threads is None else threads) as pool:
        parts = list(pool.map(_distances_native, problems, repeat(sweep)))
    return np.stack(parts, axis=2)


def _distances_numpy(problems: Sequence[Problem], sweep: Sweep, rule: Rule) -> Floats:
    """One rule; the lanes are [alpha0, problem, beta2], m and s know the last two."""
    first = problems[0]
    periods = np.array([p.period for p in problems])
    starts = np.concatenate([[0], np.cumsum(periods)[:-1]])
    cycles = np.concatenate([p.cycle for p in problems])
    alpha0 = np.array(sweep.alpha0)[:, None, None]
    beta2 = np.array(sweep.beta2)
    h = Hyper(beta1=sweep.beta1, beta2=beta2, eps=sweep.eps, axis=())
    state = State(n=np.zeros((len(problems), 1)))
    x = np.full((len(sweep.alpha0), len(problems), len(beta2)), first.x0)
    far = np.zeros_like(x)
    for t in range(1, sweep.steps + 1):
        g = cycles[starts + t % periods][:, None]
        state, d = step(rule, sweep.convention, state, g, h)
        x = np.clip(x - alpha0 * (t**-sweep.eta * d), first.lo, first.hi)
        if t > sweep.steps - sweep.tail:
            far += np.abs(x - first.x_star)
    return far / sweep.tail


def _has_native(sweep: Sweep) -> bool:
    simple = all(r.delay <= 1 and r.reduction is None for r in sweep.rules)
    return simple and native.load() is not None


def _distances_native(problem: Problem, sweep: Sweep) -> Floats:
    convention = sweep.convention
    out = np.empty((len(sweep.rules), len(sweep.alpha0), len(sweep.beta2)))
    native.sweep(
        out.ctypes.data,
        cycle=problem.cycle,
        lo=problem.lo,
        hi=problem.hi,
        x0=problem.x0,
        x_star=problem.x_star,
        rules=[(r.centered, r.delay, r.numerator == "m") for r in sweep.rules],
        beta2=sweep.beta2,
        alpha0=sweep.alpha0,
        beta1=sweep.beta1,
        eps=convention.eps if sweep.eps is None else sweep.eps,
        eta=sweep.eta,
        kappa=convention.kappa,
        n0=convention.n0,
        clamp=convention.clamp,
        steps=sweep.steps,
        tail=sweep.tail,
        residual_previous=convention.residual == "previous",
        eps_placement=native.EPS_PLACEMENTS[convention.eps_placement],
        bias_correction=convention.bias_correction,
        first_step=native.FIRST_STEPS[convention.first_step],
        guarded=convention.is_guarded,
    )
    return out
