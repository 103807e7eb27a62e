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
    found = _settled(case, log_bound)
    if found is not None:
        return found.drift
    sign, log_size = _log_steps(case)
    log_size = np.minimum(log_size, log_bound)
    # relative to the largest step of the period, which has no scale
    d = sign * np.exp(log_size - np.max(log_size, axis=0))
    if method.rule == "adopt" or _averages_after(method):
        d = _averaged(d, beta1, nesterov=_looks_ahead(method))
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
    found = _settled(case, math.inf)
    if found is not None:
        return found.log_largest
    _, log_size = _log_steps(case)
    return np.max(log_size, axis=0)


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
    def shape(self) -> tuple[int, ...]:
        """That of β1 and β2 together."""
        return np.broadcast_shapes(np.shape(self.beta1), np.shape(self.beta2))

    @property
    def eps(self) -> float:
        if self.eps_given is not None:
            return self.eps_given
        own = self.convention.eps if self.method.is_family else self.method.eps
        return 0.0 if own is None else own

    @property
    def numerator(self) -> Array:
        """n_t by phase."""
        return self.by_phase(_numerator(self.problem, self.method, self.beta1))

    def by_phase(self, values: Array) -> Array:
        """Values by phase, in a shape that broadcasts against β1 and β2."""
        missing = len(self.shape) - (np.ndim(values) - 1)
        return values.reshape(len(values), *(1,) * missing, *np.shape(values)[1:])


def _settled(case: _Case, log_bound: float) -> Settled | None:
    """For a rule whose s depends on M; None for those that have closed forms."""
    rule = case.method.rule
    if not isinstance(rule, Rule) or rule.center != "average" or case.method.amsgrad:
        return None
    return settle(
        case.problem,
        case.convention,
        beta1=case.beta1,
        beta2=case.beta2,
        eps=case.eps,
        nesterov=rule.nesterov,
        log_bound=log_bound,
    )


def _log_steps(case: _Case) -> tuple[Array, Array]:
    """The sign and log |u_t| of each phase."""
    numerator = case.numerator
    with np.errstate(divide="ignore"):  # a gradient of 0 has no step
        log_size = np.log(np.abs(numerator))
    return np.sign(numerator), log_size - _log_denominator(case)


def _numerator(problem: Problem, method: Method, beta1: Array) -> Array:
    """By phase, with the shape of β1."""
    rule = method.rule
    beta1 = np.asarray(beta1)
    g = problem.cycle.reshape(-1, *([1] * beta1.ndim)) + np.zeros_like(beta1)
    if rule == "avagrad" or (isinstance(rule, Rule) and rule.average == "before"):
        m = mean(problem, beta1)
        return beta1 * m + (1 - beta1) * g if _looks_ahead(method) else m
    window = range(max(rule.delay, 1) if isinstance(rule, Rule) else 1)
    weights = [beta1**i for i in window]
    past = [np.roll(g, i, axis=0) for i in window]  # newest first
    total = sum(w * g for w, g in zip(weights, past, strict=True))
    return total / sum(weights)


def _log_denominator(case: _Case) -> Array:
    """log of what the numerator of each phase is divided by."""
    rule, convention = case.method.rule, case.convention
    if rule in ("sgd", "avagrad") or case.method.amsgrad:
        return np.zeros((case.problem.period, *case.shape))
    with np.errstate(divide="ignore"):  # log 0 = -∞: a floor of nothing
        log_eps = np.log(np.float64(case.eps))
    if isinstance(rule, Rule) and rule.center is not None:
        seen = log_centered(case.problem, case.beta1, case.beta2)
        if convention.residual == "previous":  # g_t - m_t = β1·(g_t - m_{t-1})
            seen = seen - 2 * np.log(case.beta1)
    else:
        seen = case.by_phase(log_uncentered(case.problem, case.beta2))
    if not isinstance(rule, Rule):  # ADOPT
        return np.maximum(np.roll(seen, 1, 0) / 2, log_eps)
    if convention.eps_placement == "accumulated":
        seen = np.logaddexp(seen, log_eps - np.log1p(-case.beta2))
    seen = np.roll(seen, rule.delay, axis=0)
    if convention.eps_placement == "inside":
        return np.logaddexp(seen, log_eps) / 2
    return np.logaddexp(seen / 2, log_eps)


def _log_bound(method: Method, convention: Convention, t: float) -> float:
    """log of the clip at step t; none where only the ratio of steps is known here."""
    if method.rule == "adopt":
        return math.log(t - 1) / 4
    clip = convention.clip if isinstance(method.rule, Rule) else None
    if clip is None or method.amsgrad:
        return math.inf
    return math.log(t) / 4 if isinstance(clip, str) else math.log(clip)


def _averages_after(method: Method) -> bool:
    return isinstance(method.rule, Rule) and method.rule.keeps_average


def _looks_ahead(method: Method) -> bool:
    return isinstance(method.rule, Rule) and method.rule.nesterov


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
