"""The numpy family beside the paper, its published versions, and itself.

Longer than our files should be: `tests/` mirrors `src/` one to one, and the reference
is what everything else is measured with.
"""

import importlib.util
import json
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import pytorch_optimizer
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acprop import rule
from acprop.reference import Settings, State, step
from acprop.rule import Convention, Rule

ROOT = Path(__file__).parents[1]
AUTHORS = json.loads((ROOT / "tests/golden/authors.json").read_text())
FAMILY = json.loads((ROOT / "tests/golden/family.json").read_text())
RULES = [
    rule.RMSPROP,
    rule.RMSPROP_CENTERED,
    rule.ADAM,
    rule.ADABELIEF,
    rule.ADASHIFT,
    rule.ACPROP,
    rule.ACPROP_PAPER,
    rule.ACPROP_BEFORE,
    rule.ACPROP_AFTER,
    replace(rule.ACPROP, nesterov=False),
    replace(rule.ACPROP, reduction="max"),
    replace(rule.ACPROP_BEFORE, nesterov=True),
    replace(rule.ACPROP_AFTER, delay=0, nesterov=True),
    replace(rule.ACPROP_AFTER, delay=3, center=None),
    replace(rule.ACPROP_PAPER, delay=3),
    replace(rule.ACPROP_BEFORE, delay=2),
    replace(rule.ADASHIFT, delay=2, reduction="max"),
    replace(rule.ACPROP_PAPER, reduction="mean"),
]
ASYNCHRONOUS = [r for r in RULES if r.delay]
CONVENTIONS = list(rule.CONVENTIONS.values())
# 1 - β2^k loses three digits at k = 1 and β2 = 0.999, whoever computes it.
ROUNDING = 1e-12

few = settings(max_examples=15, deadline=None, derandomize=True, database=None)
# Multiples of 1/64: sums and squares are exact in any order, and nothing underflows.
numbers = st.integers(-64, 64).map(lambda i: i / 64)
betas = st.sampled_from([0.0, 0.5, 0.9, 0.99])


def tables(n_elements: int = 3, n_steps: int = 8) -> st.SearchStrategy[np.ndarray]:
    row = st.lists(numbers, min_size=n_elements, max_size=n_elements)
    return st.lists(row, min_size=2, max_size=n_steps).map(np.array)


def run(
    method: Rule,
    convention: Convention,
    gs: np.ndarray,
    h: Settings = Settings(),  # noqa: B008
) -> tuple[State, np.ndarray]:
    """Return the last state and every direction."""
    state, ds = State(), []
    for g in gs:
        state, d = step(method, convention, state, g, h)
        ds.append(d)
    return state, np.array(ds)


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


write_golden = load_script("write_golden")


# 1. Beside the published versions


def test_algorithm_2_as_printed_is_the_paper_convention():
    """Algorithm 2, lines 3 to 7: nothing is added, left out or reordered."""
    gs = np.random.default_rng(0).normal(size=(50, 4))
    beta1, beta2, eps, m, s, ds = 0.9, 0.999, 1e-16, 0.0, 0.0, []
    for g in gs:
        m = beta1 * m + (1 - beta1) * g
        ds.append(g / np.sqrt(s + eps))
        s = beta2 * s + (1 - beta2) * (g - m) ** 2
    state, ours = run(rule.ACPROP_PAPER, rule.PAPER, gs, Settings(beta1, beta2))
    np.testing.assert_array_equal(ours, ds)
    np.testing.assert_array_equal((state.m, state.s), (m, s))


def test_the_default_is_what_its_docstring_prints():
    """docs/guard.md and `help(acprop.ACProp)`, line by line."""
    gs = np.random.default_rng(0).normal(size=(50, 4)) + 1.5
    beta1, beta2, M, s, ds = 0.9, 0.999, np.zeros(4), np.zeros(4), []
    for t, g in enumerate(gs, 1):
        d = np.sqrt(s / (1 - beta2 ** (t - 1)) if t > 1 else s) + 1e-30
        u = np.clip(g / d, -(t**0.25), t**0.25)
        r = g - d * np.clip(M, -1, 1)
        M = beta1 * M + (1 - beta1) * u
        ds.append(beta1 * M + (1 - beta1) * u)
        s = beta2 * s + (1 - beta2) * (1 + beta1) / 2 * r**2
    state, ours = run(rule.ACPROP, rule.GUARDED, gs, Settings(beta1, beta2))
    np.testing.assert_array_equal(ours, ds)
    np.testing.assert_array_equal((state.M, state.s), (M, s))


@pytest.mark.parametrize("case", AUTHORS["cases"], ids=lambda c: str(c["settings"]))
def test_the_authors_convention_walks_the_authors_trajectories(case):
    """The published code, rectification off: what the paper's curves were made with."""
    given = case["settings"]
    method = {"g": rule.ACPROP_PAPER, "m": rule.ACPROP_BEFORE}[given["numerator"]]
    h = Settings(*given["betas"], given["eps"], given["amsgrad"])
    decoupled = given["weight_decay"] * given["decoupled"]
    l2 = given["weight_decay"] - decoupled
    power = {"constant": 0, "lr/sqrt(t)": 0.5}[given["lr_schedule"]]
    x, state, path = np.array(case["x0"]), State(), []
    for t, g in enumerate(np.array(case["grads"]), 1):
        lr = given["lr"] / t**power
        state, d = step(method, rule.AUTHORS, state, g + l2 * x, h)
        x = (1 - lr * decoupled) * x - lr * d
        path.append(x)
    np.testing.assert_allclose(path, case["x"], rtol=0, atol=1e-12)


def follow_optax(gs: np.ndarray, b: tuple[float, float], eps: float) -> np.ndarray:
    with jax.enable_x64(True):
        peer = optax.contrib.acprop(1.0, *b, eps=eps, eps_root=eps)
        state, ds = peer.init(jnp.zeros(4)), []
        for g in gs:
            d, state = peer.update(jnp.asarray(g), state, jnp.zeros(4))
            ds.append(-np.asarray(d))
    return np.array(ds)


@pytest.mark.parametrize("eps", [None, 1e-8, 1e-3])
@pytest.mark.parametrize("b", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99), (0.99, 0.3)])
def test_the_optax_convention_is_optax(b, eps):
    """optax.contrib.acprop, run live: residual against m_{t-1}, ε accumulated."""
    gs = np.random.default_rng(0).normal(size=(60, 4))
    gs[:, 1] = 0
    gs[20:50, 2] = 0
    gs[:10, 3] = 0
    _, ours = run(rule.ACPROP_PAPER, rule.OPTAX, gs, Settings(*b, eps))
    theirs = follow_optax(gs, b, eps or rule.OPTAX.eps)
    np.testing.assert_allclose(ours, theirs, rtol=ROUNDING, atol=0)


def follow_torch(make, gs: np.ndarray) -> np.ndarray:
    """Return a torch optimizer's directions: its steps from 0 at a rate of 1."""
    x = torch.zeros(gs.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer, path = make([x]), [np.zeros(gs.shape[1])]
    for g in gs:
        x.grad = torch.tensor(g)
        optimizer.step()
        path.append(x.detach().numpy().copy())
    return -np.diff(path, axis=0)


@pytest.mark.parametrize("b", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99)])
@pytest.mark.parametrize(
    ("method", "convention", "h", "make"),
    [
        (
            rule.ADAM,
            rule.TORCH,
            Settings(),
            lambda p, b: torch.optim.Adam(p, 1.0, b),
        ),
        (
            rule.ADAM,
            rule.TORCH,
            Settings(amsgrad=True, eps=1e-3),
            lambda p, b: torch.optim.Adam(p, 1.0, b, eps=1e-3, amsgrad=True),
        ),
        (
            rule.RMSPROP,
            rule.TORCH_RMSPROP,
            Settings(),
            lambda p, b: torch.optim.RMSprop(p, 1.0, alpha=b[1]),
        ),
        (
            rule.ADABELIEF,
            rule.AUTHORS,
            Settings(),
            lambda p, b: pytorch_optimizer.AdaBelief(p, 1.0, b, rectify=False),
        ),
        (
            rule.ADABELIEF,
            rule.AUTHORS,
            Settings(eps=1e-3),
            lambda p, b: pytorch_optimizer.AdaBelief(
                p, 1.0, b, rectify=False, eps=1e-3
            ),
        ),
    ],
    ids=["adam", "amsgrad", "rmsprop", "adabelief", "adabelief-large-eps"],
)
def test_the_synchronous_rules_are_their_peers(method, convention, h, make, b):
    """The family's other cells are the methods that the paper compares with."""
    gs = np.random.default_rng(0).normal(size=(40, 4)) / np.arange(1, 41)[:, None]
    theirs = follow_torch(lambda params: make(params, b), gs)
    _, ours = run(method, convention, gs, h._replace(beta1=b[0], beta2=b[1]))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


# 2. Beside the golden vectors


@pytest.mark.parametrize("case", FAMILY["cases"], ids=lambda case: case["id"])
def test_the_reference_is_the_definition(case):
    """Fifty digits and explicit sums against float64 and recursions."""
    ours = write_golden.follow(case, FAMILY["gradients"][case["grads"]])
    assert write_golden.distance(case, ours) <= ROUNDING


@pytest.mark.slow  # `make check` asks the script itself
def test_the_golden_file_is_what_its_script_writes():
    assert write_golden.check() == []


def test_every_golden_case_has_its_own_name_and_covers_the_table():
    ids = {case["id"] for case in FAMILY["cases"]}
    assert len(ids) == len(FAMILY["cases"])
    named = {name for name, r in vars(rule).items() if isinstance(r, Rule)}
    slugs = {name.lower().replace("_", "-") for name in named}
    assert {f"{r}-{c}" for r in slugs for c in rule.CONVENTIONS} <= ids


@pytest.fixture
def two_cases(monkeypatch):
    both = list(islice(write_golden.cases(), 2))
    monkeypatch.setattr(write_golden, "cases", lambda: iter(both))
    return [case["id"] for case in both]


def test_the_check_names_the_line_that_differs(two_cases, tmp_path):
    target = tmp_path / "family.json"
    write_golden.write(target)
    assert write_golden.check(target) == []
    assert list(tmp_path.iterdir()) == [target]
    text = target.read_text()
    target.write_text(text.replace('"eps":0.01', '"eps":0.02'))
    (line,) = write_golden.check(target)
    assert two_cases[1] in line


def test_nothing_is_written_when_the_reference_disagrees(
    two_cases, tmp_path, monkeypatch
):
    def off(*arguments):
        state, d = step(*arguments)
        return state, d * (1 + 1e-9)

    monkeypatch.setattr(write_golden.reference, "step", off)
    with pytest.raises(ArithmeticError, match=rf"agree to 1e-12, got {two_cases[0]}"):
        write_golden.write(tmp_path / "family.json")
    assert list(tmp_path.iterdir()) == []


# 3. What the paper says of the family


def is_affine(method, convention, state, g1, g2, h) -> bool:
    """Is the step from the mean of two gradients the mean of their two steps?"""
    middle, d1, d2 = (
        step(method, convention, state, g, h)[1] for g in ((g1 + g2) / 2, g1, g2)
    )
    size = np.maximum(np.abs(d1), np.abs(d2))
    return bool(np.all(np.abs(middle - (d1 + d2) / 2) <= ROUNDING * size))


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize("method", ASYNCHRONOUS, ids=str)
@few
@given(gs=tables(), g1=tables(n_steps=2), beta1=betas)
def test_given_the_past_an_asynchronous_step_is_linear_in_the_gradient(
    method, convention, gs, g1, beta1
):
    """Lemma 3.3 needs E[g_t/√s_{t-1}] = E[g_t]/√s_{t-1}; a bound that binds ends it."""
    h = Settings(beta1, eps=1e-3, clip=None)
    gs = np.vstack([gs[:1]] * method.delay + [gs])
    state, _ = run(method, convention, gs, h)
    assert is_affine(method, convention, state, *g1[:2], h)


def test_a_bound_that_binds_is_not_linear_in_the_gradient():
    state, _ = run(rule.ACPROP_PAPER, rule.GUARDED, np.array([[1.0], [0.5]]))
    g1, g2 = np.array([100.0]), np.array([-0.5])
    assert not is_affine(rule.ACPROP_PAPER, rule.GUARDED, state, g1, g2, Settings())


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize("method", [rule.RMSPROP, rule.ADAM, rule.ADABELIEF], ids=str)
def test_a_synchronous_step_is_not_linear_in_the_gradient(method, convention):
    state, _ = run(method, convention, np.array([[1.0], [0.5]]))
    g1, g2 = np.array([1.0]), np.array([-0.5])
    assert not is_affine(method, convention, state, g1, g2, Settings())


@given(gs=tables(), beta1=st.sampled_from([0.3, 0.5, 0.9, 0.99]), beta2=betas)
@few
def test_a_residual_against_m_t_is_beta1_times_one_against_the_mean_before(
    gs, beta1, beta2
):
    """g_t - m_t = β1·(g_t - m_{t-1}), so s(m_t) = β1²·s(m_{t-1}) at every step."""
    h = Settings(beta1, beta2, eps=0.0)
    after, _ = run(rule.ACPROP_PAPER, rule.AUTHORS, gs, h)
    before, _ = run(rule.ACPROP_PAPER, rule.OPTAX, gs, h)
    np.testing.assert_allclose(
        after.s, beta1**2 * before.s, rtol=1e-11, atol=ROUNDING**2
    )


def test_the_step_of_optax_is_beta1_times_that_of_the_authors_after_the_first():
    gs = np.random.default_rng(0).normal(size=(30, 4))
    h = Settings(0.7, 0.99, eps=0.0)
    _, authors = run(rule.ACPROP_PAPER, rule.AUTHORS, gs, h)
    _, theirs = run(rule.ACPROP_PAPER, rule.OPTAX, gs, h)
    np.testing.assert_array_equal(theirs[0], authors[0])
    np.testing.assert_allclose(theirs[1:], 0.7 * authors[1:], rtol=ROUNDING)


@given(
    gs=tables(n_steps=10),
    delay=st.integers(1, 6),
    beta1=betas,
    beta2=betas,
    center=st.sampled_from([None, "m"]),
)
@few
def test_a_delay_of_n_divides_the_newest_n_by_all_that_came_before(
    gs, delay, beta1, beta2, center
):
    """AdaShift's definition: n_t from g_{t-n+1} … g_t, s from g_{t-n} and older."""
    expected = []
    for t in range(1, len(gs) + 1):
        newest = [(beta1**i, gs[t - 1 - i]) for i in range(min(delay, t))]
        numerator = sum(w * g for w, g in newest) / sum(w for w, _ in newest)
        k, s = max(t - delay, 0), 0.0
        for i in range(k):
            m = (1 - beta1) * sum(beta1 ** (i - j) * gs[j] for j in range(i + 1))
            r = gs[i] - m if center else gs[i]
            s = s + (1 - beta2) * beta2 ** (k - 1 - i) * r**2
        expected.append(numerator / np.sqrt(s + 1e-3))
    h = Settings(beta1, beta2, eps=1e-3)
    _, ds = run(Rule(None, center, delay), rule.PAPER, gs, h)
    np.testing.assert_allclose(ds, expected, rtol=ROUNDING, atol=1e-14)


@pytest.mark.parametrize("convention", [rule.PAPER, rule.GUARDED], ids=lambda c: c.name)
@pytest.mark.parametrize("method", [rule.ACPROP_PAPER, rule.ADASHIFT], ids=str)
@few
@given(gs=tables(), beta1=betas, beta2=betas)
def test_with_a_corrected_amsgrad_no_step_size_ever_grows(
    method, convention, gs, beta1, beta2
):
    """Reddi et al. 2018, (2): α/√v̂ must not increase; d for g = 1 is that factor."""
    # Without a clip: it would hide the probe behind a bound that grows.
    h = Settings(beta1, beta2, eps=1e-3, amsgrad=True, clip=None)
    state, factors = State(), []
    for g in gs:
        state, _ = step(method, convention, state, g, h)
        factors.append(step(method, convention, state, np.ones(3), h)[1])
    assert np.all(np.diff(factors, axis=0) <= 0)
    assert np.all(factors[-1] > 0)


@pytest.mark.parametrize("convention", [rule.TORCH, rule.AUTHORS], ids=lambda c: c.name)
def test_with_a_raw_amsgrad_the_bias_correction_lets_step_sizes_grow(convention):
    """The largest s stays, what it is divided by grows: why ours is corrected."""
    gs = np.array([[1.0], [-1.0], [0.1], [0.1], [0.1], [0.1]])
    h = Settings(0.9, 0.9, amsgrad=True)
    _, ds = run(rule.ACPROP_PAPER, convention, gs, h)
    assert np.all(np.diff((ds / gs)[2:], axis=0) > 0)


# 4. The bound that grows

ZEROS_THEN_ONE = np.r_[np.zeros(1000), 1.0][:, None]
ELEMENTWISE = [r for r in RULES if r.reduction is None]


@pytest.mark.parametrize(
    ("method", "convention", "eps", "size"),
    [
        (rule.ACPROP_PAPER, rule.PAPER, 1e-16, 1e8),
        (rule.ACPROP_PAPER, rule.PAPER, 1e-8, 1e4),
        (rule.ACPROP_PAPER, rule.TORCH, 1e-16, 1e16),
        (rule.ACPROP_PAPER, rule.TORCH, 1e-8, 1e8),
        (rule.ACPROP_PAPER, rule.AUTHORS, 1e-16, 3.16e6),
        (rule.ACPROP_PAPER, rule.AUTHORS, 1e-8, 316),
        (rule.ACPROP_PAPER, rule.OPTAX, 1e-16, 3.16e6),
        (rule.ACPROP_PAPER, rule.OPTAX, 1e-8, 316),
        (rule.ACPROP_PAPER, rule.GUARDED, None, 1001**0.25),
        (rule.ACPROP, rule.GUARDED, None, (1 - 0.9**2) * 1001**0.25),
        (rule.ADAM, rule.TORCH, 1e-8, 2.5),
    ],
    ids=str,
)
def test_after_a_long_silence_only_the_bound_keeps_the_step_small(
    method, convention, eps, size
):
    """d for g = 1 after 1000 zeros: optax issue 1132, ACProp-Optimizer issue 2."""
    _, ds = run(method, convention, ZEROS_THEN_ONE, Settings(eps=eps))
    np.testing.assert_allclose(ds[-1], size, rtol=0.01)


@pytest.mark.parametrize("method", ASYNCHRONOUS, ids=str)
@few
@given(gs=tables(), eps=st.sampled_from([None, 0.0]), beta1=betas)
def test_the_first_guarded_step_is_the_sign_of_the_gradient(method, gs, eps, beta1):
    """Adam's first step, exactly: nothing is known, and the bound is 1.

    An average of normalised gradients starts at 0, and takes its share of it.
    """
    _, ds = run(method, rule.GUARDED, gs[:1], Settings(beta1, eps=eps))
    share = 1 - beta1 ** (2 if method.nesterov else 1) if method.keeps_average else 1
    expected = share * np.sign(gs[0])
    rounding = ROUNDING * (method.average is not None)
    np.testing.assert_allclose(ds[0], expected, rtol=rounding, atol=0)


@pytest.mark.parametrize("method", RULES, ids=str)
@few
@given(
    gs=tables(n_steps=20),
    powers=st.lists(st.integers(-40, 40), min_size=20, max_size=20),
    beta1=betas,
    beta2=betas,
)
def test_no_guarded_step_is_longer_than_the_fourth_root_of_its_number(
    method, gs, powers, beta1, beta2
):
    """Whatever comes, a mean of bounded directions included."""
    gs = gs * 2.0 ** np.array(powers[: len(gs)])[:, None]
    _, ds = run(method, rule.GUARDED, gs, Settings(beta1, beta2))
    bounds = np.arange(1, len(gs) + 1)[:, None] ** 0.25
    assert np.all(np.abs(ds) <= bounds * (1 + ROUNDING))


@pytest.mark.parametrize("method", RULES, ids=str)
@few
@given(
    gs=tables(),
    k=st.integers(-26, 26),
    amsgrad=st.booleans(),
    beta1=betas,
    eps=st.sampled_from([None, 0.0]),
)
def test_scaling_the_loss_changes_no_bit_of_a_guarded_step(
    method, gs, k, amsgrad, beta1, eps
):
    """For 1.5e-8 to 6.7e7; the default ε of 1e-30 is lost beside any gradient."""
    h = Settings(beta1, eps=eps, amsgrad=amsgrad)
    _, ds = run(method, rule.GUARDED, gs, h)
    _, scaled = run(method, rule.GUARDED, gs * 2.0**k, h)
    np.testing.assert_array_equal(scaled, ds)


@given(gs=tables(), k=st.sampled_from([-8, -4, 4, 8]))
@few
def test_other_scales_change_no_more_than_rounding_does(gs, k):
    """Where g - m is rounding, g over it is at the bound either way."""
    h = Settings(beta1=0.5)
    _, ds = run(rule.ADASHIFT, rule.GUARDED, gs, h)
    _, scaled = run(rule.ADASHIFT, rule.GUARDED, gs * 10.0**k, h)
    np.testing.assert_allclose(scaled, ds, rtol=1e-7)


@given(gs=tables(), method=st.sampled_from(RULES), eps=st.sampled_from([None, 0.0]))
@few
def test_an_element_without_a_gradient_does_not_move(gs, method, eps):
    """0/0 = 0, with ε = 0 too."""
    gs[:, 1] = 0
    _, ds = run(method, rule.GUARDED, gs, Settings(eps=eps))
    np.testing.assert_array_equal(ds[:, 1], 0)
    assert np.all(np.isfinite(ds))


def test_without_epsilon_and_bound_a_division_by_zero_is_infinite():
    """Who switches both off is told by the number, and 0/0 is 0 all the same."""
    h = Settings(eps=0.0, clip=None)
    _, ds = run(rule.ACPROP_PAPER, rule.GUARDED, np.array([[2.0, 0.0, -1.0]]), h)
    np.testing.assert_array_equal(ds, [[inf, 0.0, -inf]])


def test_an_adamw_users_epsilon_means_what_it_does_there():
    """Outside the root of the corrected s: it matters where √s is of its size."""
    gs = np.random.default_rng(0).normal(size=(30, 3)) * 1e-8
    h = Settings(eps=1e-8, clip=None)
    _, ours = run(rule.ADAM, rule.GUARDED, gs, h)
    _, theirs = run(rule.ADAM, rule.TORCH, gs, h)
    np.testing.assert_array_equal(ours, theirs)


def test_a_spike_moves_by_the_bound_and_no_further():
    """A factor of 1e4, once."""
    gs = np.random.default_rng(0).normal(size=(30, 4))
    gs[19] *= 1e4
    _, ds = run(rule.ACPROP_PAPER, rule.GUARDED, gs)
    np.testing.assert_array_equal(np.abs(ds[19]), 20**0.25)


@pytest.mark.parametrize("gs", [np.ones((0, 2)), np.ones((3, 2))], ids=["new", "old"])
def test_a_nan_is_seen_in_the_step_and_not_clipped_away(gs):
    before, _ = run(rule.ACPROP_PAPER, rule.GUARDED, gs)
    _, d = step(
        rule.ACPROP_PAPER, rule.GUARDED, before, np.array([np.nan, 1.0]), Settings()
    )
    assert np.isnan(d[0])
    assert np.isfinite(d[1])


UNAVERAGED = [r for r in RULES if r.average is None]


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize("nesterov", [False, True])
@given(method=st.sampled_from(UNAVERAGED), gs=tables(), beta1=betas)
@few
def test_averaging_after_is_a_running_mean_of_the_directions(
    convention, nesterov, method, gs, beta1
):
    """M = β1·M + (1 - β1)·u from M = 0, ahead once more; m and s do not know it."""
    h = Settings(beta1, eps=1e-3)
    state, us = run(method, convention, gs, h)
    averaging = replace(method, average="after", nesterov=nesterov)
    averaged, ds = run(averaging, convention, gs, h)
    mean, expected = 0.0, []
    for u in us:
        mean = beta1 * mean + (1 - beta1) * u
        expected.append(beta1 * mean + (1 - beta1) * u if nesterov else mean)
    np.testing.assert_allclose(ds, expected, rtol=ROUNDING, atol=1e-15)
    np.testing.assert_array_equal(averaged.m, state.m)
    np.testing.assert_array_equal(averaged.s, state.s)


@pytest.mark.parametrize("beta1", [0.5, 0.9, 0.99])
def test_a_look_ahead_before_dividing_is_the_step_after_the_next_gradient(beta1):
    """β1·m_t + (1 - β1)·g_t: what m_{t+1} would be if g_t came again."""
    gs = np.random.default_rng(0).normal(size=(20, 3))
    h = Settings(beta1, 0.9, eps=1e-3)
    state, _ = run(rule.ADAM, rule.PAPER, gs[:-1], h)
    now, _ = step(rule.ADAM, rule.PAPER, state, gs[-1], h)
    again, _ = step(rule.ADAM, rule.PAPER, now, gs[-1], h)
    ahead = replace(rule.ADAM, nesterov=True)
    _, d = step(ahead, rule.PAPER, state, gs[-1], h)
    np.testing.assert_allclose(d, again.m / np.sqrt(now.s + 1e-3), rtol=ROUNDING)


@pytest.mark.parametrize(("beta1", "variance"), [(0.9, 1.0), (0.5, 0.97), (0.0, 0.705)])
def test_in_pure_noise_s_estimates_the_variance(beta1, variance):
    """(1 + β1)/2 undoes the variance of the average; less where M often exceeds ±1."""
    gs = np.random.default_rng(0).normal(size=(6000, 200))
    state, seen = State(), []
    for t, g in enumerate(gs):
        state, _ = step(rule.ACPROP, rule.GUARDED, state, g, Settings(beta1, 0.99))
        seen.append(np.mean(state.s) if t > 1000 else np.nan)
    assert np.nanmean(seen) == pytest.approx(variance, rel=0.01)


def test_an_average_of_large_steps_does_not_make_s_feed_on_itself():
    """Without the limit of one on M, s overflows here: the claim has 45 such cells."""
    gs = np.resize([50.0] + [-1.0] * 49, (20_000, 1))
    state, _ = run(rule.ACPROP, rule.GUARDED, gs, Settings(0.9, 0.5, clip=None))
    assert np.all(state.s < 50**2)


# 5. What must not matter


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize("method", RULES, ids=str)
def test_a_gradient_that_is_always_zero_never_moves_anything(method, convention):
    _, ds = run(method, convention, np.zeros((20, 3)))
    np.testing.assert_array_equal(ds, 0)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("method", RULES, ids=str)
def test_an_array_of_hyper_parameters_is_as_many_runs(method, convention, amsgrad):
    """A whole (β1, β2) plane is one run."""
    gs = np.random.default_rng(0).normal(size=(20, 4))
    plane = [(0.9, 0.999, 1e-3), (0.5, 0.9, 1e-8), (0.0, 0.3, 1e-2)]
    beta1, beta2, eps = np.array(plane).T[:, :, None]
    h = Settings(beta1, beta2, eps, amsgrad, axis=-1)
    _, together = run(method, convention, gs, h)
    apart = [
        run(method, convention, gs, Settings(*point, amsgrad, axis=-1))[1]
        for point in plane
    ]
    together = np.stack(np.broadcast_arrays(*together))
    np.testing.assert_allclose(
        together.swapaxes(0, 1), apart, rtol=ROUNDING, atol=1e-15
    )


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@given(data=st.data(), method=st.sampled_from(RULES), gs=tables(n_elements=4))
@few
def test_the_order_of_the_elements_does_not_matter(convention, data, method, gs):
    order = data.draw(st.permutations(range(4)))
    h = Settings(eps=1e-3)
    _, ds = run(method, convention, gs, h)
    _, shuffled = run(method, convention, gs[:, order], h)
    np.testing.assert_allclose(shuffled, ds[:, order], rtol=ROUNDING)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@given(
    method=st.sampled_from(ELEMENTWISE),
    gs=tables(n_elements=4),
    at=st.integers(1, 3),
)
@few
def test_splitting_a_tensor_changes_no_bit(convention, method, gs, at):
    """Nor does merging, flattening or sharding: no element knows of another."""
    h = Settings()
    _, whole = run(method, convention, gs, h)
    parts = [run(method, convention, part, h)[1] for part in np.split(gs, [at], axis=1)]
    np.testing.assert_array_equal(np.hstack(parts), whole)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
@given(method=st.sampled_from(RULES), gs=tables(n_elements=3))
@few
def test_without_axes_every_element_is_a_tensor_of_its_own(convention, method, gs):
    h = Settings(eps=1e-3)
    _, together = run(method, convention, gs, h._replace(axis=()))
    apart = [run(method, convention, column[:, None], h)[1] for column in gs.T]
    np.testing.assert_allclose(together, np.hstack(apart), rtol=ROUNDING)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
def test_a_step_needs_no_shape_at_all(convention):
    gs = np.random.default_rng(0).normal(size=20)
    _, scalars = run(rule.ACPROP_PAPER, convention, gs)
    _, vectors = run(rule.ACPROP_PAPER, convention, gs[:, None])
    np.testing.assert_array_equal(scalars, vectors[:, 0])


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
def test_no_epsilon_means_that_of_the_convention(convention):
    gs = np.random.default_rng(0).normal(size=(5, 3)) * 1e-6
    _, silent = run(rule.ADAM, convention, gs)
    _, spoken = run(rule.ADAM, convention, gs, Settings(eps=convention.eps))
    np.testing.assert_array_equal(silent, spoken)


@pytest.mark.parametrize(
    ("clip", "bounds"), [(0.5, np.full(30, 0.5)), ("t**0.25", np.arange(1, 31) ** 0.25)]
)
def test_a_clip_bounds_the_direction_and_nothing_else(clip, bounds):
    """ADOPT's clip acts on d_t: it reads the numerator, and leaves m and s alone."""
    gs = np.random.default_rng(0).normal(size=(30, 4)) ** 3
    free_state, free = run(rule.ACPROP_PAPER, rule.AUTHORS, gs)
    state, ds = run(rule.ACPROP_PAPER, rule.AUTHORS, gs, Settings(clip=clip))
    bounds = bounds[:, None]
    assert np.any(np.abs(free) > bounds)
    np.testing.assert_array_equal(ds, np.clip(free, -bounds, bounds))
    np.testing.assert_array_equal(state.s, free_state.s)


def test_a_step_changes_nothing_it_was_given():
    g = np.array([1.0, -3.0])
    state, _ = run(rule.ACPROP, rule.GUARDED, np.array([[1.0, 0.5], [0.5, 1.0]]))
    kept = [np.copy(part) for part in (state.m, state.s, state.M)]
    step(rule.ACPROP, rule.GUARDED, state, g, Settings(amsgrad=True))
    np.testing.assert_array_equal(g, [1.0, -3.0])
    for part, copy in zip((state.m, state.s, state.M), kept, strict=True):
        np.testing.assert_array_equal(part, copy)
