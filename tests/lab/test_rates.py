"""A measured rate: the slope, its interval over seeds, and the records of it."""

import numpy as np
import pytest
from scipy import stats

from acprop.lab.descent import Walk, walk
from acprop.lab.methods import method
from acprop.lab.nonconvex import problem
from acprop.lab.rates import SETTINGS, local_slopes, records, student
from acprop.records import from_json, to_json


def test_a_local_slope_forgets_the_start():
    """z = t^-½ after a hundred steps of 1."""
    t = np.arange(1, 4001, dtype=float)
    z = np.where(t < 100, 1.0, t**-0.5)[:, None] * np.ones(3)
    run = Walk(z, 1.0, 1.0)
    np.testing.assert_allclose(local_slopes(run), -0.5, rtol=0, atol=2e-3)


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


def test_the_record_has_a_line_for_each_method_on_each_problem():
    names = ["acprop-paper", "adashift", "adam", "rmsprop", "adabelief", "sgd"]
    found = records()
    for curves in found:
        assert [line.label for line in curves.lines] == names
        assert from_json(to_json(curves)) == curves
    line = found[1].lines[0]
    run = walk(problem("ratio"), method("acprop-paper"), SETTINGS)
    np.testing.assert_allclose(line.y[-1], run.averages[-1].mean(), rtol=1e-12)
    assert (line.x[0], line.x[-1]) == (1, SETTINGS.steps)


def test_too_little_for_an_interval_is_refused():
    with pytest.raises(ValueError, match=r"^values must be 2 or more .* got 1$"):
        student([1.0])
