"""Which way a method goes in the end: the net move of one period, as t → ∞.

In the limit the directions d_t repeat with the period while the learning rate hardly
changes within one, so the sign of Σ d_t decides: towards x*, for ever, or away from it.
Nothing is simulated; the state comes from the closed forms of `limits`. There the bias
corrections are 1, the first step is forgotten, and a clip that grows binds no more.
What it does until then is seen by holding it fast where it stands at step t.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
import math
from typing import Any

import numpy as np

from acprop.lab.limits import (
    log_centered,
    log_uncentered,
    mean,
    second_moment,
)
from acprop.lab.methods import Method
from acprop.lab.problems import Problem
from acprop.rule import Convention, Rule

Array = Any


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
    log_bound = _log_bound(method, convention, t)
    d = _plain_steps(problem, method, convention, beta1, beta2, eps)
    if d is None:  # relative to the largest step of the period, which has no scale
        sign, log_size = _steps(problem, method, convention, beta1, beta2, eps)
        log_size = np.minimum(log_size, log_bound)
        d = sign * np.exp(log_size - np.max(log_size, axis=0))
    elif log_bound < math.inf:
        d = np.clip(d, -math.exp(log_bound), math.exp(log_bound))
    momentum = beta1 if method.rule == "adopt" else method.momentum
    if np.any(momentum):
        d = _averaged(d, momentum)
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
    _, log_size = _steps(problem, method, convention, beta1, beta2, eps)
    return np.max(log_size, axis=0)


def _steps(
    problem: Problem,
    method: Method,
    convention: Convention,
    beta1: Array,
    beta2: Array,
    eps: float | None,
) -> tuple[Array, Array]:
    """The sign and log |u_t| of each phase."""
    numerator = _numerator(problem, method, beta1)
    ndim = len(np.broadcast_shapes(np.shape(beta1), np.shape(beta2)))
    numerator = numerator.reshape(problem.period, *_last(beta1, ndim))
    log_size = -_log_denominator(problem, method, convention, beta1, beta2, eps)
    with np.errstate(divide="ignore"):  # a gradient of 0 has no step
        return np.sign(numerator), log_size + np.log(np.abs(numerator))


def _plain_steps(
    problem: Problem,
    method: Method,
    convention: Convention,
    beta1: Array,
    beta2: Array,
    eps: float | None,
) -> Array | None:
    """u_t of each phase without logarithms, ten times as fast; None if they underflow.

    Only for rules whose denominators are of the problem's size.
    """
    rule = method.rule
    if not isinstance(rule, Rule) or method.amsgrad:
        return None
    s = second_moment(problem, beta1, beta2, centered=rule.centered)
    if s is None:
        return None
    eps = convention.eps if eps is None else eps
    if rule.centered and convention.residual == "previous":
        s = s / np.square(beta1)
    if convention.eps_placement == "accumulated":
        s = s + eps / (1 - np.asarray(beta2))
    root = (
        np.sqrt(s + eps) if convention.eps_placement == "inside" else np.sqrt(s) + eps
    )
    ndim = len(np.broadcast_shapes(np.shape(beta1), np.shape(beta2)))
    root = root.reshape(problem.period, *_last(root[0], ndim))
    numerator = _numerator(problem, method, beta1)
    numerator = numerator.reshape(problem.period, *_last(beta1, ndim))
    u = np.empty(
        (problem.period, *np.broadcast_shapes(root.shape[1:], numerator.shape[1:]))
    )
    k = rule.delay % problem.period  # phase t divides by what it was k phases ago
    np.divide(numerator[k:], root[: problem.period - k], out=u[k:])
    np.divide(numerator[:k], root[problem.period - k :], out=u[:k])
    return u


def _last(array: Array, ndim: int) -> tuple[int, ...]:
    """The shape of an array that is to broadcast against `ndim` axes."""
    return (1,) * (ndim - np.ndim(array)) + np.shape(array)


def _numerator(problem: Problem, method: Method, beta1: Array) -> Array:
    """By phase, with the shape of β1."""
    rule = method.rule
    if rule == "avagrad" or (isinstance(rule, Rule) and rule.numerator == "m"):
        return mean(problem, beta1)
    beta1 = np.asarray(beta1)
    g = problem.cycle.reshape(-1, *([1] * beta1.ndim)) + np.zeros_like(beta1)
    window = range(max(rule.delay, 1) if isinstance(rule, Rule) else 1)
    weights = [beta1**i for i in window]
    past = [np.roll(g, i, axis=0) for i in window]  # newest first
    total = sum(w * g for w, g in zip(weights, past, strict=True))
    return total / sum(weights)


def _log_denominator(
    problem: Problem,
    method: Method,
    convention: Convention,
    beta1: Array,
    beta2: Array,
    eps: float | None,
) -> Array:
    """log of what the numerator of each phase is divided by."""
    rule = method.rule
    if rule in ("sgd", "avagrad") or method.amsgrad:
        shape = np.broadcast_shapes(np.shape(beta1), np.shape(beta2))
        return np.zeros((problem.period, *shape))
    default = convention.eps if isinstance(rule, Rule) else method.eps
    with np.errstate(divide="ignore"):  # log 0 = -∞: a floor of nothing
        log_eps = np.log(np.float64(default if eps is None else eps))
    if not isinstance(rule, Rule):  # ADOPT
        seen = _uncentered(problem, beta1, beta2)
        return np.maximum(np.roll(seen, 1, 0) / 2, log_eps)
    if rule.centered:
        seen = log_centered(problem, beta1, beta2)
        if convention.residual == "previous":  # g_t - m_t = β1·(g_t - m_{t-1})
            seen = seen - 2 * np.log(beta1)
    else:
        seen = _uncentered(problem, beta1, beta2)
    if convention.eps_placement == "accumulated":
        seen = np.logaddexp(seen, log_eps - np.log1p(-beta2))
    seen = np.roll(seen, rule.delay, axis=0)
    if convention.eps_placement == "inside":
        return np.logaddexp(seen, log_eps) / 2
    return np.logaddexp(seen / 2, log_eps)


def _uncentered(problem: Problem, beta1: Array, beta2: Array) -> Array:
    """log v, in a shape that broadcasts against β1 too."""
    ndim = len(np.broadcast_shapes(np.shape(beta1), np.shape(beta2)))
    seen = log_uncentered(problem, beta2)
    return seen.reshape(problem.period, *_last(beta2, ndim))


def _log_bound(method: Method, convention: Convention, t: float) -> float:
    """log of the clip at step t; none where only the ratio of steps is known here."""
    if method.rule == "adopt":
        return math.log(t - 1) / 4
    clip = convention.clip if isinstance(method.rule, Rule) else None
    if clip is None or method.amsgrad:
        return math.inf
    return math.log(t) / 4 if isinstance(clip, str) else math.log(clip)


def _averaged(u: Array, mu: Array) -> Array:
    """M_t = μ·M_{t-1} + (1 - μ)·u_t, once it repeats itself."""
    mean = np.zeros(np.shape(u[0]))
    for now in u:
        mean = mu * mean + (1 - mu) * now
    mean = mean / (1 - mu ** len(u))
    out = np.empty_like(u)
    for t, now in enumerate(u):
        out[t] = mean = mu * mean + (1 - mu) * now
    return out
