"""Run many hyper-parameters on many problems, and see how far from x* they end.

`engine="numpy"` is the readable one: the reference, with the whole plane as lanes.
`engine="native"` is the same in C, for the rules it has; "auto" takes it where it can.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, Protocol

import numpy as np

from acprop import checks, native
from acprop.checks import UserError
from acprop.lab.arrays import Array, Floats
from acprop.lab.methods import Method
from acprop.lab.problems import Problem
from acprop.lab.steps import Step, iterate
from acprop.reference import Settings
from acprop.rule import PAPER, Convention, Rule

Engine = Literal["auto", "numpy", "native"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is tried: every method with every β2 and every initial learning rate.

    eta: the learning rate of step t is alpha0·t^-eta.
    tail: over how many of the last steps the distance is averaged.
    eps: None takes the convention's own, or the method's if it has no conventions.
    takes_first_step: False keeps x where it is while s has seen nothing. Algorithm 2
        divides by √ε there, which moves x to an end of its interval.
    """

    methods: tuple[Method, ...]
    beta1: float
    beta2: tuple[float, ...]
    alpha0: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    convention: Convention = PAPER
    eps: float | None = None
    steps: int = 10_000
    tail: int = 1_000
    eta: float = 0.5
    takes_first_step: bool = True

    def __post_init__(self) -> None:
        for name, betas in (("beta1", (self.beta1,)), ("beta2", self.beta2)):
            for beta in betas:
                checks.decay(name, beta)
        checks.not_negative("eta", self.eta)
        if self.eps is not None:
            checks.not_negative("eps", self.eps)
        for value in self.alpha0:
            checks.positive("alpha0", value)
        checks.integer("steps", self.steps)
        if not 1 <= self.tail <= self.steps:
            raise UserError(
                f"tail must be between 1 and steps = {self.steps}, got {self.tail}"
            )

    @property
    def settings(self) -> Settings:
        """The last axis is β2."""
        return Settings(self.beta1, np.array(self.beta2), self.eps, axis=())


def distances(
    problems: Sequence[Problem],
    sweep: Sweep,
    *,
    engine: Engine = "auto",
    threads: int | None = None,
) -> Floats:
    """The mean of |x - x*| over the last steps: [method, alpha0, problem, beta2].

    All problems must be of one family: the same interval, start and optimum.

    threads: how many problems the native engine works on at once; None is one for
        each core. The numpy engine has one only.
    """
    rules = [_native_rule(method) for method in sweep.methods]
    has_native = None not in rules and native.load() is not None
    if engine == "native" and not has_native:
        reason = native.why_not() or (
            "it has only rules with a delay of 0 or 1 that do not look ahead and are "
            "not centered on their average"
        )
        raise RuntimeError(f"engine must be 'numpy' here, got 'native': {reason}")
    if engine == "numpy" or not has_native:
        return np.stack([_distances_numpy(problems, sweep, m) for m in sweep.methods])
    # ctypes lets go of the interpreter's lock, so threads are enough.
    with ThreadPoolExecutor(os.cpu_count() if threads is None else threads) as pool:
        parts = list(pool.map(_distances_native, problems, repeat(sweep)))
    return np.stack(parts, axis=2)


def lanes(
    problems: Sequence[Problem], sweep: Sweep, method: Method
) -> Iterator[tuple[Step, Floats]]:
    """Every step, and x after it: [alpha0, problem, beta2]; s has the last two axes."""
    first = problems[0]
    periods = np.array([p.period for p in problems])
    starts = np.cumsum(periods) - periods
    cycles = np.concatenate([p.cycle for p in problems])
    return iterate(
        method,
        sweep.convention,
        sweep.settings,
        lambda t, _: cycles[starts + t % periods][:, None],
        steps=sweep.steps,
        x0=np.full((len(sweep.alpha0), len(problems), len(sweep.beta2)), first.x0),
        alpha0=np.array(sweep.alpha0)[:, None, None],
        eta=sweep.eta,
        lo=first.lo,
        hi=first.hi,
        takes_first_step=sweep.takes_first_step,
    )


def _distances_numpy(
    problems: Sequence[Problem], sweep: Sweep, method: Method
) -> Floats:
    x_star, quiet = problems[0].x_star, sweep.steps - sweep.tail
    far = np.zeros((len(sweep.alpha0), len(problems), len(sweep.beta2)))
    for step, x in lanes(problems, sweep, method):
        if step.t > quiet:
            far += np.abs(x - x_star)
    return far / sweep.tail


def _native_rule(method: Method) -> native.SweepRule | None:
    """What the C code calls a rule, if it has this one."""
    rule = method.rule
    if not isinstance(rule, Rule) or method.amsgrad:
        return None
    if rule.delay > 1 or rule.reduction is not None or rule.nesterov:
        return None
    if rule.center == "average":
        return None
    before, after = rule.average == "before", rule.average == "after"
    return rule.center is not None, rule.delay, before, after


def _distances_native(problem: Problem, sweep: Sweep) -> Floats:
    convention = sweep.convention
    place = convention.eps_placement
    eps = convention.eps if sweep.eps is None else sweep.eps
    outside = 0.0 if place == "inside" else eps
    rules = [rule for rule in map(_native_rule, sweep.methods) if rule]
    out = np.empty((len(rules), len(sweep.alpha0), len(sweep.beta2)))
    native.sweep(
        out.ctypes.data,
        cycle=problem.cycle,
        lo=problem.lo,
        hi=problem.hi,
        x0=problem.x0,
        x_star=problem.x_star,
        rules=rules,
        beta2=sweep.beta2,
        alpha0=sweep.alpha0,
        beta1=sweep.beta1,
        eta=sweep.eta,
        eps_inside=eps if place == "inside" else 0.0,
        eps_outside=outside,
        eps_added=eps if place == "accumulated" else 0.0,
        unseen=_unseen(sweep, eps, outside),
        clip=convention.clip if isinstance(convention.clip, float | int) else np.inf,
        steps=sweep.steps,
        tail=sweep.tail,
        residual_previous=convention.residual == "previous",
        bias_correction=convention.bias_correction,
        clip_grows=isinstance(convention.clip, str),
        zero_over_zero=convention.clip is not None,
    )
    return out


def _unseen(sweep: Sweep, eps: float, outside: float) -> float:
    """What a numerator is multiplied by while s has seen nothing."""
    if not sweep.takes_first_step:
        return 0.0
    first = sweep.convention.first_step
    if first == "divide":
        den = outside if outside else eps**0.5
        return 1 / den if den else np.inf
    return 1.0 if first == "sgd" else 1 / (1 + outside)


class Source(Protocol):
    """Where a run takes its gradients from, and where it may go."""

    @property
    def lo(self) -> float: ...
    @property
    def hi(self) -> float: ...
    @property
    def x0(self) -> float: ...
    def gradient(self, t: int, x: Array) -> Array: ...


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A run, step by step: t = 1, 2 …, and x after the step; then alpha0, if several.

    x0: where it began.
    """

    x0: float
    x: Floats
    g: Floats
    d: Floats
    m: Floats
    s: Floats

    @property
    def step_sizes(self) -> Floats:
        """|x_t - x_{t-1}|."""
        return np.abs(
            np.diff(self.x, axis=0, prepend=np.full_like(self.x[:1], self.x0))
        )


def trajectory(
    source: Source,
    method: Method,
    *,
    beta1: float,
    beta2: float,
    alpha0: float | tuple[float, ...],
    convention: Convention = PAPER,
    eps: float | None = None,
    steps: int = 10_000,
    eta: float = 0.5,
    takes_first_step: bool = True,
) -> Trajectory:
    """Run one method, and keep everything.

    m and s are what the method itself holds: for a delay above 1 they lag behind, and
    ADOPT's m is the mean of its normalised gradients.
    """
    rates = alpha0 if isinstance(alpha0, tuple) else (alpha0,)
    # A sweep of one, for its checks.
    Sweep((method,), beta1, (beta2,), rates, eps=eps, steps=steps, tail=1, eta=eta)
    shape = np.shape(alpha0)
    kept = np.empty((5, steps, *shape))
    for step, x in iterate(
        method,
        convention,
        Settings(beta1, beta2, eps, axis=()),
        source.gradient,
        steps=steps,
        x0=np.full(shape, source.x0) if shape else source.x0,
        alpha0=np.array(alpha0),
        eta=eta,
        lo=source.lo,
        hi=source.hi,
        takes_first_step=takes_first_step,
    ):
        values = x, step.g, step.d, step.after.m, step.after.s
        for column, value in zip(kept, values, strict=True):
            column[step.t - 1] = value
    return Trajectory(source.x0, *kept)
