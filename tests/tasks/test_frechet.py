"""The Fréchet distance against its closed forms, also without full rank."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from acprop.tasks.frechet import FeatureGaussian, distance, fit

SEEDS = st.integers(0, 10_000)
TOLERANCE = 1e-10  # of float64, relative to traces of about ten


def drawn(seed, n, d, shift=0.0):
    draw = torch.Generator().manual_seed(seed)
    rows = torch.randn(n, d, generator=draw, dtype=torch.float64)
    mixing = torch.randn(d, d, generator=draw, dtype=torch.float64) / d**0.5
    return rows @ mixing + shift


def diagonal(mean, std):
    mean, std = (torch.tensor(x, dtype=torch.float64) for x in (mean, std))
    return FeatureGaussian(mean, torch.diag(std))


def printed(one, other):
    """The formula as it is printed, with SciPy's root of a matrix."""
    c1, c2 = ((g.root.T @ g.root).numpy() for g in (one, other))
    cross = np.trace(sqrtm(c1 @ c2).real)
    shift = (one.mean - other.mean).square().sum().item()
    return shift + np.trace(c1) + np.trace(c2) - 2 * cross


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 40), st.integers(1, 12))
def test_a_gaussian_is_at_no_distance_from_itself(seed, n, d):
    one = fit(drawn(seed, n, d))
    assert distance(one, one) == pytest.approx(0, abs=TOLERANCE * 100)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 40), st.floats(-5, 5))
def test_a_shift_alone_is_the_square_of_its_length(seed, n, shift):
    rows = drawn(seed, n, 6)
    found = distance(fit(rows), fit(rows + shift))
    assert found == pytest.approx(6 * shift**2, abs=1e-8)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(*[st.floats(0, 3)] * 4), min_size=1, max_size=8))
def test_independent_features_add_up(table):
    """Diagonal covariances: Σ (μ1 - μ2)² + (σ1 - σ2)², also where σ is 0."""
    m1, m2, s1, s2 = zip(*table, strict=True)
    found = distance(diagonal(m1, s1), diagonal(m2, s2))
    expected = sum((a - b) ** 2 + (c - d) ** 2 for a, b, c, d in table)
    assert found == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_with_full_rank_it_is_the_printed_formula(seed):
    one, other = fit(drawn(seed, 50, 5)), fit(drawn(seed + 1, 30, 5, shift=0.5))
    assert distance(one, other) == pytest.approx(printed(one, other), rel=1e-6)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(2, 20), st.integers(2, 20))
def test_it_is_symmetric_also_without_full_rank(seed, n, m):
    one, other = fit(drawn(seed, n, 12)), fit(drawn(seed + 1, m, 12))
    assert distance(one, other) == pytest.approx(distance(other, one), rel=1e-9)


def test_two_lines_at_a_right_angle_share_nothing():
    """Rank one each: the cross term is 0, the distance both variances."""
    along = torch.tensor([[-1.0, 0, 0], [1, 0, 0]])
    across = torch.tensor([[0, -2.0, 0], [0, 2, 0]])
    assert distance(fit(along), fit(across)) == pytest.approx(2 + 8, abs=TOLERANCE)


def test_features_that_are_always_zero_change_nothing():
    one, other = drawn(0, 9, 4), drawn(1, 11, 4)
    empty = [torch.cat([x, torch.zeros(len(x), 30)], 1) for x in (one, other)]
    plain = distance(fit(one), fit(other))
    assert distance(*map(fit, empty)) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("n", [5, 40], ids=["fewer rows than features", "more"])
def test_the_root_is_one_of_the_covariance(n):
    rows = drawn(2, n, 7)
    made = fit(rows)
    assert made.root.shape[0] == min(n, 7)
    expected = torch.from_numpy(np.cov(rows.numpy().T))
    torch.testing.assert_close(made.root.T @ made.root, expected)
    torch.testing.assert_close(made.mean, rows.mean(0))


def test_float32_features_are_computed_in_float64():
    """A mean of a million must not hide a spread of one."""
    rows = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    far = (1e6 + 8 * rows).float()
    near = far.double() - 1e6
    assert distance(fit(far), fit(near + 1e6)) == pytest.approx(0, abs=1e-6)


def test_a_number_that_is_not_finite_gives_nan():
    rows = drawn(0, 9, 4)
    broken = rows.clone()
    broken[3, 2] = math.inf
    assert math.isnan(distance(fit(rows), fit(broken)))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match=r"^the number of rows must be 2 or more"):
        fit(torch.zeros(1, 3))
