"""The JAX port on the golden vectors, beside the reference, torch and optax's own."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import acprop
from acprop import optax_port, rule
from acprop.optim.base import FamilyOptimizer
from acprop.reference import Settings, State, step
from acprop.rule import Rule

from ..pairs import pairwise

GOLDEN = Path(__file__).parents[1] / "golden"
FAMILY = json.loads((GOLDEN / "family.json").read_text())
AUTHORS = json.loads((GOLDEN / "authors.json").read_text())["cases"]
# Relative to max(1, |value|): 1 - β^t is computed otherwise than in the reference.
ROUNDING = 1e-12


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def walk(tx, x0, grads):
    """Every x, and the last state; not compiled, which would take longer."""
    x = jnp.asarray(x0)
    state, path = tx.init(x), []
    for g in grads:
        updates, state = tx.update(jnp.asarray(g), state, x)
        x = optax.apply_updates(x, updates)
        path.append(np.asarray(x))
    return np.array(path), state


def assert_close(ours, expected, tolerance=ROUNDING):
    expected = np.asarray(expected)
    error = np.abs(np.asarray(ours) - expected) / np.maximum(1, np.abs(expected))
    assert error.max() <= tolerance


def chained(method: Rule, given: dict, convention) -> optax.GradientTransformation:
    """`scale_by_rule` with all that a golden case asks for around it."""
    direction = optax_port.scale_by_rule(
        method,
        convention,
        b1=given["betas"][0],
        b2=given["betas"][1],
        eps=given["eps"],
        amsgrad=given["amsgrad"],
        clip=given["clip"],
    )
    decay = optax.add_decayed_weights(given["weight_decay"])
    decoupled = given["decoupled_weight_decay"]
    parts = [direction, decay] if decoupled else [decay, direction]
    sign = optax.scale(-1.0 if given["maximize"] else 1.0)
    return optax.chain(sign, *parts, optax.scale_by_learning_rate(given["lr"]))


# 1. The golden vectors


def values(case: dict) -> dict[str, str]:
    options = {**case["rule"], **case["settings"], "convention": case["convention"]}
    return {name: str(value) for name, value in options.items()}


CHOSEN = pairwise(FAMILY["cases"], values)
REST = [case for case in FAMILY["cases"] if case not in CHOSEN]


@pytest.mark.parametrize(
    "case",
    [*CHOSEN, *(pytest.param(case, marks=pytest.mark.slow) for case in REST)],
    ids=lambda case: case["id"],
)
def test_the_port_walks_the_golden_trajectories(case):
    """The family by its definition, to 50 digits (scripts/write_golden.py).

    Here every two options together; the rest is among the slow tests.
    """
    tx = chained(Rule(**case["rule"]), case["settings"], case["convention"])
    path, state = walk(tx, case["x0"], FAMILY["gradients"][case["grads"]])
    assert_close(path, case["x"])
    (ours,) = [s for s in state if isinstance(s, optax_port.ScaleByRuleState)]
    assert_close(np.atleast_1d(ours.nu), case["s"])
    method = Rule(**case["rule"])
    means = {"m": (ours.mu, method.keeps_m), "M": (ours.average, method.keeps_average)}
    kept = {letter: mean for letter, (mean, is_kept) in means.items() if is_kept}
    assert {letter for letter, (mean, _) in means.items() if mean is not None} == (
        kept.keys()
    )
    for letter, mean in kept.items():
        assert_close(mean, case[letter])
    assert ours.count == len(path)


@pytest.mark.parametrize("case", AUTHORS, ids=lambda case: str(case["settings"]))
def test_the_authors_convention_walks_the_authors_trajectories(case):
    """juntang-zhuang/ACProp-Optimizer, rectification off, with its schedules."""
    given = case["settings"]
    schedules = {
        "constant": given["lr"],
        "lr/sqrt(t)": lambda count: given["lr"] / jnp.sqrt(count + 1.0),
    }
    tx = optax_port.acprop(
        schedules[given["lr_schedule"]],
        *given["betas"],
        given["eps"],
        given["weight_decay"],
        convention="authors",
        average={"g": None, "m": "before"}[given["numerator"]],
        decoupled_weight_decay=given["decoupled"],
    )
    path, _ = walk(tx, case["x0"], case["grads"])
    np.testing.assert_allclose(path, case["x"], rtol=0, atol=1e-12)


# 2. Beside the reference, torch and optax

numbers = st.integers(-64, 64).map(lambda i: i / 64)
tables = st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=8, max_size=8)
AVERAGED = st.sampled_from(
    [
        (None, None, False),
        (None, "m", False),
        *product(["before", "after"], [None, "m"], [False, True]),
    ]
)
ON_ITSELF = st.builds(
    Rule,
    average=st.just("after"),
    center=st.just("average"),
    delay=st.just(1),
    nesterov=st.booleans(),
    reduction=st.sampled_from([None, "max", "mean"]),
)
METHODS = ON_ITSELF | st.builds(
    lambda averaged, delay, reduction: Rule(
        averaged[0], averaged[1], delay, averaged[2], reduction
    ),
    AVERAGED,
    st.sampled_from([0, 1, 3]),
    st.sampled_from([None, "max", "mean"]),
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    gs=tables,
    method=METHODS,
    convention=st.sampled_from(list(rule.CONVENTIONS.values())),
    betas=st.sampled_from([(0.9, 0.999), (0.0, 0.9), (0.5, 0.0)]),
    amsgrad=st.booleans(),
    clip=st.sampled_from(["convention", None, 0.5, "t**0.25"]),
)
def test_every_direction_is_the_references(
    gs, method, convention, betas, amsgrad, clip
):
    """Any rule, convention and option together; ε is large enough to compare."""
    h = Settings(*betas, 1e-3, amsgrad=amsgrad, clip=clip)
    tx = optax_port.scale_by_rule(
        method,
        convention,
        b1=betas[0],
        b2=betas[1],
        eps=1e-3,
        amsgrad=amsgrad,
        clip=clip,
    )
    state, ours = State(), tx.init(jnp.zeros(3))
    for g in gs:
        state, d = step(method, convention, state, np.array(g), h)
        direction, ours = tx.update(jnp.asarray(g), ours)
        assert_close(direction, d)
    kept = [(ours.mu, state.m), (ours.average, state.M)]
    for mean, expected in [pair for pair in kept if pair[0] is not None]:
        assert_close(mean, expected)
    assert_close(ours.nu, np.reshape(state.s, ours.nu.shape))


def noise(n_steps: int = 40) -> np.ndarray:
    """Three silent steps first, a silent element, a spike."""
    gs = np.random.default_rng(0).normal(size=(n_steps, 4))
    gs[:3] = 0
    gs[:20, 1] = 0
    gs[30, 2] = 50
    return gs


OPTIMIZERS = [
    (optax_port.acprop, acprop.ACProp, {}, {}),
    *(
        (optax_port.acprop, acprop.ACProp, same, same)
        for same in (
            {"average": None},
            {"average": "before", "nesterov": True},
            {"average": "after", "center": "m"},
            {"nesterov": False},
            {"convention": "paper", "eps": 1e-3},
        )
    ),
    (optax_port.acprop, acprop.ACProp, {"delay": 3}, {"delay": 3}),
    (optax_port.adabelief, acprop.AdaBelief, {}, {}),
    (optax_port.adashift, acprop.AdaShift, {"delay": 2}, {"delay": 2}),
    (
        optax_port.adashift,
        acprop.AdaShift,
        {"reduction": "max"},
        {"reduction": "max"},
    ),
    (optax_port.adam, acprop.Adam, {"amsgrad": True}, {"amsgrad": True}),
    (optax_port.rmsprop, acprop.RMSprop, {"b2": 0.9}, {"alpha": 0.9}),
]


def follow_in_torch(cls, grads, **options) -> np.ndarray:
    param = torch.linspace(-1, 1, 4, dtype=torch.float64, requires_grad=True)
    opt, path = cls([param], **options), []
    for g in grads:
        param.grad = torch.tensor(g)
        opt.step()
        path.append(param.detach().numpy().copy())
    return np.array(path)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize(
    ("ours", "cls", "given", "theirs"),
    OPTIMIZERS,
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_a_name_is_the_torch_class_of_that_name(ours, cls, given, theirs, weight_decay):
    """Defaults included: rule, convention, ε, bound, kind of weight decay."""
    gs, x0 = noise(), np.linspace(-1, 1, 4)
    path, _ = walk(ours(0.01, weight_decay=weight_decay, **given), x0, gs)
    decay = {"weight_decay": weight_decay}
    assert_close(path, follow_in_torch(cls, gs, lr=0.01, **decay, **theirs))


@pytest.mark.parametrize(
    "convention", [*rule.CONVENTIONS, replace(acprop.GUARDED, residual="previous")]
)
def test_a_convention_is_torchs_of_that_name(convention):
    gs, x0, eps = noise(), np.linspace(-1, 1, 4), 1e-3
    path, _ = walk(optax_port.acprop(0.01, eps=eps, convention=convention), x0, gs)
    options = {"lr": 0.01, "eps": eps, "convention": convention}
    assert_close(path, follow_in_torch(acprop.ACProp, gs, **options))


@pytest.mark.parametrize(("eps", "weight_decay"), [(1e-16, 0.0), (1e-3, 0.1)])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99)])
def test_the_optax_convention_is_optax(betas, eps, weight_decay):
    """optax.contrib.acprop; it starts loud, for silence it answers with 10⁷."""
    gs, x0 = noise()[3:], np.linspace(-1, 1, 4)
    gs[:, 1] = gs[:, 0]
    peer = optax.contrib.acprop(
        0.01, *betas, eps=eps, eps_root=eps, weight_decay=weight_decay
    )
    ours = optax_port.acprop(0.01, *betas, eps, weight_decay, convention="optax")
    expected, _ = walk(peer, x0, gs)
    path, _ = walk(ours, x0, gs)
    np.testing.assert_allclose(path, expected, rtol=1e-11, atol=1e-12)


def test_float32_stays_close_to_float64():
    """1 - 0.999^1 cancels in float32 if it is computed as it is written."""
    gs = noise().astype(np.float32)
    wide, _ = walk(optax_port.acprop(0.01), np.linspace(-1, 1, 4), gs.astype(float))
    x0 = np.linspace(-1, 1, 4, dtype=np.float32)
    narrow, state = walk(optax_port.acprop(0.01), x0, gs)
    assert narrow.dtype == state[0].nu.dtype == np.float32
    assert_close(narrow, wide, 1e-6)


def test_a_group_of_options_is_known_to_torch_by_the_same_names():
    """So that a golden case means the same in both."""
    param = torch.ones(1, requires_grad=True)
    [group] = FamilyOptimizer([param]).param_groups
    for case in FAMILY["cases"]:
        assert case["settings"].keys() | case["rule"].keys() <= group.keys()
