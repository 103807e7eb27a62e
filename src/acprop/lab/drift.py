"""Which way a method goes in the end: the net move of one period, as t → ∞.

In the limit the directions d_t repeat with the period while the learning rate hardly
changes within one, so the sign of Σ d_t decides: towards x*, for ever, or away from it.
Nothing is simulated; the state comes from the closed forms of `limits`, or from
`settled` for a rule that is centered on its average. There the bias corrections are 1,
the first step is forgotten, and a clip that grows no longer binds. To see what it does
before that, `drift` can keep it at its value of step t.
"""

import math
from dataclasses import dataclass

import numpy as np

from acprop.lab.arrays import Array
from acprop.lab.limits import log_centered, log_uncentered, mean
from acprop.lab.methods import Method
from acprop.lab.problems import Problem
from acprop.lab.settled import Settled, settle
from acprop.rule import Convention, Rule


def drift(
    problem: Problem,
    method: Method,
    convention: Convention,
    *,
    beta1: Array,
    beta2: Array,
    eps: float | None = None,
    t: float = math.inf,
) -> Array:
    """Σ d_t / Σ |d_t| over one period; positive is towards x*, which is the left end.

    AVAGrad normalises by the tensor's own mean and has a single element here, so its
    drift is that of its numerator; AMSGrad's denominator stops changing, likewise.

    t: the step whose clip is taken; all else is the limit.
    """
    case = _Case(problem, method, convention, beta1, beta2, eps)
    log_bound = _log_bound(method, convention, t)
    if case.has_no_closed_form:
        return case.settle(log_bound).drift
    sign, log_size = case.log_steps()
    log_size = np.minimum(log_size, log_bound)
    # relative to the largest step of the period, which has no scale
    d = sign * np.exp(log_size - np.max(log_size, axis=0))
    rule = method.rule
    if rule == "adopt" or (isinstance(rule, Rule) and rule.keeps_average):
        d = _averaged(d, beta1, nesterov=isinstance(rule, Rule) and rule.nesterov)
    return np.sum(d, axis=0) / np.sum(np.abs(d), axis=0)


def log_largest_step(
    problem: Problem,
    method: Method,
    convention: Convention,
    *,
    beta1: Array,
    beta2: Array,
    eps: float | None = None,
) -> Array:
    """log R, R the largest |u_t| of a period in the limit, before any clip."""
    case = _Case(problem, method, convention, beta1, beta2, eps)
    if case.has_no_closed_form:
        return case.settle(math.inf).log_largest
    return np.max(case.log_steps()[1], axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Whose steps, on what, with which numbers; by phase means: the first axis is it.

    eps_given: None takes the convention's own, or the method's if it has none.
    """

    problem: Problem
    method: Method
    convention: Convention
    beta1: Array
    beta2: Array
    eps_given: float | None

    @property
    def eps(self) -> float:
        if self.eps_given is not None:
            return self.eps_given
        own = self.convention.eps if self.method.is_family else self.method.eps
        return 0.0 if own is None else own

    @property
    def has_no_closed_form(self) -> bool:
        """Does s depend on M?"""
        rule = self.method.rule
        is_on_average = isinstance(rule, Rule) and rule.center == "average"
        return is_on_average and not self.method.amsgrad

    def settle(self, log_bound: float) -> Settled:
        rule = self.method.rule
        return settle(
            self.problem,
            self.convention,
            beta1=self.beta1,
            beta2=self.beta2,
            eps=self.eps,
            nesterov=isinstance(rule, Rule) and rule.nesterov,
            log_bound=log_bound,
        )

    def log_steps(self) -> tuple[Array, Array]:
        """The sign and log |u_t| of each phase."""
        numerator = self.by_phase(_numerator(self.problem, self.method, self.beta1))
        with np.errstate(divide="ignore"):  # a gradient of 0 has no step
            log_size = np.log(np.abs(numerator))
        return np.sign(numerator), log_size - self._log_denominator()

    def by_phase(self, values: Array) -> Array:
        """Values by phase, in a shape that broadcasts against β1 and β2."""
        missing = np.ndim(self.beta1 + 0 * self.beta2) - (np.ndim(values) - 1)
        return values.reshape(len(values), *(1,) * missing, *np.shape(values)[1:])

    def _log_denominator(self) -> Array:
        """log of what the numerator of each phase is divided by."""
        rule, placement = self.method.rule, self.convention.eps_placement
        if rule in ("sgd", "avagrad") or self.method.amsgrad:
            return np.zeros_like(self.beta1 + 0 * self.beta2)
        with np.errstate(divide="ignore"):  # log 0 = -∞: a floor of nothing
            log_eps = np.log(np.float64(self.eps))
        if isinstance(rule, Rule) and rule.center is not None:
            seen = log_centered(self.problem, self.beta1, self.beta2)
            if self.convention.residual == "previous":  # g - m_t = β1·(g - m_{t-1})
                seen = seen - 2 * np.log(self.beta1)
        else:
            seen = self.by_phase(log_uncentered(self.problem, self.beta2))
        if not isinstance(rule, Rule):  # ADOPT
            return np.maximum(np.roll(seen, 1, 0) / 2, log_eps)
        if placement == "accumulated":
            seen = np.logaddexp(seen, log_eps - np.log1p(-self.beta2))
        seen = np.roll(seen, rule.delay, axis=0)
        if placement == "inside":
            return np.logaddexp(seen, log_eps) / 2
        return np.logaddexp(seen / 2, log_eps)


def _numerator(problem: Problem, method: Method, beta1: Array) -> Array:
    """By phase, with the shape of β1."""
    rule, beta1 = method.rule, np.asarray(beta1)
    g = problem.cycle.reshape(-1, *([1] * beta1.ndim)) + np.zeros_like(beta1)
    if rule == "avagrad":
        return mean(problem, beta1)
    if not isinstance(rule, Rule):
        return g
    if rule.average == "before":
        m = mean(problem, beta1)
        return beta1 * m + (1 - beta1) * g if rule.nesterov else m
    window = range(max(rule.delay, 1))
    total = sum(beta1**i * np.roll(g, i, axis=0) for i in window)  # newest first
    return total / sum(beta1**i for i in window)


def _log_bound(method: Method, convention: Convention, t: float) -> float:
    """log of the clip at step t; none where only the ratio of steps is known here."""
    if method.rule == "adopt":
        return math.log(t - 1) / 4
    clip = convention.clip if isinstance(method.rule, Rule) else None
    if clip is None or method.amsgrad:
        return math.inf
    return math.log(t) / 4 if isinstance(clip, str) else math.log(clip)


def _averaged(u: Array, beta1: Array, *, nesterov: bool) -> Array:
    """M_t = β1·M_{t-1} + (1 - β1)·u_t once it repeats itself, or one step ahead."""
    mean = np.zeros(np.shape(u[0]))
    for now in u:
        mean = beta1 * mean + (1 - beta1) * now
    mean = mean / (1 - beta1 ** len(u))
    out = np.empty_like(u)
    for t, now in enumerate(u):
        out[t] = mean = beta1 * mean + (1 - beta1) * now
    return beta1 * out + (1 - beta1) * u if nesterov else out
