"""The family in numpy, to be compared with the paper line by line.

Slow and wide: float64, nothing in place, and every hyper-parameter may be an
array, so a whole (P, β2) plane is one run. Kernels are fast and narrow; they
are tested against this file and share no arithmetic with it.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from acprop.rule import Convention, Rule

# A float64 array or a number. Any: numpy's own stubs cannot say "either".
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
Array = Any
Axis = int | tuple[int, ...] | None


class State(NamedTuple):
    """What one step hands to the next, in the letters of Section 2.1.

    m and s have heard of all gradients but those in `past`: the newest delay - 1,
    which only the numerator knows yet. top is AMSGrad's running maximum; n, A and B
    are the guard's memory of the same gradients that s has seen.
    """

    t: int = 0
    m: Array = 0.0
    s: Array = 0.0
    top: Array = 0.0
    past: tuple[Array, ...] = ()
    n: Array = 0.0
    A: Array = 0.0
    B: Array = 0.0


class Hyper(NamedTuple):
    """The numbers of a step; each may be an array that broadcasts against g.

    eps: None takes the convention's own.
    clip: bound on |d_t|; "t**0.25" grows with the step as in ADOPT.
    axis: which axes of g make up one tensor, as in np.sum: None is all of them, ()
        makes every element a tensor of its own. Only the guard and a reduction ask.
    """

    beta1: Array = 0.9
    beta2: Array = 0.999
    eps: Array = None
    amsgrad: bool = False
    clip: float | Literal["t**0.25"] | None = None
    axis: Axis = None


def step(
    rule: Rule, convention: Convention, state: State, g: Array, h: Hyper
) -> tuple[State, Array]:
    """Take the gradient g_t; return the new state and the direction d_t.

        m_i = β1·m_{i-1} + (1 - β1)·g_i
        s_i = β2·s_{i-1} + (1 - β2)·r_i²         r_i = g_i - m_i  if centered else  g_i
        d_t = n_t / √(s_k + ε)                   k = t - delay

    with the numerator n_t: m_t, or for "g" the mean of g_{t-delay+1} … g_t with weights
    β1^i, which for a delay of 0 or 1 is g_t. The convention says where ε stands and
    what is corrected; a guard replaces the radicand by

        (s_k + q·A) / (1 - β2^k + q) + κ²·A + ε      q = (1 - β2)·n0·β2^k

    and, before all else, clamps g_t to ±clamp·B. A and B sum up the gradients that s_k
    has seen, so for delay ≥ 1 the denominator knows nothing of n_t.

    The caller moves x_t = x_{t-1} - α_t·d_t and projects: schedules, weight decay and
    feasible sets stay out of this file.
    """
    g = np.asarray(g, np.float64)
    if h.eps is None:
        h = h._replace(eps=convention.eps)
    state = state._replace(t=state.t + 1)
    g = _clamp(convention, state, g)
    window = (*state.past, g)
    if rule.delay == 0:
        state = _observe(rule, convention, state, g, h)
        return _descend(rule, convention, state, window, h)
    state, d = _descend(rule, convention, state, window, h)
    if len(window) == rule.delay:
        state = _observe(rule, convention, state, window[0], h)
        window = window[1:]
    return state._replace(past=window), d


def _clamp(convention: Convention, state: State, g: Array) -> Array:
    """Note [Record clamp]: a gradient counts at most `clamp` times the record so far.

    With |g| ≤ M it binds at most log_clamp(M/B_1) times in a tensor's life, so no bias
    survives; a B that decayed would let it bind for ever. Infinities pass: an overflow
    must be seen, not turned into a large ordinary step.
    """
    if not convention.is_guarded:
        return g
    with np.errstate(invalid="ignore"):  # inf·0 before the first gradient
        limit = np.where(state.n > 0, convention.clamp * state.B, np.inf)
    return np.where(np.isinf(g), g, np.clip(g, -limit, limit))


def _observe(
    rule: Rule, convention: Convention, state: State, g: Array, h: Hyper
) -> State:
    """Let m, s and the guard hear of one gradient."""
    m = h.beta1 * state.m + (1 - h.beta1) * g
    mean = m if convention.residual == "current" else state.m
    r2 = (g - mean if rule.centered else g) ** 2
    if rule.reduction is not None:
        reduce = np.max if rule.reduction == "max" else np.mean
        r2 = reduce(r2, axis=h.axis, keepdims=True)
    s = h.beta2 * state.s + (1 - h.beta2) * r2
    if convention.eps_placement == "accumulated":
        s = s + h.eps
    if not convention.is_guarded:
        return state._replace(m=m, s=s)
    return _record(state._replace(m=m, s=s), g, h)


def _record(state: State, g: Array, h: Hyper) -> State:
    """Update the guard's memory of a tensor: n gradients, of squared scale A, up to B.

        w = Σg² / Σ|g|
        A = max(w², A + (w² - A)·max(1/n, (1 - β2)/10))

    A rises at once and falls slowly: a gradient that grows must not outrun its floor.
    w is a mean magnitude weighted by size: close to the RMS for a dense tensor, not
    diluted by the zero rows of an embedding. A gradient that is zero throughout, or
    not finite, leaves no trace: a silent tensor keeps its scale.
    """
    size = np.abs(g)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        w = np.sum(g * g, axis=h.axis, keepdims=True) / np.sum(
            size, axis=h.axis, keepdims=True
        )
        counts = (w > 0) & np.isfinite(w)
        n = state.n + counts
        pace = np.maximum(1 / np.maximum(n, 1), (1 - h.beta2) / 10)
        fallen = state.A + (w**2 - state.A) * pace
        A = np.where(counts, np.maximum(w**2, fallen), state.A)
    peak = np.max(size, axis=h.axis, keepdims=True) if h.axis != () else size
    B = np.where(counts, np.maximum(state.B, peak), state.B)
    return state._replace(n=n, A=A, B=B)


def _descend(
    rule: Rule,
    convention: Convention,
    state: State,
    window: tuple[Array, ...],
    h: Hyper,
) -> tuple[State, Array]:
    """Divide the numerator by the root of what s has seen so far."""
    numerator = _numerator(rule, convention, state, window, h)
    k = max(state.t - rule.delay, 0)
    unseen = np.asarray(state.n == 0 if convention.is_guarded else k == 0)
    top, radicand = _radicand(convention, state, k, h)
    root = np.sqrt(radicand)
    inside = convention.eps_placement == "inside"
    with np.errstate(divide="ignore", invalid="ignore"):
        d = numerator / (root if inside else root + h.eps)
    if convention.first_step == "sgd":
        d = np.where(unseen, numerator, d)
    if convention.first_step == "one":
        one = 1.0 if inside else 1.0 + h.eps
        d = np.where(unseen, numerator / one, d)
    if convention.first_step == "stand still":
        d = np.where(unseen, 0 * numerator, d)
    top = np.where(unseen, state.top, top)
    if h.clip is not None:
        bound = state.t**0.25 if h.clip == "t**0.25" else h.clip
        d = np.clip(d, -bound, bound)
    return state._replace(top=top), d


def _numerator(
    rule: Rule,
    convention: Convention,
    state: State,
    window: tuple[Array, ...],
    h: Hyper,
) -> Array:
    if rule.numerator == "m":
        m = state.m
        if rule.delay:  # m has not heard of the window yet
            for g in window:
                m = h.beta1 * m + (1 - h.beta1) * g
        return m / (1 - h.beta1**state.t) if convention.bias_correction else m
    weights = [h.beta1**i for i in range(len(window))]
    newest_first = reversed(window)
    return sum(w * g for w, g in zip(weights, newest_first, strict=True)) / sum(weights)


def _radicand(
    convention: Convention, state: State, k: int, h: Hyper
) -> tuple[Array, Array]:
    """Return AMSGrad's running maximum and what stands under the root."""
    s, top = state.s, state.top
    if h.amsgrad and convention.amsgrad == "raw":
        s = top = np.maximum(top, s)
    seen = 1 - h.beta2**k if convention.bias_correction else 1.0
    q = (1 - h.beta2) * convention.n0 * h.beta2**k
    total = seen + q
    radicand = (s + q * state.A) / np.where(total == 0, 1, total)
    radicand = radicand + convention.kappa**2 * state.A
    if convention.eps_placement == "inside":
        radicand = radicand + h.eps
    if h.amsgrad and convention.amsgrad == "corrected":
        radicand = top = np.maximum(top, radicand)
    return top, radicand
