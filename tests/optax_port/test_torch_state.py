"""A run that changes framework goes on as if it had not."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import acprop
from acprop import optax_port

SHAPES = {"layer.weight": (3, 2), "layer.bias": (3,)}
OPTIONS = {
    "default": ({}, {}),
    "no average": ({"average": None}, {"average": None}),
    "before": ({"average": "before"}, {"average": "before"}),
    "after, on m": ({"center": "m"}, {"center": "m"}),
    "delay 3, amsgrad": (
        {"delay": 3, "amsgrad": True},
        {"delay": 3, "amsgrad": True},
    ),
    "authors, decay": (
        {"convention": "authors", "weight_decay": 0.1},
        {"convention": "authors", "weight_decay": 0.1},
    ),
}


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def to_jax(arrays):
    """As in flax: the kernel is the transposed weight."""
    kernel, bias = arrays["layer.weight"].T, arrays["layer.bias"]
    return {"dense": {"bias": bias, "kernel": kernel}}


def back(params):
    dense = params["dense"]
    kernel = dense["kernel"]
    masked = isinstance(kernel, optax.MaskedNode)
    weight = kernel if masked else np.asarray(kernel).T
    return {"layer.weight": weight, "layer.bias": dense["bias"]}


def gradients(seed, n_steps=6):
    rng = np.random.default_rng(seed)
    return [
        {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
        for _ in range(n_steps)
    ]


def in_torch(cls=acprop.ACProp, **options):
    params = {
        name: torch.linspace(-1, 1, int(np.prod(shape)), dtype=torch.float64)
        .reshape(shape)
        .requires_grad_()
        for name, shape in SHAPES.items()
    }
    return params, cls(list(params.items()), lr=0.01, **options)


def walk_torch(params, opt, grads):
    for g in grads:
        for name, param in params.items():
            param.grad = torch.tensor(g[name])
        opt.step()


def walk_jax(tx, params, state, grads):
    for g in grads:
        updates, state = tx.update(to_jax(g), state, params)
        params = optax.apply_updates(params, updates)
    return params, state


def as_jax(params):
    arrays = {name: p.detach().numpy() for name, p in params.items()}
    return jax.tree.map(jnp.asarray, to_jax(arrays))


def assert_same(jax_params, torch_params):
    for name, a in back(jax_params).items():
        np.testing.assert_allclose(a, torch_params[name].detach(), atol=1e-12)


each = pytest.mark.parametrize(("theirs", "ours"), OPTIONS.values(), ids=OPTIONS)


@each
def test_jax_goes_on_where_torch_stopped(theirs, ours):
    params, opt = in_torch(**theirs)
    walk_torch(params, opt, gradients(0))
    tx = optax_port.acprop(0.01, **ours)
    x = as_jax(params)
    state = optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
    x, _ = walk_jax(tx, x, state, gradients(1))
    walk_torch(params, opt, gradients(1))
    assert_same(x, params)


@each
def test_torch_goes_on_where_jax_stopped(theirs, ours):
    params, opt = in_torch(**theirs)
    tx = optax_port.acprop(0.01, **ours)
    x = as_jax(params)
    x, state = walk_jax(tx, x, tx.init(x), gradients(0))
    opt.load_state_dict(optax_port.to_torch(state, opt.state_dict(), back))
    with torch.no_grad():
        for name, a in back(x).items():
            params[name].copy_(torch.tensor(np.asarray(a)))
    walk_torch(params, opt, gradients(1))
    x, _ = walk_jax(tx, x, state, gradients(1))
    assert_same(x, params)


def test_there_and_back_is_where_it_was():
    params, opt = in_torch(delay=2, amsgrad=True)
    walk_torch(params, opt, gradients(0))
    tx = optax_port.acprop(0.01, delay=2, amsgrad=True)
    saved = opt.state_dict()
    state = optax_port.from_torch(saved, tx.init(as_jax(params)), to_jax)
    again = optax_port.to_torch(state, saved, back)
    assert again["state"].keys() == saved["state"].keys()
    for i, values in saved["state"].items():
        assert again["state"][i].keys() == values.keys()
        for name, value in values.items():
            assert torch.equal(again["state"][i][name].double(), value.double()), name


def test_the_one_number_of_a_reduction_is_carried_over():
    params, opt = in_torch(acprop.AdaShift, reduction="max", delay=2)
    walk_torch(params, opt, gradients(0))
    tx = optax_port.adashift(0.01, reduction="max", delay=2)
    x = as_jax(params)
    state = optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
    assert state[0].nu["dense"]["kernel"].shape == ()
    again = optax_port.to_torch(state, opt.state_dict(), back)
    opt.load_state_dict(again)
    x, _ = walk_jax(tx, x, state, gradients(1))
    walk_torch(params, opt, gradients(1))
    assert_same(x, params)


def test_schedules_and_injected_numbers_count_on():
    params, opt = in_torch()
    walk_torch(params, opt, gradients(0, 4))
    schedule = optax.linear_schedule(1.0, 0.0, 10)
    inject = optax.inject_hyperparams(optax_port.acprop)
    for tx in (optax_port.acprop(schedule), inject(learning_rate=schedule)):
        x = as_jax(params)
        state = optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
        _, after = walk_jax(tx, x, state, gradients(1, 1))
        counts = optax.tree.get_all_with_path(after, "count")
        assert {int(count) for _, count in counts} == {5}


def test_parts_of_a_multi_transform_are_filled_and_read():
    params, opt = in_torch()
    walk_torch(params, opt, gradients(0))
    both = {"a": optax_port.acprop(0.01), "b": optax_port.acprop(0.01)}
    labels = {"dense": {"bias": "a", "kernel": "b"}}
    tx = optax.multi_transform(both, labels)
    x = as_jax(params)
    state = optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
    again = optax_port.to_torch(state, opt.state_dict(), back)
    x, _ = walk_jax(tx, x, state, gradients(1))
    opt.load_state_dict(again)
    walk_torch(params, opt, gradients(1))
    assert_same(x, params)


def test_without_names_and_convert_leaves_are_parameters_in_order():
    values = [np.linspace(-1, 1, 3), np.ones((2, 2))]
    params = [torch.tensor(v, requires_grad=True) for v in values]
    opt = acprop.ACProp(params, lr=0.01)
    for _ in range(3):
        for p in params:
            p.grad = p.detach() + 1
        opt.step()
    tx = optax_port.acprop(0.01)
    x = [jnp.asarray(p.detach().numpy()) for p in params]
    state = optax_port.from_torch(opt.state_dict(), tx.init(x))
    for a, p in zip(state[0].average, params, strict=True):
        np.testing.assert_array_equal(a, opt.state[p]["momentum_buffer"])
    again = optax_port.to_torch(state, opt.state_dict())["state"][1]["momentum_buffer"]
    assert torch.equal(again, opt.state[params[1]]["momentum_buffer"])
    with pytest.raises(ValueError, match=r"^convert must be given, got None: torch h"):
        optax_port.from_torch(opt.state_dict(), tx.init(x[:1]))
    with pytest.raises(ValueError, match=r"^convert must be given, got None: torch h"):
        optax_port.to_torch(tx.init(x[:1]), opt.state_dict())


def test_what_cannot_be_converted_says_why():
    params, opt = in_torch()
    tx = optax_port.acprop(0.01)
    x = as_jax(params)
    with pytest.raises(ValueError, match=r"^state_dict must have the state of every"):
        optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
    walk_torch(params, opt, gradients(0, 1))
    saved = opt.state_dict()
    other = optax_port.acprop(0.01, average="before")
    with pytest.raises(ValueError, match=r"must hold exp_avg of parameter layer.weigh"):
        optax_port.from_torch(saved, other.init(x), to_jax)
    wrong = {"dense": {"bias": x["dense"]["bias"], "kernel": jnp.ones((3, 2))}}
    with pytest.raises(ValueError, match=r"^convert must give exp_avg_sq in the shape"):
        optax_port.from_torch(saved, tx.init(wrong), to_jax)
    with pytest.raises(ValueError, match=r"^state must be of a transformation of acpr"):
        optax_port.from_torch(saved, optax.adam(0.1).init(x), to_jax)
    only = {"layer.weight": np.ones((3, 2))}
    with pytest.raises(ValueError, match=r"^state must have what every parameter need"):
        optax_port.to_torch(tx.init(x), saved, lambda _: only)
    params["layer.bias"].grad = None
    opt.step()
    with pytest.raises(
        ValueError, match=r"equally many steps of all parameters, got 1"
    ):
        optax_port.from_torch(opt.state_dict(), tx.init(x), to_jax)
