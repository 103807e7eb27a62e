"""The constants of Section 4, measured, and once more by another way of counting."""

import math

import numpy as np
import pytest

from acprop.lab.gaussian import (
    RATIOS,
    NormalGradients,
    bound_constants,
    constant,
    drifting,
    measure,
    records,
    tuned_bound,
)
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, OPTAX, PAPER


def residual_variance(beta1: float, lag: int) -> float:
    """Var(g_t - m_{t-lag}), from m's weights on gradients of variance 1."""
    weights = np.zeros(2000 + lag)
    weights[lag:] = -(1 - beta1) * beta1 ** np.arange(2000.0)
    weights[0] += 1
    return float(np.sum(weights**2))


@pytest.mark.parametrize("beta1", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_the_centered_moment_is_the_variance_of_the_residual(beta1):
    gradients = NormalGradients(3.0, 2.0)
    here = 4 * residual_variance(beta1, lag=0)
    before = 4 * residual_variance(beta1, lag=1)
    assert gradients.centered(beta1) == pytest.approx(here, abs=1e-12)
    assert gradients.centered(beta1, OPTAX) == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("convention", [PAPER, OPTAX], ids=lambda c: c.name)
@pytest.mark.parametrize("mu", [0.0, 10.0])
@pytest.mark.parametrize("beta1", [0.5, 0.9])
def test_the_measured_means_are_the_predicted_ones(beta1, mu, convention):
    gradients = NormalGradients(mu, 1.0)
    found = measure(gradients, beta1, convention=convention, lanes=8192, seed=3)
    assert abs(found.v - gradients.uncentered()) < 1.3 * found.v_half
    assert abs(found.s - gradients.centered(beta1, convention)) < 1.3 * found.s_half
    assert found.s_half < 0.02


@pytest.mark.parametrize("beta1", [0.1, 0.5, 0.9, 0.99])
def test_centering_against_m_t_never_raises_the_mean_and_against_m_before_it_can(beta1):
    gradients = NormalGradients(0.0, 1.0)
    assert gradients.centered(beta1) < gradients.uncentered()
    assert gradients.centered(beta1, OPTAX) > gradients.uncentered()


def test_the_factor_is_larger_than_printed_by_the_missing_constant():
    gradients = NormalGradients(10.0, 1.0)
    for beta1 in (0.5, 0.9):
        missing = math.sqrt((1 + beta1) / 2) / beta1
        ratio = gradients.factor(beta1) / gradients.printed_factor()
        assert ratio == pytest.approx(missing, rel=1e-12)


@pytest.mark.parametrize("den", [0.1, 3.0])
def test_the_best_learning_rate_makes_the_denominator_irrelevant(den):
    """Minimise the bound's two terms over a fine grid of α0 instead."""
    first, second = bound_constants(den)
    assert (first, second) == pytest.approx((2 * den, 1 / den))
    alpha0 = np.geomspace(1e-3, 1e3, 200_001)
    best = np.min(first * 5 / alpha0 + second * 7 * alpha0)
    assert tuned_bound(den, 5, 7) == pytest.approx(best, rel=1e-8)
    assert tuned_bound(den, 5, 7) == pytest.approx(tuned_bound(1.0, 5, 7))


@pytest.mark.parametrize("beta1", [0.2, 0.5, 0.9])
def test_a_steady_change_of_the_gradient_adds_up_in_the_lag(beta1):
    state, h = State(), Settings(beta1=beta1, beta2=0.8, eps=0.0, axis=())
    for t in range(1, 600):
        state, _ = step(ACPROP_PAPER, PAPER, state, 5.0 - 0.3 * t, h)
    assert float(state.s) == pytest.approx(drifting(beta1, -0.3), rel=1e-10)


@pytest.mark.parametrize(("beta1", "beta2"), [(0.9, 0.999), (0.9, 0.5), (0.3, 0.09)])
def test_equal_gradients_leave_a_second_moment_that_dies_out(beta1, beta2):
    state, h = State(), Settings(beta1=beta1, beta2=beta2, axis=())
    for t in range(1, 15):
        state, _ = step(ACPROP_PAPER, PAPER, state, -2.0, h)
        assert float(state.s) / 4 == pytest.approx(constant(beta1, beta2, t), rel=1e-6)
    rate = constant(beta1, beta2, 301) / constant(beta1, beta2, 300)
    assert rate == pytest.approx(max(beta2, beta1**2), rel=0.01)


def test_without_momentum_the_second_moment_is_zero_under_any_noise():
    """β1 = 0: m_t = g_t, so the residual of Algorithm 2 is nothing."""
    assert measure(NormalGradients(1.0, 1.0), 0.0, lanes=16, steps=50).s == 0
    assert (
        measure(NormalGradients(1.0, 1.0), 0.0, lanes=16, steps=50, convention=OPTAX).s
        > 0
    )


def test_a_negative_sigma_is_refused():
    with pytest.raises(ValueError, match=r"^sigma must be 0 or more, got -1\.0$"):
        NormalGradients(0.0, -1.0)


def test_the_records_hold_measurement_and_prediction_side_by_side():
    panels = records()
    assert {p.name for p in panels} == {"constants"}
    assert len({p.title for p in panels}) == 3
    for panel in panels[:2]:
        v, v_predicted, s, s_predicted = (np.array(line.y) for line in panel.lines[:4])
        assert panel.lines[0].x == RATIOS
        np.testing.assert_allclose(v, v_predicted, rtol=0.03)
        np.testing.assert_allclose(s, s_predicted, rtol=0.03)
