"""A measured rate: the slope, its interval over seeds, and the records of it."""

import math

import numpy as np
import pytest
from scipy import stats

from acprop.lab.descent import Walk, WalkSettings, walk
from acprop.lab.methods import method
from acprop.lab.nonconvex import problem
from acprop.lab.rates import (
    Slope,
    difference,
    fitted_horizons,
    local_slopes,
    rates,
    slopes,
    student,
)
from acprop.records import from_json, to_json

SMALL = WalkSettings(0.5, steps=100, eps=0.1, seeds=4)


@pytest.mark.parametrize("power", [-1.0, -0.5, 0.0])
def test_a_power_law_has_its_own_slope(power):
    """y(T) = T^p is the average of T·y(T) - (T-1)·y(T-1)."""
    T = np.arange(1, 2001, dtype=float)
    total = T ** (1 + power)
    squared = np.diff(total, prepend=0.0)[:, None] * np.array([1.0, 3.0])
    seen = slopes(Walk(squared, 1.0, 1.0))
    np.testing.assert_allclose(seen, [power, power], rtol=0, atol=1e-9)


def test_a_logarithm_shows_as_one_over_log_t():
    T = np.arange(2, 20_001, dtype=float)
    total = np.concatenate([[0.0], np.sqrt(T) * np.log(T)])
    (seen,) = slopes(Walk(np.diff(total, prepend=0.0)[:, None], 1.0, 1.0))
    assert 1 / math.log(20_000) < seen + 0.5 < 1 / math.log(2_000)


def test_a_local_slope_forgets_the_start_and_the_average_does_not():
    """z = t^-½ after a hundred steps of 1: y still carries 100/T."""
    t = np.arange(1, 4001, dtype=float)
    z = np.where(t < 100, 1.0, t**-0.5)[:, None] * np.ones(3)
    run = Walk(z, 1.0, 1.0)
    np.testing.assert_allclose(local_slopes(run), -0.5, rtol=0, atol=2e-3)
    assert max(slopes(run)) < -0.6


def test_a_local_slope_is_that_of_the_mean_over_seeds():
    """Noise in one seed's logarithm is a bias; pseudo-values average it out."""
    t, rng = np.arange(1, 4001, dtype=float), np.random.default_rng(2)
    run = Walk(t[:, None] ** -0.5 * rng.exponential(size=(4000, 40)), 1.0, 1.0)
    i = student(local_slopes(run))
    assert i.low < -0.5 < i.high
    assert i.high - i.low < 0.05


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(size=9)
    i = student(values.tolist())
    by_scipy = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose((i.low, i.high), tuple(by_scipy), rtol=1e-12)
    assert i.low < i.mean < i.high


def test_a_difference_is_taken_seed_by_seed():
    """Noise that both share must not widen the interval."""
    shared = np.random.default_rng(1).normal(size=8)
    a = Slope("p", "a", (), tuple(shared + 0.1))
    b = Slope("p", "b", (), tuple(shared))
    i = difference(a, b)
    np.testing.assert_allclose((i.low, i.mean, i.high), 0.1, rtol=0, atol=1e-12)


def test_rates_has_a_slope_and_a_line_for_each_method_and_problem():
    found = rates([problem("ratio"), problem("well")], ("acprop-paper", "sgd"), SMALL)
    pairs = [(s.problem, s.optimizer) for s in found.slopes]
    assert pairs == [(p, o) for p in ("ratio", "well") for o in ("acprop-paper", "sgd")]
    for curves in found.curves:
        assert [line.label for line in curves.lines] == ["acprop-paper", "sgd"]
        assert from_json(to_json(curves)) == curves
    line = found.curves[1].lines[0]
    run = walk(problem("well"), method("acprop-paper"), SMALL)
    np.testing.assert_allclose(line.y[-1], run.averages[-1].mean(), rtol=1e-12)
    assert (line.x[0], line.x[-1]) == (1, 100)
    assert found.slope("well", "acprop-paper").per_seed == slopes(run)
    assert found.slope("well", "acprop-paper").local == local_slopes(run)
    with pytest.raises(KeyError, match="adam on well"):
        found.slope("well", "adam")


def test_the_slope_is_read_over_the_last_decade():
    T = fitted_horizons(4000)
    assert (T[0], T[-1]) == (400, 4000)
    np.testing.assert_allclose(T[1:] / T[:-1], 10 ** (1 / 15), rtol=0.01)


def test_too_little_for_a_slope_or_an_interval_is_refused():
    with pytest.raises(ValueError, match=r"^steps must be 20 or more .* got 19$"):
        fitted_horizons(19)
    with pytest.raises(ValueError, match=r"^seeds must be 2 or more .* got 1$"):
        local_slopes(Walk(np.ones((50, 1)), 1.0, 1.0))
    with pytest.raises(ValueError, match=r"^values must be 2 or more .* got 1$"):
        student([1.0])
