"""The harmonic sum against mpmath: ζ(η) - ζ(η, N + 1) to 50 digits."""

import mpmath
import numpy as np
import pytest

from acprop.lab.harmonic import (
    ETAS,
    SIZES,
    expression_error,
    naive_sums,
    records,
    sums,
)


def exact(eta: float, n: int) -> mpmath.mpf:
    """Σ_{k≤n} k^-η as a difference of two zeta functions."""
    return mpmath.zeta(mpmath.mpf(eta)) - mpmath.zeta(mpmath.mpf(eta), n + 1)


def printed(eta: float, n: int) -> mpmath.mpf:
    """The paper's expression."""
    s, n = mpmath.mpf(eta), mpmath.mpf(n)
    return mpmath.zeta(s) + n ** (1 - s) / (1 - s) + 1 / (2 * n**s)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def test_mpmath_adds_up_what_it_says():
    """The yardstick itself, term by term."""
    plain = mpmath.fsum(mpmath.mpf(k) ** mpmath.mpf(-0.7) for k in range(1, 301))
    assert abs(plain - exact(0.7, 300)) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("n", [10**3, 10**5, 10**7])
@pytest.mark.parametrize("eta", ETAS)
def test_the_error_of_the_expression_is_known_without_cancellation(eta, n):
    true = float(printed(eta, n) - exact(eta, n))
    assert expression_error(eta, n) == pytest.approx(true, rel=1e-13)


@pytest.mark.parametrize("eta", [0.5, 0.8, 0.999])
def test_careful_sums_are_right_to_the_last_place_or_two(eta):
    sizes = (1, 2, 1000, 4097, 10**6)
    found = sums(eta, sizes)
    for n, value in zip(sizes, found, strict=True):
        assert abs(mpmath.mpf(float(value)) - exact(eta, n)) <= 2 * np.spacing(value)


def test_the_order_of_the_sizes_does_not_matter():
    np.testing.assert_array_equal(sums(0.5, (7, 3, 7)), sums(0.5, (3, 7))[[1, 0, 1]])


def test_a_plain_loop_hides_the_error_of_the_expression():
    """The paper's figure, read as a float64 loop, would show rounding for large N."""
    n = 10**7
    rounding = abs(mpmath.mpf(float(naive_sums(0.5, (n,))[0])) - exact(0.5, n))
    assert rounding > 10 * expression_error(0.5, n)
    careful = abs(mpmath.mpf(float(sums(0.5, (n,))[0])) - exact(0.5, n))
    assert careful < expression_error(0.5, n)


@pytest.mark.parametrize("eta", [0.0, 1.0, -0.5, 1.5])
def test_an_eta_outside_the_open_unit_interval_is_refused(eta):
    message = rf"^eta must be between 0 and 1, got {eta}$"
    with pytest.raises(ValueError, match=message):
        sums(eta, (3,))


def test_the_records_cover_the_papers_grid():
    by_n, by_eta, relative, rounding = records()
    assert {r.name for r in (by_n, by_eta, relative, rounding)} == {"harmonic"}
    assert by_n.lines[0].x == SIZES
    assert (SIZES[0], SIZES[-1]) == (10**3, 10**7)
    assert [line.label for line in by_n.lines] == [f"η = {eta}" for eta in ETAS]
    assert (by_eta.lines[0].x[0], by_eta.lines[0].x[-1]) == (0.5, 0.999)
    for line in (*by_n.lines, *by_eta.lines, *relative.lines):
        assert min(line.y) > 0
    assert max(rounding.lines[0].y) > 1e-10
