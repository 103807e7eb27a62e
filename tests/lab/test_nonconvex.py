"""The non-convex problems have the constants they say they have."""

import math

import numpy as np
import pytest

from acprop.lab.nonconvex import PROBLEMS, Noise, problem

EVERY = pytest.mark.parametrize("p", PROBLEMS.values(), ids=lambda p: p.name)
N = 20_000


def points(p, scale=3.0, seed=0):
    return np.random.default_rng(seed).normal(scale=scale, size=(N, p.dimension))


def norm(rows):
    return np.sqrt(np.sum(rows**2, axis=-1))


@EVERY
def test_the_gradient_is_the_derivative_of_f(p):
    x, h = points(p)[:200], 1e-6
    for i, e in enumerate(h * np.eye(p.dimension)):
        slope = (p.f(x + e) - p.f(x - e)) / (2 * h)
        np.testing.assert_allclose(p.gradient(x)[:, i], slope, rtol=0, atol=1e-8)


@EVERY
def test_f_lies_between_f_star_and_its_ceiling_and_comes_close_to_both(p):
    wide = np.concatenate([points(p), points(p, 30.0), np.zeros((1, p.dimension))])
    values = p.f(np.concatenate([wide, np.full((1, p.dimension), math.pi)]))
    assert values.min() >= p.f_star
    assert values.max() <= p.M_f + 1e-12
    np.testing.assert_allclose(values.min(), p.f_star, rtol=0, atol=1e-12)
    assert values.max() > 0.99 * p.M_f


@EVERY
def test_the_gradient_is_lipschitz_with_l_and_l_is_not_idle(p):
    """Eq. 3 for pairs near and far; at the origin more than half of L is used."""
    x, rng = points(p), np.random.default_rng(1)
    for scale in (1e-4, 0.1, 3.0):
        y = x + rng.normal(scale=scale, size=x.shape)
        quotient = norm(p.gradient(x) - p.gradient(y)) / norm(x - y)
        assert quotient.max() <= p.L * (1 + 1e-6)
    tiny = 1e-4 * rng.normal(size=(N, p.dimension))
    assert (norm(p.gradient(tiny)) / norm(tiny)).max() > 0.5 * p.L


@EVERY
def test_no_slope_is_steeper_than_the_steepest(p):
    slopes = norm(p.gradient(points(p, 1.0)))
    assert slopes.max() <= p.steepest + 1e-12
    assert slopes.max() > 0.6 * p.steepest


@EVERY
def test_the_noisy_gradient_is_unbiased_bounded_and_of_variance_sigma_squared(p):
    """A.2, for the draws at one point: the start."""
    gradient = p.gradient(np.tile(np.array(p.x0), (N, 1)))
    delta = p.noise.draw(np.random.default_rng(2), gradient)
    spread = np.std(delta, axis=0) / math.sqrt(N)
    assert np.all(np.abs(np.mean(delta, axis=0)) <= 4 * spread + 1e-15)
    squares = norm(delta) ** 2
    error = np.std(squares) / math.sqrt(N)
    assert np.mean(squares) <= p.sigma**2 + 4 * error + 1e-12
    assert norm(gradient + delta).max() <= p.M_g + 1e-12


@pytest.mark.parametrize(
    ("noise", "sigma", "reach"),
    [
        (Noise("rademacher", 0.5), 0.5, 0.5),
        (Noise("uniform", 0.6), 0.6 / math.sqrt(3), 0.6),
        (Noise("skewed", 0.3), 0.9, 2.7),
    ],
    ids=lambda v: getattr(v, "kind", ""),
)
def test_the_variance_and_the_reach_of_a_noise_are_attained(noise, sigma, reach):
    """Neither only an upper bound: a theorem's right side would be loose by it."""
    delta = noise.draw(np.random.default_rng(3), np.zeros((N, 1)))
    np.testing.assert_allclose(np.std(delta), sigma, rtol=0.03)
    np.testing.assert_allclose(np.abs(delta).max(), reach, rtol=1e-3)
    assert noise.variance(1.0, 4) == pytest.approx(4 * sigma**2)
    assert noise.reach(1.0, 4) == pytest.approx(2 * reach)


def test_dropout_gives_the_gradient_twofold_or_not_at_all():
    gradient = np.ones((1000, 3))
    g = gradient + Noise("dropout").draw(np.random.default_rng(4), gradient)
    assert {tuple(row) for row in g} == {(0.0, 0.0, 0.0), (2.0, 2.0, 2.0)}


@EVERY
def test_the_problem_is_not_convex(p):
    x, y = points(p), points(p, seed=5)
    assert np.any(p.f((x + y) / 2) > (p.f(x) + p.f(y)) / 2 + 0.1)


def test_an_unknown_problem_is_refused():
    with pytest.raises(
        ValueError,
        match=r"^problem must be one of cosine, .*; did you mean cosine\?$",
    ):
        problem("cone")
