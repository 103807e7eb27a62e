"""Where a rule that is centered on its average goes: against long runs of it."""

import numpy as np
import pytest

from acprop.lab.methods import METHODS, advance
from acprop.lab.period_map import Numbers, flat_start, tangents
from acprop.lab.problems import dense, sparse
from acprop.lab.settled import settle
from acprop.reference import Settings, State
from acprop.rule import PAPER

BETA1 = np.array([0.1, 0.5, 0.9])[:, None]
BETA2 = np.array([0.3, 0.7, 0.9, 0.99])


def last_period(problem, *, periods=1, steps=6000):
    """Directions of the last periods of a run without a bound."""
    P, state, kept = problem.period, State(t=1, s=1.0), []
    h = Settings(BETA1, BETA2, 0.0, axis=())
    for t in range(1, steps // P * P + 1):
        g = np.full((3, 4), problem.cycle[t % P])
        state, d = advance(METHODS["acprop"], PAPER, state, g, h)
        kept.append(d)
    return np.array(kept[-P * periods :])


def settled(problem, **given):
    options = {"beta1": BETA1, "beta2": BETA2, "eps": 0.0, "nesterov": True}
    return settle(problem, PAPER, **options | given)


@pytest.mark.parametrize("problem", [dense(3), dense(40), sparse(10), sparse(60)])
def test_what_has_settled_is_where_a_long_run_ends(problem):
    found, last = settled(problem), last_period(problem)
    run = last.sum(0) / np.abs(last).sum(0)
    assert np.sum(found.is_settled) >= 6
    np.testing.assert_allclose(
        found.drift[found.is_settled], run[found.is_settled], atol=1e-9
    )


def test_what_does_not_settle_is_told_as_a_mean():
    """P = 9, β1 = 0.9, β2 = 0.3: the state does not repeat with the period."""
    problem = sparse(9)
    found = settled(problem)
    assert not found.is_settled[2, 0]
    last = last_period(problem, periods=2)
    assert np.max(np.abs(last[:9, 2, 0] - last[9:, 2, 0])) > 0.1
    many = last_period(problem, periods=300)
    run = many.sum(0) / np.abs(many).sum(0)
    np.testing.assert_allclose(found.drift[2, 0], run[2, 0], atol=0.05)


def test_the_largest_step_of_a_period_is_found():
    """Without look-ahead and with β1 → 0 the direction is u itself."""
    problem, h = dense(20), Settings(1e-12, 0.9, 0.0, axis=())
    found = settle(problem, PAPER, beta1=1e-12, beta2=0.9, eps=0.0, nesterov=False)
    state, kept = State(t=1, s=1.0), []
    for t in range(1, 2001):
        g = np.array([problem.cycle[t % 20]])
        state, d = advance(METHODS["acprop"], PAPER, state, g, h)
        kept.append(np.max(np.abs(d)))
    np.testing.assert_allclose(np.exp(found.log_largest), max(kept[-20:]), rtol=1e-9)


@pytest.mark.parametrize("log_bound", [np.inf, np.log(1.5)])
def test_the_derivatives_are_those_of_the_map(log_bound):
    problem = sparse(7)
    h = Numbers(
        np.array([0.3, 0.9]),
        np.array([0.5, 0.8]),
        np.log(1e-3),
        "outside",
        log_bound,
        True,
    )
    at = flat_start(problem, h) + np.array([[0.1, -0.2], [0.3, 1.4]])
    _, jacobian = tangents(problem, h, at)
    for k in range(2):
        shift = np.zeros((2, 1))
        shift[k] = 1e-6
        up, down = (tangents(problem, h, at + sign * shift)[0] for sign in (1, -1))
        np.testing.assert_allclose(jacobian[:, k], (up - down) / 2e-6, atol=1e-6)


def test_a_slow_second_moment_is_settled_at_once():
    """1 - β2 = 1e-4 and P = 4 need 10⁵ steps; Newton's method needs few periods."""
    found = settle(dense(4), PAPER, beta1=0.9, beta2=1 - 1e-4, eps=0.0, nesterov=True)
    assert found.is_settled
    near = settle(dense(4), PAPER, beta1=0.9, beta2=1 - 1e-6, eps=0.0, nesterov=True)
    assert abs(found.drift - near.drift) < 1e-3
