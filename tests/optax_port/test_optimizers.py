"""The port where JAX's users put it: compiled, mapped, sharded, masked, injected."""

import inspect
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec

from acprop import optax_port

PARAMS = {"w": jnp.linspace(-1, 1, 6).reshape(2, 3), "b": jnp.ones(3)}
ALL = [
    optax_port.acprop,
    optax_port.adabelief,
    optax_port.adashift,
    optax_port.adam,
    optax_port.rmsprop,
]
each = pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)


def gradients(n_steps=5, params=PARAMS):
    rng = np.random.default_rng(0)
    return [
        jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape), p.dtype), params)
        for _ in range(n_steps)
    ]


def run(tx, grads, params=PARAMS, update=None):
    state, update = tx.init(params), update or tx.update
    for g in grads:
        updates, state = update(g, state, params)
        params = optax.apply_updates(params, updates)
    return params, state


def assert_same(a, b, rtol=1e-6, atol=1e-7):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


@pytest.mark.parametrize("make", ALL[::2], ids=lambda f: f.__name__)
def test_a_whole_run_compiles_into_one_loop(make):
    """`lax.scan` needs the state to keep its structure and types."""
    tx, grads = make(0.01, weight_decay=0.1), gradients()

    def body(carry, g):
        params, state = carry
        updates, state = tx.update(g, state, params)
        return (optax.apply_updates(params, updates), state), None

    stacked = jax.tree.map(lambda *gs: jnp.stack(gs), *grads)
    begin = (PARAMS, tx.init(PARAMS))
    looped, _ = jax.jit(lambda c, gs: jax.lax.scan(body, c, gs))(begin, stacked)
    assert_same(looped, run(tx, grads))


def test_many_learning_rates_at_once_are_single_runs():
    """vmap over a hyper-parameter: a sweep in one call."""
    rates, grads = jnp.array([1e-3, 1e-2]), gradients()
    swept = jax.vmap(lambda lr: run(optax_port.acprop(lr), grads)[0])(rates)
    for i, lr in enumerate((1e-3, 1e-2)):
        alone, _ = run(optax_port.acprop(lr), grads)
        assert_same(jax.tree.map(lambda x, i=i: x[i], swept), alone)


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, optax
from functools import partial
from jax.sharding import PartitionSpec as P
from acprop import optax_port
assert jax.device_count() == 2
tx = optax_port.acprop(0.01, weight_decay=0.1)
x = jnp.linspace(-1, 1, 8)
gs = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
def run(x, gs):
    state = tx.init(x)
    for g in gs:
        updates, state = tx.update(g, state, x)
        x = optax.apply_updates(x, updates)
    return x
whole = np.asarray(jax.jit(run)(x, gs))
mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
split = jax.shard_map(run, mesh=mesh, in_specs=(P("i"), P(None, "i")), out_specs=P("i"))
text = jax.jit(split).lower(x, gs).compile().as_text()
assert not any(word in text for word in ("all-reduce", "all-gather", "permute"))
np.testing.assert_array_equal(jax.jit(split)(x, gs), whole)
halves = jax.pmap(run)(x.reshape(2, 4), gs.reshape(5, 2, 4).swapaxes(0, 1))
np.testing.assert_array_equal(halves.reshape(8), whole)
"""


def test_two_devices_take_the_same_steps_without_a_collective():
    """shard_map and pmap, in a process that has two devices."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SHARDED],
        env={
            "PATH": "",
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_sharding_reaches_the_state():
    """Under jit the compiler splits m and s as it splits the parameter."""
    mesh = jax.make_mesh((1,), ("i",))
    spec = jax.sharding.NamedSharding(mesh, PartitionSpec("i"))
    x = jax.device_put(jnp.ones(4), spec)
    state = jax.jit(optax_port.acprop(0.1).init)(x)
    assert state[0].average.shape == state[0].nu.shape == x.shape


@each
def test_injected_hyperparams_are_the_same_steps(make):
    """Every number becomes an array that may be changed between steps."""
    grads = gradients()
    injected = optax.inject_hyperparams(make)(learning_rate=0.01, weight_decay=0.1)
    ours, state = run(injected, grads)
    plain, _ = run(make(0.01, weight_decay=0.1), grads)
    assert_same(ours, plain, rtol=1e-4, atol=1e-6)  # β2 is now a float32
    state.hyperparams["learning_rate"] = jnp.zeros(())
    state.hyperparams["weight_decay"] = jnp.zeros(())
    updates, _ = injected.update(grads[0], state, ours)
    assert all((u == 0).all() for u in jax.tree.leaves(updates))


def test_any_number_may_be_scheduled():
    schedule = optax.linear_schedule(0.5, 0.9, 3)
    tx = optax.inject_hyperparams(optax_port.acprop)(
        learning_rate=optax.cosine_decay_schedule(0.01, 10),
        b1=schedule,
        clip=0.25,
    )
    params, state = run(tx, gradients())
    np.testing.assert_allclose(state.hyperparams["b1"], 0.9, rtol=1e-6)
    # 0.25 bounds u, 0.01 the learning rate, five steps
    moved = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), params, PARAMS)
    assert max(jax.tree.leaves(moved)) <= 5 * 0.01 * 0.25


def test_a_delay_cannot_be_injected_and_says_so():
    tx = optax.inject_hyperparams(optax_port.acprop)(learning_rate=0.01, delay=2)
    with pytest.raises(TypeError, match=r"^delay must be a whole number, got an array"):
        tx.init(PARAMS)
    inject = optax.inject_hyperparams(optax_port.acprop, static_args=("delay",))
    _, state = run(inject(learning_rate=0.01, delay=2), gradients())
    assert state.inner_state[0].past["w"].shape == (1, 2, 3)


def test_a_mask_keeps_weight_decay_from_biases():
    zero = jax.tree.map(jnp.zeros_like, PARAMS)
    mask = {"w": True, "b": False}
    for given in (mask, lambda params: jax.tree.map(lambda p: p.ndim > 1, params)):
        tx = optax_port.acprop(0.1, weight_decay=0.5, mask=given)
        params, _ = run(tx, [zero])
        assert_same(params, {"w": 0.95 * PARAMS["w"], "b": PARAMS["b"]})


def test_multi_transform_gives_each_part_its_own():
    grads = gradients()
    both = {"ours": optax_port.acprop(0.01), "sgd": optax.sgd(0.1)}
    tx = optax.multi_transform(both, {"w": "ours", "b": "sgd"})
    params, _ = run(tx, grads)
    alone, _ = run(both["ours"], [g["w"] for g in grads], PARAMS["w"])
    assert_same(params["w"], alone)
    sgd, _ = run(both["sgd"], [g["b"] for g in grads], PARAMS["b"])
    assert_same(params["b"], sgd)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tx: optax.apply_if_finite(tx, max_consecutive_errors=2),
        lambda tx: optax.MultiSteps(tx, every_k_schedule=2),
        lambda tx: optax.chain(optax.clip_by_global_norm(1.0), tx),
        optax.lookahead,
    ],
    ids=["apply_if_finite", "MultiSteps", "clip", "lookahead"],
)
@pytest.mark.parametrize(
    "dtype",
    # The narrow type is the one that may clash with a wrapper's own.
    [pytest.param(jnp.float32, marks=pytest.mark.slow), jnp.bfloat16],
    ids=["f32", "bf16"],
)
def test_it_goes_inside_optaxs_wrappers(wrap, dtype):
    params = jax.tree.map(lambda p: p.astype(dtype), PARAMS)
    if wrap is optax.lookahead:
        wrap = partial(optax.lookahead, sync_period=2, slow_step_size=0.5)
        params = optax.LookaheadParams.init_synced(params)
        grads = gradients(4, params.fast)
    else:
        grads = gradients(4, params)
    tx = wrap(optax_port.acprop(0.1))
    after, _ = run(tx, grads, params)
    for before, now in zip(*map(jax.tree.leaves, (params, after)), strict=True):
        assert now.dtype == dtype
        assert not jnp.array_equal(before, now)
        assert jnp.isfinite(now).all()


@each
def test_half_precision_has_float32_state(make):
    """In bfloat16 β2 = 0.999 is 1: s would never learn of anything."""
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), PARAMS)
    grads = gradients(20, params)
    tx = make(0.01)
    updates, state = tx.update(grads[0], tx.init(params), params)
    assert {u.dtype for u in jax.tree.leaves(updates)} == {jnp.dtype(jnp.bfloat16)}
    kept = {leaf.dtype for leaf in jax.tree.leaves(state[0])}
    assert kept == {jnp.dtype(jnp.float32), jnp.dtype(jnp.int32)}
    after, state = run(tx, grads, params)
    wide = [jax.tree.map(lambda g: g.astype(jnp.float32), g) for g in grads]
    _, expected = run(tx, wide)
    assert_same(state[0].nu, expected[0].nu)  # of the same gradients
    assert all(p.dtype == jnp.bfloat16 for p in jax.tree.leaves(after))


def test_injection_into_half_precision_needs_a_wide_type_for_its_numbers():
    """What docs/jax.md says: optax keeps them in the type of the parameters."""
    params = {"w": jnp.ones(4, jnp.bfloat16)}
    inject = partial(optax.inject_hyperparams, optax_port.acprop)
    narrow = inject()(learning_rate=0.01).init(params).hyperparams["b2"]
    wide = inject(hyperparam_dtype=jnp.float32)(learning_rate=0.01)
    assert narrow == 1
    assert wide.init(params).hyperparams["b2"] < 1


def test_meta_learning_can_differentiate_through_a_run():
    """From s = 0, where the root's slope is infinite, and a bound that binds."""

    def final(lr, x):
        params, _ = run(optax_port.acprop(lr), gradients(3), x)
        return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))

    slopes = jax.grad(final, argnums=(0, 1))(0.01, PARAMS)
    assert all(jnp.isfinite(s).all() for s in jax.tree.leaves(slopes))
    h = 1e-2
    numeric = (final(0.01 + h, PARAMS) - final(0.01 - h, PARAMS)) / (2 * h)
    np.testing.assert_allclose(slopes[0], numeric, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optax_port.acprop(-1.0), r"^learning_rate must be finite and 0 or mo"),
        (lambda: optax_port.acprop(0.1, b1=1.0), r"^b1 must be in \[0, 1\), got 1.0$"),
        (lambda: optax_port.acprop(0.1, b2=-1), r"^b2 must be in \[0, 1\), got -1$"),
        (lambda: optax_port.acprop(0.1, eps=-1.0), r"^eps must be finite and 0 or mor"),
        (lambda: optax_port.acprop(0.1, clip=0.0), r"^clip must be above 0, got 0.0"),
        (lambda: optax_port.acprop(0.1, clip="t"), r'^clip must be None, "t\*\*0.25"'),
        (lambda: optax_port.acprop(0.1, delay=-1), r"^delay must be 0 or more, got -1"),
        (lambda: optax_port.acprop(0.1, average="m"), r"^average must be one of None"),
        (lambda: optax_port.acprop(0.1, center="M"), r"^center must be one of None, m"),
        (
            lambda: optax_port.acprop(0.1, nesterov=2),
            r"^nesterov must be True or False",
        ),
        (
            lambda: optax_port.acprop(0.1, average=None, nesterov=True),
            r"^nesterov must be False with average=None, got True; there is no average",
        ),
        (
            lambda: optax_port.acprop(0.1, center="average", delay=2),
            r"^center must be None or \"m\" with average='after' and delay=2, got ",
        ),
        (lambda: optax_port.acprop(0.1, weight_decay=-1), r"^weight_decay must be fin"),
        (lambda: optax_port.acprop(0.1, convention="x"), r"^convention must be one of"),
        (lambda: optax_port.acprop(0.1, clip=None), r"^clip must be a finite number "),
        (lambda: optax_port.acprop(0.1, momentum=0.0), "keyword argument 'momentum'"),
        (lambda: optax_port.rmsprop(0.1, 1.0), r"^b2 must be in \[0, 1\), got 1.0$"),
        (lambda: optax_port.adam(0.1, amsgrad=2), r"^amsgrad must be True or False"),
        (
            lambda: optax_port.acprop(0.1).init(jnp.ones(2, jnp.complex64)),
            r"^params must be real, got complex64; wrap .*split_real_and_imaginary$",
        ),
    ],
)
def test_nonsense_is_refused_at_the_door(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_complex_parameters_go_through_optaxs_own_wrapper():
    tx = optax.contrib.split_real_and_imaginary(optax_port.acprop(0.1))
    x = jnp.array([1 + 1j, -1j])
    updates, _ = tx.update(x, tx.init(x), x)
    first = 1 - 0.9**2  # of an average that starts at 0
    np.testing.assert_allclose(
        updates, [-0.1 * first - 0.1j * first, 0.1j * first], atol=1e-7
    )


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
@pytest.mark.parametrize("average", [None, "before", "after"])
def test_what_is_not_finite_shows_at_once(average, bad):
    """Compiled too: 0 · ∞ must not be simplified away."""
    tx = optax_port.acprop(0.1, average=average)
    x = jnp.ones(3)
    _, state = tx.update(x, tx.init(x), x)
    updates, _ = jax.jit(tx.update)(jnp.array([1.0, bad, -1.0]), state, x)
    assert jnp.isfinite(updates).tolist() == [True, False, True]


def test_the_docstring_says_what_the_code_does():
    """The formulas of `acprop`, written a second time, line by line."""
    lines = """
    d = √(s/(1 - b2^(t-1))) + eps
    u = clip(g/d, ±t^¼)                                  0/0 = 0
    r = g - d·clip(M, ±1)
    M = b1·M + (1 - b1)·u
    x = x - learning_rate·(b1·M + (1 - b1)·u)
    s = b2·s + (1 - b2)·(1 + b1)/2·r²
    """
    doc = inspect.getdoc(optax_port.acprop)
    assert all(line.strip() in doc for line in lines.strip().splitlines())
    M = s = np.zeros(3)
    x, expected = np.ones(3), []
    grads = np.random.default_rng(0).normal(size=(9, 3)) * [1, 0, 30]
    for t, g in enumerate(grads, 1):
        d = (np.sqrt(s / (1 - 0.99 ** (t - 1))) if t > 1 else 0.0) + 1e-3
        u = np.clip(g / d, -(t**0.25), t**0.25)
        r = g - d * np.clip(M, -1, 1)
        M = 0.9 * M + (1 - 0.9) * u
        x = x - 0.01 * (0.9 * M + (1 - 0.9) * u)
        s = 0.99 * s + (1 - 0.99) * (1 + 0.9) / 2 * r**2
        expected.append(x)
    with jax.enable_x64(True):
        tx = optax_port.acprop(0.01, 0.9, 0.99, 1e-3)
        ours, _ = run(tx, list(jnp.asarray(grads)), jnp.ones(3))
    np.testing.assert_allclose(ours, expected[-1], rtol=0, atol=1e-13)
