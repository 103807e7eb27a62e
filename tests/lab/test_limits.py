"""The closed forms against the recursion, in as many digits as it takes."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acprop.lab.claims.forms import recursion, worst_error
from acprop.lab.limits import (
    limits,
    log_centered,
    log_uncentered,
    mean,
)
from acprop.lab.problems import dense, periodic, sparse

BETA = st.floats(1e-3, 1 - 1e-6)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["dense", "sparse"]), P=st.integers(4, 60), a=BETA, b=BETA)
def test_m_v_and_s_are_those_of_the_recursion_at_every_phase(name, P, a, b):
    """Relative 1e-12, for any β1, β2 and P."""
    assert worst_error(periodic(name, P), a, b) < 1e-12


@pytest.mark.parametrize("name", ["dense", "sparse"])
@pytest.mark.parametrize("beta1", [0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-12, 1e-8, -1e-4])
def test_nothing_happens_where_beta1_squared_is_beta2(name, beta1, off):
    assert worst_error(periodic(name, 9), beta1, beta1**2 * (1 + off)) < 1e-12


def test_the_yardstick_itself_is_a_plain_loop():
    """200 periods from zero, in 60 digits, end where one period over 1 - β^P says."""
    problem, b1, b2 = sparse(6), mpmath.mpf(0.5), mpmath.mpf(0.75)
    with mpmath.workdps(60):
        m = v = s = mpmath.mpf(0)
        for t in range(1, 1201):
            g = mpmath.mpf(float(problem.cycle[t % 6]))
            m = b1 * m + (1 - b1) * g
            v = b2 * v + (1 - b2) * g**2
            s = b2 * s + (1 - b2) * (g - m) ** 2
        truth = recursion(problem, 0.5, 0.75)
        for letter, value in (("m", m), ("v", v), ("s", s)):
            assert abs(truth[letter][0] / value - 1) < 1e-25


def test_a_simulated_s_is_wrong_where_the_closed_form_is_not():
    """The trap: near the end of a long period g - m is less than a rounding of m."""
    P, beta1, beta2 = 150, 0.5, 0.01
    m = s = 0.0
    for t in range(1, 20 * P + 1):
        g = float(dense(P).cycle[t % P])
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * (g - m) ** 2
    truth = float(mpmath.log(recursion(dense(P), beta1, beta2)["s"][0]))
    assert abs(np.log(s) - truth) > 10
    assert abs(log_centered(dense(P), beta1, beta2)[0] - truth) < 1e-12 * abs(truth)


def test_a_plane_is_computed_at_once():
    beta1, beta2 = np.array([[0.5], [0.9]]), np.array([0.3, 0.6, 0.99])
    plane = limits(dense(7), beta1, beta2)
    assert plane.m.shape == plane.log_s.shape == plane.log_v.shape == (7, 2, 3)
    cell = limits(dense(7), 0.9, 0.6)
    for letter in ("m", "v", "s"):
        whole, one = getattr(plane, letter), getattr(cell, letter)
        np.testing.assert_allclose(whole[:, 1, 1], one, rtol=1e-14)


def test_a_period_of_thousands_does_not_underflow():
    log_s = log_centered(dense(3000), 0.1, 0.1)
    assert np.all(np.isfinite(log_s))
    assert log_s[0] < -6000


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.1, np.nan])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("beta1", lambda b: mean(dense(3), b)),
        ("beta2", lambda b: log_uncentered(dense(3), b)),
        ("beta1", lambda b: log_centered(dense(3), b, 0.5)),
        ("beta2", lambda b: log_centered(dense(3), 0.5, b)),
    ],
)
def test_a_beta_outside_the_open_interval_is_refused(name, call, beta):
    with pytest.raises(ValueError, match=f"^{name} must be between 0 and 1, got"):
        call(beta)
