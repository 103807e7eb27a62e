"""The exact drift against long runs of every method and convention."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

from acprop.lab.drift import drift
from acprop.lab.methods import METHODS, advance
from acprop.lab.problems import dense, sparse
from acprop.reference import Settings, State
from acprop.rule import ACPROP_PAPER, ADASHIFT, CONVENTIONS, GUARDED, PAPER

BETA1 = np.array([0.3, 0.9])[:, None]
BETA2 = np.array([0.6, 0.8, 0.95])  # ADOPT's clip binds for longer below
DELAYED = {
    "adashift n=3": replace(METHODS["adashift"], rule=replace(ADASHIFT, delay=3)),
    "acprop n=3": replace(METHODS["acprop-paper"], rule=replace(ACPROP_PAPER, delay=3)),
}
AHEAD = {
    f"{name} ahead": replace(
        METHODS[name], rule=replace(METHODS[name].rule, nesterov=True)
    )
    for name in ("adam", "acprop-before", "acprop-after")
}
ALL = METHODS | DELAYED | AHEAD


def simulated(problem, method, convention, beta1, start=10**12):
    """Σd / Σ|d| over the last of many periods."""
    P = problem.period
    # Late enough that no clip that grows binds any more, and that it hardly grows.
    state, kept = State(t=start), []
    h = Settings(beta1=beta1, beta2=BETA2, eps=1e-3, axis=())
    n = 1200 // P * P
    for t in range(1, n + 1):
        g = np.array([problem.cycle[t % P]])
        state, d = advance(method, convention, state, g, h)
        kept.append(d + 0 * BETA2)
    last = np.array(kept[-P:])
    return last.sum(0) / np.abs(last).sum(0)


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=lambda c: c.name)
@pytest.mark.parametrize("name", ALL)
def test_the_exact_drift_is_where_a_long_run_ends(name, convention):
    for problem in (dense(4), sparse(7)):
        exact = drift(problem, ALL[name], convention, beta1=0.7, beta2=BETA2, eps=1e-3)
        run = simulated(problem, ALL[name], convention, 0.7)
        np.testing.assert_allclose(exact, run, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["acprop", "acprop-paper", "adashift", "acprop-after", "adopt"]
)
def test_the_drift_at_a_step_is_that_of_a_run_there(name):
    """c_t = t^¼ changes by 5e-6 of itself within the 1200 steps before 5·10⁷."""
    method, t = METHODS[name], 5 * 10**7
    found = []
    for problem in (dense(300), sparse(300)):
        exact, limit = (
            drift(problem, method, GUARDED, beta1=0.7, beta2=BETA2, eps=1e-3, t=at)
            for at in (t, np.inf)
        )
        run = simulated(problem, method, GUARDED, 0.7, start=t - 1200)
        np.testing.assert_allclose(exact, run, rtol=0, atol=1e-4)
        found.append(np.max(np.abs(exact - limit)))
    assert max(found) > 0.01


@pytest.mark.parametrize("name", ["acprop", "acprop-paper", "acprop-after"])
def test_a_fixed_clip_stays_in_the_limit(name):
    method = METHODS[name]
    convention = replace(GUARDED, clip=1.5)
    for problem in (dense(9), sparse(9)):
        exact = drift(problem, method, convention, beta1=0.7, beta2=BETA2, eps=1e-3)
        run = simulated(problem, method, convention, 0.7)
        np.testing.assert_allclose(exact, run, rtol=0, atol=1e-9)
        free = drift(problem, method, GUARDED, beta1=0.7, beta2=BETA2, eps=1e-3)
        assert np.any(exact < free - 0.01)


def test_a_mean_of_directions_has_their_drift_but_for_its_size():
    """A linear filter keeps the sum over a period."""
    for problem in (dense(9), sparse(9), sparse(40)):
        plain, heavy = (
            drift(problem, METHODS[n], PAPER, beta1=0.7, beta2=BETA2)
            for n in ("acprop-paper", "acprop-after")
        )
        assert np.all(np.sign(plain) == np.sign(heavy))
        assert np.all(np.abs(heavy) >= np.abs(plain) - 1e-12)


def adam_in_many_digits(P, beta1, beta2):
    """Σ m_t/√v_t over a period of the sparse problem, nothing cancelled away."""
    with mpmath.workdps(400):
        b1, b2 = mpmath.mpf(beta1), mpmath.mpf(beta2)
        g = [mpmath.mpf(float(c)) for c in sparse(P).cycle]
        order = [t % P for t in range(1, P + 1)]
        m = v = mpmath.mpf(0)
        for t in order:
            m, v = b1 * m + (1 - b1) * g[t], b2 * v + (1 - b2) * g[t] ** 2
        m, v, total = m / (1 - b1**P), v / (1 - b2**P), mpmath.mpf(0)
        for t in order:
            m, v = b1 * m + (1 - b1) * g[t], b2 * v + (1 - b2) * g[t] ** 2
            total += m / mpmath.sqrt(v)
        return total


@pytest.mark.parametrize(
    ("P", "beta1", "beta2"),
    [(50, 0.1, 0.3), (50, 0.001, 0.5), (200, 0.3, 0.5), (100, 0.5, 0.9)],
)
def test_adam_can_fail_on_the_sparse_problem_too(P, beta1, beta2):
    """Where β1 is small Adam is RMSProp; the sign is that of many digits."""
    exact = drift(sparse(P), METHODS["adam"], PAPER, beta1=beta1, beta2=beta2, eps=0.0)
    assert np.sign(float(exact)) == np.sign(float(adam_in_many_digits(P, beta1, beta2)))


def test_a_clip_that_grows_no_longer_binds_in_the_limit():
    """ADOPT drifts as AdaShift does: their denominators are the same v_{t-1}."""
    for P in (5, 40):
        for beta2 in (0.1, 0.5, 0.99):
            pair = [
                drift(dense(P), METHODS[n], PAPER, beta1=0.9, beta2=beta2, eps=0.0)
                for n in ("adopt", "adashift")
            ]
            assert np.sign(pair[0]) == np.sign(pair[1]) == 1
