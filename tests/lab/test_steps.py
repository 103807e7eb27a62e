"""The one loop: what a method is fed, and where x goes."""

import numpy as np
import pytest

from acprop.lab.methods import METHODS, method
from acprop.lab.steps import feed, final_state, iterate
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, PAPER

H = Settings(0.9, 0.99, axis=())
GRADIENTS = np.random.default_rng(0).normal(size=(20, 3))


def test_a_fed_method_takes_the_steps_of_the_reference():
    state = State()
    for t, fed in enumerate(feed(method("acprop-paper"), PAPER, H, GRADIENTS), 1):
        before = state
        state, d = step(ACPROP_PAPER, PAPER, state, GRADIENTS[t - 1], H)
        assert fed.t == t
        np.testing.assert_array_equal(fed.g, GRADIENTS[t - 1])
        np.testing.assert_array_equal(fed.d, d)
        np.testing.assert_array_equal(fed.before.s, before.s)
        np.testing.assert_array_equal(fed.after.s, state.s)
    assert state.t == len(GRADIENTS)


def test_the_final_state_is_that_of_the_last_step():
    *_, last = feed(method("adam"), PAPER, H, GRADIENTS)
    found = final_state(method("adam"), PAPER, H, iter(GRADIENTS))
    assert found.t == 20
    np.testing.assert_array_equal(found.m, last.after.m)


def test_without_gradients_nothing_has_been_seen():
    assert final_state(method("acprop-paper"), PAPER, H, []) == State()


@pytest.mark.parametrize("name", METHODS)
def test_a_gradient_is_seen_where_the_step_before_has_led(name):
    """g_t at x_{t-1}, then x_t = x_{t-1} - α0·t^-η·d_t, for every method."""
    seen = []

    def slope(t, x):
        seen.append((t, x))
        return 2 * x

    x = x0 = np.array([1.0, -3.0])
    for one, after in iterate(
        method(name), PAPER, H, slope, steps=9, x0=x0, alpha0=1e-9, eta=0.6
    ):
        assert seen[-1][0] == one.t == len(seen)
        np.testing.assert_array_equal(seen[-1][1], x)
        np.testing.assert_allclose(after, x - 1e-9 * one.t**-0.6 * one.d, rtol=1e-15)
        x = after
    assert len(seen) == 9


def test_x_stays_within_its_interval():
    """-5·g every step: the first end is reached at once, then the other."""
    run = iterate(
        method("sgd"),
        PAPER,
        H,
        lambda t, _: 1.0 if t < 3 else -1.0,
        steps=4,
        x0=0.5,
        alpha0=5.0,
        lo=-1.0,
        hi=2.0,
    )
    assert [float(x) for _, x in run] == [-1.0, -1.0, 2.0, 2.0]


def test_a_first_step_that_is_not_taken_stands_still():
    """Algorithm 2 divides by √ε while s has seen nothing."""
    for taken in (True, False):
        run = feed(method("acprop-paper"), PAPER, H, GRADIENTS, takes_first_step=taken)
        assert bool(np.any(next(run).d)) is taken
