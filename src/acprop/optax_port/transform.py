"""One step of any rule, as one optax transformation from gradients to directions.

Letters of the paper; `reference.step` is the long form of the same lines:

    m, s   learn of g; for a delay only after they were divided by
    u      = n / (√(ŝ + ε inside) + ε outside), within ±c_t
    M      = β1·M + (1 - β1)·u, if that is what is averaged

Everything is computed in the type of the state: float32, or float64 for float64
parameters. What goes out has the type of the gradient that came in.
"""

# jax and optax are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportMissingTypeStubs=false

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from acprop import checks
from acprop import rule as rules
from acprop.rule import Clip, Convention, PlainConvention, Rule

# A tree of arrays; jax has no narrower name for it.
Tree = Any
# A number, or an array where optax.inject_hyperparams makes one of it.
Number = float | Array


class ScaleByRuleState(NamedTuple):
    """What one step hands to the next, in optax's names; trees are like params.

    mu: m, the running mean of gradients, or None where the rule keeps none.
    nu: s. With a reduction each leaf is one number.
    nu_max: AMSGrad's running maximum, or None.
    past: the newest delay - 1 gradients along a first axis, oldest first, or None.
    average: M, the running mean of normalised gradients, or None.
    """

    # optax's name, which happens to be that of a method of tuples too
    count: Array  # pyright: ignore[reportIncompatibleMethodOverride]
    mu: Tree
    nu: Tree
    nu_max: Tree
    past: Tree
    average: Tree


class TransformOptions(NamedTuple):
    """The options of a transformation, checked and resolved."""

    rule: Rule
    convention: Convention
    b1: Number
    b2: Number
    eps: Number
    amsgrad: bool
    clip: Clip | Array


def scale_by_rule(
    rule: Rule,
    convention: Convention | PlainConvention = "guarded",
    *,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    amsgrad: bool = False,
    clip: Clip | Array | Literal["convention"] = "convention",
) -> optax.GradientTransformation:
    """Turn gradients into directions by any rule of the family, in any convention.

    Args:
        rule: a member of the family, from `acprop.rule` or of your own.
        convention: "guarded", "paper", "authors", "optax", "torch", "torch-rmsprop",
            or a `Convention` of your own.
        eps: ε; None takes the convention's own.
        amsgrad: divide by the largest root so far.
        clip: bound on each element of u: a number, "t**0.25", None for none, or
            "convention".
    """
    fine_print = rules.convention(convention)
    if eps is None:
        eps = fine_print.eps
    if isinstance(clip, str) and clip == "convention":
        clip = fine_print.clip
    # What is a number is checked at the door; an array may not be known yet.
    for name, check, value in (
        ("b1", checks.decay, b1),
        ("b2", checks.decay, b2),
        ("eps", checks.not_negative, eps),
        ("clip", rules.check_clip, clip),
    ):
        if not isinstance(value, jax.Array):
            check(name, value)
    if not isinstance(eps, jax.Array) and not isinstance(clip, jax.Array):
        rules.check_bounded(rule, fine_print, eps, clip)
    checks.flag("amsgrad", amsgrad)
    h = TransformOptions(rule, fine_print, b1, b2, eps, amsgrad, clip)

    def init(params: Tree) -> ScaleByRuleState:
        for leaf in jax.tree.leaves(params):
            if jnp.iscomplexobj(leaf):
                raise TypeError(
                    f"params must be real, got {jnp.asarray(leaf).dtype}; wrap the "
                    "transformation in optax.contrib.split_real_and_imaginary"
                )
        return _zeros(params, h)

    def update(
        updates: Tree, state: ScaleByRuleState, params: Tree | None = None
    ) -> tuple[Tree, ScaleByRuleState]:
        del params
        return _step(updates, state, h)

    # optax's own types know no NamedTuple for a state.
    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _zeros(params: Tree, h: TransformOptions) -> ScaleByRuleState:
    def zeros(*axes: int, is_shared: bool = False) -> Tree:
        return jax.tree.map(
            lambda p: jnp.zeros(
                () if is_shared else (*axes, *p.shape),
                # In bfloat16 a β2 of 0.999 would be 1.
                jnp.promote_types(jnp.float32, p.dtype),
            ),
            params,
        )

    shared = h.rule.reduction is not None
    return ScaleByRuleState(
        count=jnp.zeros((), jnp.int32),
        mu=zeros() if h.rule.keeps_m else None,
        nu=zeros(is_shared=shared),
        nu_max=zeros(is_shared=shared) if h.amsgrad else None,
        past=zeros(h.rule.delay - 1) if h.rule.delay > 1 else None,
        average=zeros() if h.rule.keeps_average else None,
    )


def _step(
    updates: Tree, state: ScaleByRuleState, h: TransformOptions
) -> tuple[Tree, ScaleByRuleState]:
    count = jnp.asarray(optax.safe_increment(state.count))
    grads, shape = jax.tree.flatten(updates)
    columns = [
        [None] * len(grads) if tree is None else shape.flatten_up_to(tree)
        for tree in state[1:]
    ]
    directions: list[Array] = []
    states: list[ScaleByRuleState] = []
    for grad, *values in zip(grads, *columns, strict=True):
        direction, moved = _advance(ScaleByRuleState(count, *values), grad, h)
        directions.append(direction.astype(grad.dtype))
        states.append(moved)
    trees = [
        None if tree is None else shape.unflatten([moved[i] for moved in states])
        for i, tree in enumerate(state[1:], 1)
    ]
    return shape.unflatten(directions), ScaleByRuleState(count, *trees)


# ---- one array of each tree, from here on --------------------------------------------


def _advance(
    state: ScaleByRuleState, grad: Array, h: TransformOptions
) -> tuple[Array, ScaleByRuleState]:
    """The direction. The order of the two calls is the delay."""
    dtype = state.nu.dtype
    g, t = grad.astype(dtype), state.count.astype(dtype)
    # Arrays in the type of the arithmetic; numbers adapt by themselves.
    arrays = {n: v for n, v in h._asdict().items() if isinstance(v, jax.Array)}
    h = h._replace(**{name: value.astype(dtype) for name, value in arrays.items()})
    if h.rule.delay == 0:
        return _descend(_observe(state, g, None, t, h), g[None], t, h)[:2]
    window = g[None] if state.past is None else jnp.concatenate([state.past, g[None]])
    direction, moved, denominator = _descend(state, window, t, h)
    expected = None
    if h.rule.center == "average":
        expected = denominator * jnp.clip(state.average, -1, 1)
    moved = _observe(moved, window[0], expected, t, h)
    return direction, moved if state.past is None else moved._replace(past=window[1:])


def _observe(
    state: ScaleByRuleState,
    g: Array,
    expected: Array | None,
    t: Array,
    h: TransformOptions,
) -> ScaleByRuleState:
    """Let m and s learn of one gradient; `expected` is what the average implied."""
    m, r, gain = state.mu, g, 1 - h.b2
    if h.rule.keeps_m:
        m = h.b1 * m + (1 - h.b1) * g
    if h.rule.center == "m":
        r = g - (m if h.convention.residual == "current" else state.mu)
    if expected is not None:
        # The average of the past has a variance of its own: E r² = 2/(1 + β1)·σ².
        r, gain = g - expected, gain * (1 + h.b1) / 2
    r2 = jnp.square(r)
    if h.rule.reduction is not None:
        r2 = jnp.max(r2) if h.rule.reduction == "max" else jnp.mean(r2)
    s = h.b2 * state.nu + gain * r2
    if h.convention.eps_placement == "accumulated":
        s = jnp.where(t >= h.rule.delay, s + h.eps, s)
    return state._replace(mu=m, nu=s)


def _descend(
    state: ScaleByRuleState, window: Array, t: Array, h: TransformOptions
) -> tuple[Array, ScaleByRuleState, Array]:
    """Divide by the root of what s has seen so far; return that denominator too."""
    n = _numerator(state.mu, window, t, h)
    k = jnp.maximum(t - h.rule.delay, 0)
    unseen = k == 0
    radicand, top = _radicand(state, k, h)
    inside = h.convention.eps_placement == "inside"
    denominator = _root(radicand) + (0.0 if inside else h.eps)
    if h.convention.first_step == "one":
        denominator = jnp.where(unseen, 1.0 if inside else 1.0 + h.eps, denominator)
    u = n / denominator
    if h.convention.first_step == "sgd":
        u = jnp.where(unseen, n, u)
    if h.convention.clip is not None:
        u = jnp.where(n == 0, 0.0, u)
    if h.clip is not None:
        bound = t**0.25 if isinstance(h.clip, str) else h.clip
        u = jnp.clip(u, -bound, bound)
    u = u + 0 * n  # 0 · ∞ is NaN: an infinite gradient must be seen
    state = state._replace(nu_max=top)
    if h.rule.average != "after":
        return u, state, denominator
    average = h.b1 * state.average + (1 - h.b1) * u
    direction = h.b1 * average + (1 - h.b1) * u if h.rule.nesterov else average
    return direction, state._replace(average=average), denominator


def _numerator(m: Any, window: Array, t: Array, h: TransformOptions) -> Array:
    if h.rule.average == "before":
        if h.rule.delay:  # m does not know the window yet
            for g in window:
                m = h.b1 * m + (1 - h.b1) * g
        if h.rule.nesterov:  # the weights of one more step
            m, t = h.b1 * m + (1 - h.b1) * window[-1], t + 1
        return m / _one_minus_power(h.b1, t) if h.convention.bias_correction else m
    total = window[0]
    if len(window) == 1:
        return total
    for g in window[1:]:
        total = h.b1 * total + g
    n_seen = jnp.minimum(t, h.rule.delay)
    return total * (1 - h.b1) / _one_minus_power(h.b1, n_seen)


def _radicand(
    state: ScaleByRuleState, k: Array, h: TransformOptions
) -> tuple[Array, Array | None]:
    """What stands under the root, and AMSGrad's running maximum."""
    s, top = state.nu, state.nu_max
    if top is not None and h.convention.amsgrad == "raw":
        s = top = jnp.maximum(top, s)
    if h.convention.bias_correction:
        s = s / jnp.where(k == 0, 1.0, _one_minus_power(h.b2, jnp.maximum(k, 1)))
    if h.convention.eps_placement == "inside":
        s = s + h.eps
    if top is not None and h.convention.amsgrad == "corrected":
        s = jnp.maximum(top, s)
        # Where nothing was seen yet the radicand is no measurement to remember.
        top = jnp.where(k == 0, top, s)
    return s, top


def _root(radicand: Array) -> Array:
    """√, with a slope of 0 at 0: the true one is infinite, and meta-learning asks."""
    seen = radicand > 0
    return jnp.where(seen, jnp.sqrt(jnp.where(seen, radicand, 1.0)), 0.0)


def _one_minus_power(beta: Number, t: Array) -> Array:
    """1 - β^t for t ≥ 1; by expm1, because in float32 1 - 0.999^1 cancels."""
    beta = jnp.asarray(beta, t.dtype)
    exponent = t * jnp.log(jnp.where(beta > 0, beta, 1.0))
    return jnp.where(beta > 0, -jnp.expm1(exponent), 1.0)
