"""A walk is a plain loop over the methods, with the indices of the appendix."""

from dataclasses import replace

import numpy as np
import pytest

from acprop.lab.descent import SECTION_4, WalkSettings, preconditioner, walk
from acprop.lab.methods import advance, method
from acprop.lab.nonconvex import PROBLEMS, problem
from acprop.reference import Settings, State

FAMILY = ("acprop-paper", "adashift", "adam", "rmsprop", "adabelief", "acprop-before")


def test_acprop_without_noise_is_a_scalar_loop_written_by_hand():
    """x_{t+1} = x_t - α0·t^-η·g_t/(√s_{t-1} + ε), and ‖∇f(x_1)‖² is the first row."""
    h = WalkSettings(0.3, 0.6, steps=50, eps=0.2, beta1=0.8, beta2=0.9, seeds=2)
    x, m, s, rows, denominators = np.pi / 2, 0.0, 0.0, [], []
    for t in range(1, 51):
        g = np.sin(x)
        rows.append(g**2)
        denominators.append(np.sqrt(s) + 0.2)
        x -= 0.3 * t**-0.6 * g / denominators[-1]
        m = 0.8 * m + 0.2 * g
        s = 0.9 * s + 0.1 * (g - m) ** 2
    run = walk(problem("cosine"), method("acprop-paper"), h)
    np.testing.assert_allclose(run.squared, np.array([rows, rows]).T, rtol=1e-12)
    np.testing.assert_allclose(run.A_max, 1 / min(denominators), rtol=1e-12)
    np.testing.assert_allclose(run.A_min, 1 / max(denominators), rtol=1e-12)
    assert run.A_max == 1 / 0.2
    np.testing.assert_allclose(run.averages[9], np.mean(rows[:10]), rtol=1e-12)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("name", FAMILY)
def test_the_direction_is_the_preconditioner_times_the_numerator(name, amsgrad):
    """d_t = A_t·n_t with n_t = g_t or m_t, for every member, also with the maximum."""
    h = Settings(beta1=0.8, beta2=0.7, eps=0.3, amsgrad=amsgrad, axis=())
    rng, state, m = np.random.default_rng(0), State(), np.zeros(3)
    for g in rng.normal(size=(30, 3)):
        new, d = advance(method(name), SECTION_4, state, g, h)
        m = 0.8 * m + 0.2 * g
        numerator = m if method(name).rule.average == "before" else g
        A = preconditioner(method(name), state, new, h)
        np.testing.assert_allclose(d, A * numerator, rtol=1e-12)
        state = new


@pytest.mark.parametrize("name", ["acprop-before", "adam"])
def test_with_the_maximum_no_preconditioner_ever_grows(name):
    """A_{t+1} ≤ A_t element-wise, the momentum theorem's hypothesis."""
    h = Settings(beta1=0.8, beta2=0.7, eps=0.3, amsgrad=True, axis=())
    rng, state, before = np.random.default_rng(1), State(), np.full(3, np.inf)
    for g in rng.normal(size=(50, 3)):
        new, _ = advance(method(name), SECTION_4, state, g, h)
        A = preconditioner(method(name), state, new, h)
        assert np.all(before >= A)
        state, before = new, A


def test_two_methods_meet_the_same_noise():
    """Where ε drowns s, ACProp is SGD with α0/ε: the same x, so the same noise."""
    h = WalkSettings(0.3, steps=60, seeds=4)
    sgd = walk(problem("ratio"), method("sgd"), h)
    drowned = replace(h, eps=1e12, alpha0=0.3 * 1e12)
    np.testing.assert_allclose(
        walk(problem("ratio"), method("acprop-paper"), drowned).squared,
        sgd.squared,
        rtol=1e-9,
    )
    assert np.ptp(sgd.squared[-1]) > 0
    assert (sgd.A_min, sgd.A_max) == (1, 1)


@pytest.mark.parametrize("p", PROBLEMS.values(), ids=lambda p: p.name)
def test_another_seed_is_another_walk_only_where_there_is_noise(p):
    a = walk(p, method("acprop-paper"), WalkSettings(0.1, steps=20, seeds=3, seed=0))
    b = walk(p, method("acprop-paper"), WalkSettings(0.1, steps=20, seeds=3, seed=1))
    assert np.array_equal(a.squared, b.squared) == (p.noise.kind == "none")


def test_a_method_without_a_preconditioner_is_refused():
    message = r"^optimizer must be sgd or of the family .* got adopt$"
    with pytest.raises(ValueError, match=message):
        walk(problem("cosine"), method("adopt"), WalkSettings(0.1, steps=2))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alpha0": 0.0}, ValueError, r"^alpha0 must be finite and above 0, got 0.0$"),
        ({"eps": -1.0}, ValueError, r"^eps must be finite and above 0, got -1.0$"),
        ({"beta1": 1.0}, ValueError, r"^beta1 must be in \[0, 1\), got 1.0$"),
        ({"beta2": -0.1}, ValueError, r"^beta2 must be in \[0, 1\), got -0.1$"),
        ({"steps": 0}, ValueError, r"^steps must be 1 or more, got 0$"),
        ({"seeds": 0}, ValueError, r"^seeds must be 1 or more, got 0$"),
        ({"steps": 1.5}, TypeError, r"^steps must be a whole number, got 1.5$"),
        ({"eta": 1.5}, ValueError, r"^eta must be in \[0, 1\], got 1.5$"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        WalkSettings(**{"alpha0": 0.1, **changes})
