"""The theorems of Appendix B: every formula again by hand, and runs against them.

A name that begins with test_formula_ belongs to a displayed formula of docs/maths.md.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import zeta

from acprop.lab import bounds
from acprop.lab.bounds import Constants, bound, natural_constants, power_sum
from acprop.lab.claims import preconditioner as preconditioner_claims
from acprop.lab.descent import SECTION_4, WalkSettings, preconditioner, walk
from acprop.lab.methods import advance, method
from acprop.lab.nonconvex import PROBLEMS, problem
from acprop.reference import Settings, State

C = Constants(C_l=0.4, C_u=1.5, L=2.0, M_f=7.0, f_star=1.0, M_g=3.0, sigma=0.7, d=5)
A0, ETA, T, BETA1 = 0.05, 0.75, 16, 0.8  # T^(η-1) = ½, T^-η = ⅛, β1/(1-β1) = 4
H = WalkSettings(A0, ETA, T, beta1=BETA1)
SUM = sum(t**-1.5 for t in range(1, 17))
EXACT = {"rtol": 1e-13}


def test_formula_bound_printed():
    seen = bounds.theorem_41_printed(C, H)
    by_hand = 2 / 0.4 * (6 * 0.05 / 2 + 2 * 1.5**2 * 0.49 * 0.05 / 0.5 / 8)
    np.testing.assert_allclose(seen, by_hand, **EXACT)


def test_formula_bound_corrected():
    seen = bounds.theorem_41_corrected(C, H)
    by_hand = 2 / 0.4 * (6 / 0.05 / 2 + 2 * 1.5**2 * 0.49 * 0.05 / 0.5 / 8)
    np.testing.assert_allclose(seen, by_hand, **EXACT)


def test_formula_bound_no_ceiling():
    seen = bounds.theorem_41_without_ceiling(C, H, 4.0)
    by_hand = 2 / (0.4 * 0.05) / 2 * (3 + 2 * 1.5**2 * 0.49 * 0.05**2 * SUM / 2)
    np.testing.assert_allclose(seen, by_hand, **EXACT)


def test_formula_bound_constant_rate():
    """The same bound at η = 0 with α0/√T: H_T(0) = T."""
    h = WalkSettings(A0 / math.sqrt(T), 0.0, T)
    seen = bounds.theorem_41_without_ceiling(C, h, 4.0)
    by_hand = 2 / (0.4 * 4) * (3 / 0.05 + 2 * 1.5**2 * 0.49 * 0.05 / 2)
    np.testing.assert_allclose(seen, by_hand, **EXACT)


def test_formula_bound_clipped():
    seen = bounds.theorem_41_clipped(C, H)
    rest = 6 / 0.05 / 2 + 2 * 1.5**2 * 0.49 * 0.05 / 0.5 / 8
    by_hand = 4 / 0.4 * (rest + (1.5 * 3) ** 4 / (8 * 0.4) / 4)
    np.testing.assert_allclose(seen, by_hand, **EXACT)


@given(
    u=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    c=st.floats(1e-2, 1e3),
)
def test_formula_clip_bias(u, c):
    """For every law, here that of a die with the faces u."""
    u = np.array(u)
    bias = abs(np.mean(u - np.clip(u, -c, c)))
    beyond = np.mean(np.maximum(np.abs(u) - c, 0))
    slack = 1e-9 * (1 + beyond)
    assert bias <= beyond + slack
    assert beyond <= np.mean(u**2) / (4 * c) + slack


def test_formula_clip_descent():
    """One clipped step's expectation, with noise that the bound cuts."""
    p = problem("cosine-skewed")
    x = np.linspace(-4, 4, 81)[:, None]
    slope, C_l, alpha = p.gradient(x), 0.5, 0.5 / p.L
    for A, c in product((0.5, 0.8, 1.0), (1.0, 2.0, 5.0)):
        after = sum(
            chance * p.f(x - alpha * np.clip(A * (slope + noise), -c, c))
            for noise, chance in ((9.0, 0.1), (-1.0, 0.9))
        )
        left = alpha * C_l / 4 * slope[:, 0] ** 2
        bias = (p.M_g**2 / (4 * c)) ** 2
        right = p.f(x) - after + p.L / 2 * p.sigma**2 * alpha**2 + alpha / C_l * bias
        assert np.all(left <= right)


def test_formula_alpha0_limit():
    np.testing.assert_allclose(C.alpha0_limit, 0.4 / (2 * 1.5 * 1.5), **EXACT)


def test_formula_momentum_printed():
    seen = bounds.momentum_printed(C, H)
    E = 16 / (4 * 2) + 0.05 * 3 / 0.2 + 4.5 * 2 * 0.05**2 * 1.5**2 / -0.5
    np.testing.assert_allclose(seen, (6 + 9 * E) / 2 / (0.05 * 0.4), **EXACT)


def test_formula_momentum_corrected():
    seen = bounds.momentum_corrected(C, H)
    E = 4 * 5 * 0.05 * 1.5 + 4.5 * 2 * 0.05**2 * 1.5**2 * SUM
    np.testing.assert_allclose(seen, (6 + 9 * E) / 2 / (0.05 * 0.4), **EXACT)


def test_formula_momentum_ceiling():
    seen = bounds.momentum_with_ceiling(C, H)
    squares = 4.5 * 2 * 1.5**2 * 9 * 0.05 / (1 - ETA) * T**-ETA
    by_hand = 6 / 0.05 * T ** (ETA - 1) + squares + 4 * 5 * 1.5 * 9 / T
    np.testing.assert_allclose(seen, by_hand / 0.4, **EXACT)


def test_formula_momentum_synchronous():
    seen = bounds.momentum_synchronous(C, H)
    E = 5 * 0.05 * 1.5 / 0.2 + 4.5 * 2 * 0.05**2 * 1.5**2 * SUM
    np.testing.assert_allclose(seen, (6 + 9 * E) / 2 / (0.05 * 0.4), **EXACT)


def test_formula_power_sum():
    """H_T(η) ≤ 1 + (T^(1-η) - 1)/(1-η) ≤ T^(1-η)/(1-η), and H_T(2η) ≤ 2η/(2η-1)."""
    assert power_sum(3, 2.0) == pytest.approx(1 + 1 / 4 + 1 / 9)
    for n in (1, 2, 50):
        integral = 1 + (n**0.3 - 1) / 0.3
        assert power_sum(n, 0.7) <= integral + 1e-12
        assert integral <= n**0.3 / 0.3
        assert power_sum(n, 1.4) <= 1.4 / 0.4


def test_formula_momentum_sum():
    """H_T(2η) ≤ ζ(2η) ≤ 2η/(2η-1); ζ(2) = π²/6."""
    for eta in (0.6, 0.75, 1.0):
        assert power_sum(100_000, 2 * eta) < zeta(2 * eta) < 2 * eta / (2 * eta - 1)
    assert zeta(2.0) - power_sum(100_000, 2.0) < 1.1e-5


def test_formula_walk():
    """Two steps by hand: A_1 = 1/ε, then s_1 = (1-β2)·(β1·g_1)²."""
    h = WalkSettings(0.5, 0.75, steps=3, eps=2.0, beta1=0.9, beta2=0.99, seeds=1)
    seen = walk(problem("cosine"), method("acprop-paper"), h).squared[:, 0]
    x_2 = math.pi / 2 - 0.5 * 1 / 2
    x_3 = x_2 - 0.5 * 2**-0.75 * math.sin(x_2) / (math.sqrt(0.01) * 0.9 + 2)
    by_hand = [math.sin(x) ** 2 for x in (math.pi / 2, x_2, x_3)]
    np.testing.assert_allclose(seen, by_hand, **EXACT)


def test_formula_centering_cap():
    """s_t of a constant gradient μ, next to the closed form."""
    b1, b2, mu, state = 0.9, 0.999, 3.0, State()
    for t in range(1, 100):
        state, _ = advance(
            method("acprop-paper"), SECTION_4, state, mu, Settings(b1, b2, 1.0, axis=())
        )
        form = (1 - b2) * b1**2 * (b2**t - b1 ** (2 * t)) / (b2 - b1**2) * mu**2
        np.testing.assert_allclose(state.s, form, rtol=1e-9)
    cap = preconditioner_claims._gain_cap(b1, b2)
    np.testing.assert_allclose(cap, 15.51, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "reach"), [("acprop-paper", 2 * 0.8), ("adashift", 1.0)]
)
def test_formula_natural_constants(name, reach):
    p = problem("waves")
    c = natural_constants(p, method(name), eps=0.1, beta1=0.8)
    M_g = 1.5 * 2 + 1.0 * 2  # a slope of 3/2·√4, and noise up to 1 in each of four
    np.testing.assert_allclose(c.C_l, 1 / (reach * M_g + 0.1), **EXACT)
    np.testing.assert_allclose(c.C_u, 10, **EXACT)
    assert (c.L, c.M_f, c.f_star, c.d) == (2, 8, 0, 4)
    np.testing.assert_allclose(c.sigma, math.sqrt(4 / 3), **EXACT)


def test_sgd_is_its_own_preconditioner():
    c = natural_constants(problem("well"), method("sgd"), eps=0.1, beta1=0.9)
    assert (c.C_l, c.C_u) == (1, 1)


def test_formula_descent():
    """One step's expectation: f falls by α·C_l/2·‖∇f‖² but for ½·L·C_u²·σ²·α²."""
    p = problem("cosine-noisy")
    x = np.linspace(-4, 4, 81)[:, None]
    slope, A = p.gradient(x), 0.6  # any A in [C_l, C_u] = [½, 1]
    alpha = 0.5 / (p.L * 1.0**2)
    after = sum(p.f(x - alpha * A * (slope + noise)) for noise in (-0.5, 0.5)) / 2
    left = alpha * 0.5 / 2 * slope[:, 0] ** 2
    right = p.f(x) - after + p.L / 2 * p.sigma**2 * alpha**2
    assert np.all(left <= right)


def test_formula_momentum_lemma():
    """In fractions, at a generic step and at the first, for any A_0."""
    b1, a, a_old, g = Fraction(9, 10), Fraction(3, 7), Fraction(-5, 11), Fraction(2, 3)
    for m_old in (Fraction(1, 5), Fraction(0)):
        m = b1 * m_old + (1 - b1) * g
        right = (a * m - a_old * m_old) / (1 - b1) + a_old * m_old
        right += b1 / (1 - b1) * (a_old - a) * m_old
        assert right == a * g


@pytest.mark.parametrize("beta1", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("name", ["cosine-noisy", "cosine-skewed", "well", "waves"])
def test_formula_momentum_pathwise(name, beta1):
    """Before expectations, each run obeys it: no luck hides in the derivation.

    Σ⟨a_t, g_t⟩ ≤ f(x_1) - f(x_{T+1}) + M_g²·b·‖α_1·A_1‖₁ + (b + ½)·L·Σ‖x_{t+1} - x_t‖².
    """
    p, h = problem(name), Settings(beta1, 0.9, 1.0, amsgrad=True, axis=())
    b = beta1 / (1 - beta1)
    rng, x, state = np.random.default_rng(0), np.array([p.x0]), State()
    start, left, squares, first = p.f(x)[0], 0.0, 0.0, 0.0
    for t in range(1, 200):
        gradient = p.gradient(x)
        g = gradient + p.noise.draw(rng, gradient)
        new, d = advance(method("acprop-before"), SECTION_4, state, g, h)
        A = preconditioner(method("acprop-before"), state, new, h) * np.ones(x.shape)
        alpha = 0.7 * t**-0.6
        first = first or alpha * np.sum(A)
        left += alpha * np.sum(A * gradient * g)
        squares += np.sum((alpha * d) ** 2)
        state, x = new, x - alpha * d
        fallen = start - p.f(x)[0]
        right = fallen + p.M_g**2 * b * first + (b + 0.5) * p.L * squares
        assert left <= right + 1e-12


def test_formula_async_identity():
    """The mean of two asynchronous steps is the step of the mean gradient."""
    h, state = Settings(eps=0.1, axis=()), State(t=5, m=0.2, s=0.3)
    low, mid, high = (
        advance(method("acprop-paper"), SECTION_4, state, g, h)[1]
        for g in (-1.0, 0.5, 2.0)
    )
    np.testing.assert_allclose((low + high) / 2, mid, **EXACT)


def test_the_printed_theorem_is_broken_by_one_run_without_noise():
    r = bound("cosine", "4.1", WalkSettings(0.01, steps=100, seeds=1))
    assert r.alpha0_is_allowed
    assert r.measured.average > 50 * r.printed
    assert (r.printed_holds, r.corrected_holds) == (False, True)
    assert r.constants.C_l <= r.measured.A_min <= r.measured.A_max <= r.constants.C_u


def test_the_printed_theorem_is_broken_even_with_the_constants_that_occurred():
    """The constants known beforehand are the kinder ones to the right side."""
    r = bound("cosine", "4.1", WalkSettings(0.01, steps=100, seeds=1))
    c = Constants(r.measured.A_min, r.measured.A_max, 1.0, 2.0, 0.0, 1.0, 0.0, 1)
    printed = bounds.theorem_41_printed(c, WalkSettings(0.01, steps=100))
    assert printed < r.printed < r.measured.average


def test_the_printed_momentum_theorem_promises_less_than_nothing():
    r = bound("cosine-noisy", "momentum", WalkSettings(0.25, 0.501, steps=100))
    assert r.alpha0_is_allowed
    assert r.printed < 0 < r.measured.average < r.corrected
    assert (r.printed_holds, r.corrected_holds) == (False, True)
    assert (r.optimizer, r.settings.amsgrad) == ("acprop-before", True)


@pytest.mark.parametrize("optimizer", ["acprop-paper", "adashift", "sgd"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_runs_respect_the_corrected_theorem_at_the_largest_learning_rate(
    name, optimizer
):
    c = natural_constants(problem(name), method(optimizer), eps=1.0, beta1=0.9)
    r = bound(name, "4.1", WalkSettings(c.alpha0_limit, steps=200), optimizer)
    assert r.alpha0_is_allowed
    assert r.measured.above <= r.corrected
    floor = 1 - 1e-12
    assert r.measured.A_min >= c.C_l * floor
    assert r.measured.A_max * floor <= c.C_u


@pytest.mark.parametrize("beta1", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("name", PROBLEMS)
def test_runs_respect_the_corrected_momentum_theorem(name, beta1):
    r = bound(name, "momentum", WalkSettings(1.0, 0.6, steps=100, beta1=beta1))
    assert r.measured.above <= r.corrected


def test_the_condition_on_alpha0_is_needed():
    r = bound("cosine", "4.1", WalkSettings(100.0, seeds=1))
    assert not r.alpha0_is_allowed
    assert not r.corrected_holds


def test_without_a_ceiling_the_bound_holds_too_and_has_a_logarithm():
    p, sgd = problem("cosine-noisy"), method("sgd")
    c = natural_constants(p, sgd, eps=1.0, beta1=0.9)
    run = walk(p, sgd, WalkSettings(1.0, steps=500)).averages.mean(axis=1)
    right = [
        bounds.theorem_41_without_ceiling(c, WalkSettings(1.0, steps=n), 1.0)
        for n in (1, 10, 100, 500)
    ]
    assert np.all(run[[0, 9, 99, 499]] <= right)
    late = WalkSettings(1.0, steps=10**6)
    far = bounds.theorem_41_without_ceiling(c, late, 1.0)
    assert far > bounds.theorem_41_corrected(c, late)


def test_a_measurement_is_the_mean_over_seeds_with_its_error():
    h = WalkSettings(0.2, steps=30, seeds=5)
    run = walk(problem("ratio"), method("acprop-paper"), h)
    ends = run.squared.mean(axis=0)
    np.testing.assert_allclose(run.average, ends.mean(), **EXACT)
    np.testing.assert_allclose(run.error, ends.std(ddof=1) / math.sqrt(5), rtol=1e-9)
    assert run.above == run.average + 3 * run.error


@pytest.mark.parametrize(
    ("arguments", "changes", "message"),
    [
        (
            ("cone", "4.1", None),
            {},
            r"^problem must be one of cosine, .*; did you mean cosine\?$",
        ),
        (("cosine", "4.2", None), {}, r"^theorem must be one of 4.1, .* got '4.2'"),
        (
            ("cosine", "4.1", "adam"),
            {},
            "^optimizer must be one of acprop-paper, adashift, sgd for theorem 4.1, ",
        ),
        (
            ("cosine", "momentum", "acprop-paper"),
            {"eta": 0.7},
            r"^optimizer must be one of acprop-before for theorem momentum, got acpr",
        ),
        (
            ("cosine", "4.1", None),
            {"eta": 1.0},
            r"^eta must be in \[0.5, 1\) for theorem 4.1, got 1.0$",
        ),
        (
            ("cosine", "momentum", None),
            {"eta": 0.5},
            r"^eta must be in \(0.5, 1\] for theorem momentum, got 0.5$",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, changes, message):
    name, theorem, optimizer = arguments
    with pytest.raises(ValueError, match=message):
        bound(name, theorem, WalkSettings(0.1, **changes), optimizer)
