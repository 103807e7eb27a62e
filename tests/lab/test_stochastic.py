"""The stochastic counterexample: its law, its engine, and what the projection does."""

from dataclasses import replace

import numpy as np
import pytest

from acprop.lab.methods import method
from acprop.lab.simulate import Sweep, distances
from acprop.lab.stochastic import (
    LO,
    OPTIMIZERS,
    X0,
    Stochastic,
    averaged_bound,
    drift,
    expected_move,
    records,
    states,
    trajectories,
)
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, PAPER

SMALL = Sweep(
    (method("acprop-paper"),), 0.9, (0.5, 0.99), (0.01, 1.0), steps=60, tail=20
)


@pytest.mark.parametrize(("P", "delta"), [(3, 0.5), (3, 2.9), (10, 1.0), (50, 0.1)])
def test_the_moments_are_those_of_the_two_outcomes(P, delta):
    """E g = P(1 + δ)/(P + 1) - (P - δ)/(P + 1) = δ, and E g² = P + δ(P - 1)."""
    problem = Stochastic(P, delta)
    assert sum(chance for _, chance in problem.outcomes) == pytest.approx(1)
    assert sum(chance * g for g, chance in problem.outcomes) == pytest.approx(delta)
    assert problem.second_moment == pytest.approx(P + delta * (P - 1))


def test_draws_follow_the_law():
    n = 200_000
    (run,) = Stochastic(10, 1.0, seeds=1).runs(n)
    g = run.cycle[1:]
    assert (len(g), set(np.unique(g))) == (n, {-1.0, 10.0})
    assert abs(g.mean() - 1.0) < 4 * g.std() / n**0.5


@pytest.mark.parametrize("delta", [0.0, -0.5, 3.0, 4.0, float("nan")])
def test_a_delta_that_leaves_one_outcome_or_another_optimum_is_refused(delta):
    message = rf"^delta must be above 0 and below period = 3, got {delta}$"
    with pytest.raises(ValueError, match=message):
        Stochastic(3, delta)


def test_a_period_below_3_is_refused():
    message = r"^period must be 3 or more on the stochastic problem, got 2$"
    with pytest.raises(ValueError, match=message):
        Stochastic(2, 1.0)


def test_a_lane_is_a_plain_loop_over_the_reference():
    problem = Stochastic(5, 1.0, seeds=3)
    x, state, path = X0, State(), []
    for t, g in enumerate(problem.runs(60)[2].cycle[1:], 1):
        h = Settings(beta1=0.9, beta2=0.99, axis=())
        state, d = step(ACPROP_PAPER, PAPER, state, g, h)
        x = min(max(x - 0.01 / t**0.5 * float(d), -1.0), 1.0)
        path.append(x)
    t, found = trajectories(problem, SMALL, every=5)
    np.testing.assert_array_equal(t, np.arange(5, 61, 5))
    np.testing.assert_allclose(found[:, 0, 2, 1], path[4::5], rtol=0, atol=1e-12)
    (far,) = distances(problem.runs(60), SMALL)
    assert far.shape == (2, 3, 2)
    assert far[0, 2, 1] == pytest.approx(np.mean(np.array(path[-20:]) + 1))


@pytest.mark.parametrize("beta1", [0.1, 0.5, 0.9])
def test_the_expected_move_is_exact_for_acprop_and_not_for_adabelief(beta1):
    """E[Δx | past] = -αδ/√(s_{t-1} + ε): the denominator does not know g_t."""
    problem, sweep = Stochastic(7, 0.5, seeds=3), replace(SMALL, beta1=beta1)
    *_, state = states(problem, sweep)
    den = np.sqrt(state.s + PAPER.eps)
    move = expected_move(problem, sweep, state, 0.1)
    np.testing.assert_allclose(move, -0.1 * 0.5 / den, rtol=1e-12)
    centered = replace(sweep, methods=(method("rmsprop-centered"),))
    sync = expected_move(problem, centered, state, 0.1)
    assert (np.abs(sync * den / (-0.1 * 0.5) - 1) > 0.01).all()


def test_at_the_optimum_the_projection_leaves_the_wrong_moves_only():
    problem = Stochastic(7, 0.5, seeds=3)
    *_, state = states(problem, SMALL)
    den = np.sqrt(state.s + PAPER.eps)
    move = expected_move(problem, SMALL, state, 1e-3, x=-1.0)
    np.testing.assert_allclose(move, (7 - 0.5) / 8 * 1e-3 / den, rtol=1e-9)


@pytest.mark.parametrize("x", [-1.0, 0.2, 1.0])
def test_a_saturated_step_lands_near_the_wrong_end_wherever_it_starts(x):
    """α ≥ 2·den: a -1 throws x to +1, a P to -1, and -1 is the likelier."""
    problem = Stochastic(7, 0.5, seeds=3)
    *_, state = states(problem, SMALL)
    alpha = 2 * float(np.sqrt(state.s + PAPER.eps).max())
    lands = x + expected_move(problem, SMALL, state, alpha, x=x)
    np.testing.assert_allclose(lands, -1 + 2 * 6.5 / 8, rtol=1e-12)


@pytest.mark.parametrize("beta1", [0.1, 0.9])
def test_s_stays_below_the_sharp_bound(beta1):
    """|g - m_t| = β1·|g - m_{t-1}| ≤ β1(P + 1)."""
    sweep = replace(SMALL, beta1=beta1, beta2=(0.01, 0.9), steps=300)
    top = max(s.s.max() for s in states(Stochastic(5, 1.0, seeds=50), sweep))
    assert 0.3 * beta1**2 * 36 < top <= beta1**2 * 36


def test_the_mean_distance_stays_below_its_bound_and_the_bound_vanishes():
    """Weights α_t on |x_{t-1} - x*|, ε = 1."""
    problem = Stochastic(5, 1.0, seeds=64)
    sweep = Sweep(SMALL.methods, 0.5, (0.5,), (0.3,), eps=1.0, steps=2000)
    t, x = trajectories(problem, sweep)
    before = np.concatenate([np.full((1, *x.shape[1:]), X0), x[:-1]])
    far = np.average(before.mean(axis=(1, 2, 3)) - LO, weights=t**-0.5)
    bound = averaged_bound(problem, 0.3, 2000, eps=1.0, beta1=0.5)
    assert 0.1 * bound < far < bound
    assert averaged_bound(problem, 0.3, 1e12, eps=1.0, beta1=0.5) < 1e-3


def test_adam_drifts_away_for_a_large_period_and_acprop_does_not():
    adam = Sweep((method("adam"),), 0.9, (0.9,), (1.0,), eps=1e-8, steps=1500)
    away = drift(Stochastic(50, 0.1, seeds=128), adam)
    assert away.mean[0] > 5 * away.error[0]
    near = drift(Stochastic(3, 1.0, seeds=128), adam)
    assert near.mean[0] < -5 * near.error[0]
    acprop = replace(adam, methods=SMALL.methods)
    right = drift(Stochastic(10, 1.0, seeds=128), acprop)
    assert right.mean[0] < -5 * right.error[0]


def test_the_records_show_who_goes_where():
    walks, by_beta2 = records()
    assert walks.name == by_beta2.name == "stochastic"
    assert tuple(line.label for line in walks.lines) == OPTIMIZERS
    ends = {line.label: np.mean(line.y[-50:]) for line in walks.lines}
    assert max(ends["acprop-paper"], ends["adashift"]) < -0.9
    assert min(ends["adam"], ends["rmsprop"], ends["adabelief"]) > 0.9
    assert len({line.label for line in by_beta2.lines}) == 4
