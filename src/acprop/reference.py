"""The family in numpy, to be compared with the paper line by line.

Slow and wide: float64, nothing in place, and every hyper-parameter may be an
array, so a whole (P, β2) plane is one run. Kernels are fast and narrow; they
are tested against this file and share no arithmetic with it.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from acprop.rule import Clip, Convention, Rule

# A float64 array or a number. Any: numpy's own stubs cannot say "either".
Array = Any
Axis = int | tuple[int, ...] | None


class State(NamedTuple):
    """What one step hands to the next, in the letters of Section 2.1.

    m and s know all gradients but those in `past`: the newest delay - 1, which only
    the numerator knows yet. top is AMSGrad's running maximum, M the running mean of the
    normalised gradients.
    """

    t: int = 0
    m: Array = 0.0
    s: Array = 0.0
    top: Array = 0.0
    past: tuple[Array, ...] = ()
    M: Array = 0.0


class Settings(NamedTuple):
    """The settings of a step; each may be an array that broadcasts against g.

    eps: None takes the convention's own.
    clip: bound on |u_t|; "t**0.25" grows with the step, None is none, and "convention"
        takes the convention's own.
    axis: which axes of g make up one tensor, as in np.sum: None is all of them, ()
        makes every element a tensor of its own. Only a reduction asks.
    """

    beta1: Array = 0.9
    beta2: Array = 0.999
    eps: Array = None
    amsgrad: bool = False
    clip: Clip | Literal["convention"] = "convention"
    axis: Axis = None


def step(
    rule: Rule, convention: Convention, state: State, g: Array, h: Settings
) -> tuple[State, Array]:
    """Take the gradient g_t; return the new state and the direction d_t.

        m_i = β1·m_{i-1} + (1 - β1)·g_i
        s_i = β2·s_{i-1} + (1 - β2)·r_i²         r_i = g_i - m_i  if centered else  g_i
        u_t = clip(n_t / √(s_k + ε), ±c_t)       k = t - delay
        d_t = u_t

    n_t is the mean of g_{t-delay+1} … g_t with weights β1^i, which for a delay of 0 or
    1 is g_t. With average="before" it is m_t; with nesterov β1·m_t + (1 - β1)·g_t.
    With average="after" the direction is instead

        M_t = β1·M_{t-1} + (1 - β1)·u_t
        d_t = M_t                                with nesterov  β1·M_t + (1 - β1)·u_t

    and with center="average", D_t the denominator of u_t,

        r_t = g_t - D_t·clip(M_{t-1}, ±1)
        s_t = β2·s_{t-1} + (1 - β2)·(1 + β1)/2·r_t²

    The convention says where ε stands, what is corrected, and whether there is a bound
    c_t; the guarded one is

        u_t = n_t / (√(s_k / (1 - β2^k)) + ε)    c_t = t^¼,  0/0 = 0

    For delay ≥ 1 the denominator knows nothing of n_t; the bound does, while it binds.

    The caller moves x_t = x_{t-1} - α_t·d_t and projects: schedules, weight decay and
    feasible sets stay out of this file.
    """
    g = np.asarray(g, np.float64)
    if h.eps is None:
        h = h._replace(eps=convention.eps)
    if h.clip == "convention":
        h = h._replace(clip=convention.clip)
    state = state._replace(t=state.t + 1)
    window = (*state.past, g)
    if rule.delay == 0:
        state = _observe(rule, convention, state, g, h, 0.0)
        return _descend(rule, convention, state, window, h)[:2]
    before = state
    state, d, root = _descend(rule, convention, state, window, h)
    if len(window) == rule.delay:
        expected = root * np.clip(before.M, -1, 1)
        state = _observe(rule, convention, state, window[0], h, expected)
        window = window[1:]
    return state._replace(past=window), d


def _observe(
    rule: Rule,
    convention: Convention,
    state: State,
    g: Array,
    h: Settings,
    expected: Array,
) -> State:
    """Let m and s learn of one gradient; `expected` is what the average implied."""
    m = h.beta1 * state.m + (1 - h.beta1) * g
    gain = 1 - h.beta2
    if rule.center == "m":
        r = g - (m if convention.residual == "current" else state.m)
    elif rule.center == "average":
        r = g - expected
        # The mean of the past has a variance of its own: E r² = 2/(1 + β1)·σ².
        gain = gain * (1 + h.beta1) / 2
    else:
        r = g
    r2 = r**2
    if rule.reduction is not None:
        reduce = np.max if rule.reduction == "max" else np.mean
        r2 = reduce(r2, axis=h.axis, keepdims=True)
    s = h.beta2 * state.s + gain * r2
    if convention.eps_placement == "accumulated":
        s = s + h.eps
    return state._replace(m=m, s=s)


def _descend(
    rule: Rule,
    convention: Convention,
    state: State,
    window: tuple[Array, ...],
    h: Settings,
) -> tuple[State, Array, Array]:
    """Divide by the root of what s has seen so far; return that denominator too."""
    numerator = _numerator(rule, convention, state, window, h)
    k = max(state.t - rule.delay, 0)
    top, radicand = _radicand(convention, state, k, h)
    root = np.sqrt(radicand)
    inside = convention.eps_placement == "inside"
    denominator = root if inside else root + h.eps
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = numerator / denominator
    if k == 0:  # s has seen nothing
        top = state.top
        if convention.first_step == "sgd":
            u = numerator
        if convention.first_step == "one":
            u = numerator / (1.0 if inside else 1.0 + h.eps)
    if convention.clip is not None:
        u = np.where(numerator == 0, 0.0, u)
    if h.clip is not None:
        bound = state.t**0.25 if isinstance(h.clip, str) else h.clip
        u = np.clip(u, -bound, bound)
    with np.errstate(invalid="ignore"):
        u = u + 0 * numerator  # an infinite gradient must be seen in spite of the bound
    d, average = u, state.M
    if rule.average == "after":
        d = average = h.beta1 * state.M + (1 - h.beta1) * u
        if rule.nesterov:
            d = h.beta1 * average + (1 - h.beta1) * u
    return state._replace(top=top, M=average), d, denominator


def _numerator(
    rule: Rule,
    convention: Convention,
    state: State,
    window: tuple[Array, ...],
    h: Settings,
) -> Array:
    if rule.average == "before":
        m, t = state.m, state.t
        if rule.delay:  # m does not know the window yet
            for g in window:
                m = h.beta1 * m + (1 - h.beta1) * g
        if rule.nesterov:  # the weights of one more step
            m, t = h.beta1 * m + (1 - h.beta1) * window[-1], t + 1
        return m / (1 - h.beta1**t) if convention.bias_correction else m
    weights = [h.beta1**i for i in range(len(window))]
    newest_first = reversed(window)
    return sum(w * g for w, g in zip(weights, newest_first, strict=True)) / sum(weights)


def _radicand(
    convention: Convention, state: State, k: int, h: Settings
) -> tuple[Array, Array]:
    """Return AMSGrad's running maximum and what stands under the root."""
    s, top = state.s, state.top
    if h.amsgrad and convention.amsgrad == "raw":
        s = top = np.maximum(top, s)
    seen = 1 - h.beta2**k if convention.bias_correction else 1.0
    radicand = s / np.where(np.equal(seen, 0), 1, seen)
    if convention.eps_placement == "inside":
        radicand = radicand + h.eps
    if h.amsgrad and convention.amsgrad == "corrected":
        radicand = top = np.maximum(top, radicand)
    return top, radicand
