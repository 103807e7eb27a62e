"""The paper's numerical statements: every formula once more, and each can fail."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from acprop.lab import absolute, gaussian, harmonic, stochastic
from acprop.lab.claims import constants, numerics, verify
from acprop.lab.claims import stochastic as stochastic_claims
from acprop.lab.methods import METHODS
from acprop.lab.simulate import Sweep
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, PAPER


def second_moment(gradients, beta1, beta2):
    """s_t by the definition of Section 2.1."""
    m = s = 0.0
    for g in gradients:
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * (g - m) ** 2
    return s


def enumerated_moves():
    """P = 4, δ = 1 after the gradients -1, 4, -1, α = 3, ε = 0.04."""
    den = math.sqrt(second_moment([-1, 4, -1], 0.9, 0.5) + 0.04)
    return 0.4 * (-3 * 4 / den) + 0.6 * (3 / den), -3 * 1.0 / den


def lab_state():
    sweep = Sweep((METHODS["acprop-paper"],), 0.9, (0.5,), eps=0.04, steps=3, tail=1)
    state = State()
    for g in (-1.0, 4.0, -1.0):
        state, _ = step(ACPROP_PAPER, PAPER, state, np.full((1, 1), g), sweep.settings)
    return sweep, state


def lab_move(alpha, x):
    sweep, state = lab_state()
    problem = stochastic.Stochastic(4, 1.0)
    return stochastic.expected_move(problem, sweep, state, alpha, x=x).item()


def sharpest_s():
    """s after many -1 and one P, with a β2 that forgets the rest."""
    return second_moment([-1] * 500 + [4], 0.9, 1e-6)


def averaged(P, delta, alpha0, T, eps, beta1):
    second = (P**2 * (1 + delta) + (P - delta)) / (P + 1)
    top = 1 + second / eps * alpha0**2 * (1 + math.log(T))
    size = math.sqrt(beta1**2 * (P + 1) ** 2 + eps)
    return top * size / (4 * delta * alpha0 * (math.sqrt(T + 1) - 1))


def last_iterate(P, delta, alpha0, t, eps, beta1):
    rate, kappa, D = exponents(P, delta, eps, beta1)
    tau = math.ceil(16 * D**2 / (alpha0 * delta) ** 2)
    return max(
        math.sqrt(12 * tau / t), alpha0 / rate * math.log(2 + 2 / kappa) / t**0.5
    )


def exponents(P, delta, eps, beta1):
    second = (P**2 * (1 + delta) + (P - delta)) / (P + 1)
    rate, D = (
        delta * math.sqrt(eps) / second / math.e,
        math.hypot(beta1 * (P + 1), eps**0.5),
    )
    return rate, rate * delta / 2 / D, D


def direction(beta2, eps):
    state, h, d = State(), Settings(beta1=0.9, beta2=beta2, eps=eps, axis=()), 0.0
    for _ in range(1500):
        state, d = step(ACPROP_PAPER, PAPER, state, 2.0, h)
    return float(d)


def expression(eta, n):
    """ζ(η) + n^(1-η)/(1-η) + ½·n^-η."""
    return float(mpmath.zeta(eta)) + n ** (1 - eta) / (1 - eta) + 0.5 * n**-eta


PROBLEM = stochastic.Stochastic(4, 1.0)
NORMAL = gaussian.NormalGradients(3.0, 2.0)
SUM = float(mpmath.zeta(0.6) - mpmath.zeta(0.6, 1001))
# As the page on the maths names them: (the formula, evaluated here; the code's value)
FORMULAS = {
    "stochastic-moments": (
        (1.0, 4 + 1.0 * 3),
        (sum(p * g for g, p in PROBLEM.outcomes), PROBLEM.second_moment),
    ),
    "stochastic-drift": (
        enumerated_moves(),
        (lab_move(3.0, None),) * 2,
    ),
    "stochastic-saturation": ((-1 + 2 * 3 / 5,), (0.3 + lab_move(100.0, 0.3),)),
    "stochastic-second-moment": ((0.81 * 25,), (sharpest_s(),)),
    "stochastic-average": (
        (averaged(4, 1.0, 0.1, 1e4, 0.5, 0.9),),
        (stochastic.averaged_bound(PROBLEM, 0.1, 1e4, eps=0.5, beta1=0.9),),
    ),
    "stochastic-decay": (
        exponents(4, 1.0, 0.5, 0.9),
        tuple(stochastic.decay(PROBLEM, eps=0.5, beta1=0.9)),
    ),
    "stochastic-last-iterate": (
        tuple(last_iterate(4, 1.0, a, 50, 0.5, 0.9) for a in (0.01, 5.0)),
        tuple(
            stochastic.last_iterate_bound(PROBLEM, a, 50, eps=0.5, beta1=0.9)
            for a in (0.01, 5.0)
        ),
    ),
    "absolute-longest-step": (
        (100 - 100 * 0.99**0.5, 10.0),
        (absolute.largest_step(0.9, 0.99), absolute.largest_step(0.9, 0.5)),
    ),
    "constant-gradient": (
        (second_moment([1] * 7, 0.9, 0.99),),
        (gaussian.constant(0.9, 0.99, 7),),
    ),
    "step-without-second-moment": (
        (2 / math.sqrt(1e-4), 2 / math.sqrt(1e-16)),
        (direction(0.9, 1e-4), direction(1.0, 1e-16)),
    ),
    "drifting-gradient": (
        (second_moment([0.3 * t for t in range(900)], 0.9, 0.9),),
        (gaussian.drifting(0.9, 0.3),),
    ),
    "gaussian-moments": (
        (9 + 4, 4 * 0.81 * (1 + 0.1 / 1.9)),
        (NORMAL.uncentered(), NORMAL.centered(0.9)),
    ),
    "gaussian-factor": (
        (math.sqrt(13 * 1.9 / 2) / (0.9 * 2),),
        (NORMAL.factor(0.9),),
    ),
    "gaussian-equal-rate": (
        (2 * 5 + 2, 2 * 4 * 5 + 2 / 4),
        tuple(constants.bound_at(den, 0.3, 5.0) for den in (0.3, 4 * 0.3)),
    ),
    "gaussian-bound": (
        (2 * math.sqrt(2 * 5 * 7),) * 2,
        (gaussian.tuned_bound(0.2, 5, 7), gaussian.tuned_bound(30.0, 5, 7)),
    ),
    "harmonic-expansion": (
        (SUM,),
        (expression(0.6, 1000) - harmonic.expression_error(0.6, 1000),),
    ),
    "harmonic-relative": (
        (0.25 / 12 / 1e14,),
        (harmonic.expression_error(0.5, 1e7) / expression(0.5, 1e7),),
    ),
}
TOLERANCE = {"stochastic-second-moment": 1e-5, "harmonic-relative": 1e-3}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_of_the_maths_page_is_what_the_code_computes(name):
    by_hand, by_code = FORMULAS[name]
    np.testing.assert_allclose(by_code, by_hand, rtol=TOLERANCE.get(name, 1e-9))


def test_the_leading_error_has_the_sign_of_the_page():
    """The sum lies below the expression: by hand for η = ½, N = 100."""
    plain = math.fsum(k**-0.5 for k in range(1, 101))
    gap = expression(0.5, 100) - plain
    assert gap == pytest.approx(0.5 / 12 * 100**-1.5, rel=1e-3)


@pytest.mark.parametrize(("eta", "T"), list(product([0.5, 0.75, 0.999], [1, 2, 1000])))
def test_dropping_zeta_from_the_proof_of_theorem_4_1_is_allowed(eta, T):
    """ζ(η) + ½T^-η < 0, so Σ t^-η ≤ T^(1-η)/(1-η) without the other two terms."""
    assert float(mpmath.zeta(eta)) + 0.5 * T**-eta < 0
    assert harmonic.sums(eta, (T,))[0] <= T ** (1 - eta) / (1 - eta)


@pytest.mark.parametrize("delta", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_exponential_moment_falls_for_every_denominator(delta, share):
    """E exp(-λ·g/den) ≤ 1 - κ, both outcomes enumerated, from den = √ε to den = D."""
    problem, eps = stochastic.Stochastic(5, delta), 0.01
    rate, kappa, D = stochastic.decay(problem, eps=eps, beta1=0.9)
    den = (1 - share) * math.sqrt(eps) + share * D
    mean = sum(chance * math.exp(-rate * g / den) for g, chance in problem.outcomes)
    assert 1 - rate * delta / den < mean <= 1 - kappa
    assert kappa > 0


def test_the_last_iterate_would_not_converge_with_a_constant_learning_rate(monkeypatch):
    """The bound is for α_t = α0/√t: √t·E|x_t - x*| grows without it."""
    module = stochastic_claims
    sweep = module.Sweep
    monkeypatch.setattr(module, "Sweep", lambda *a, **k: sweep(*a, **k, eta=0.0))
    assert verify("stochastic-last-iterate").verdict == "fails"


def test_a_clipping_that_keeps_the_drift_would_close_the_gap(monkeypatch):
    """If the clipped move were the free one, the proof's last sentence would do."""
    module = stochastic_claims
    move = module.expected_move
    monkeypatch.setattr(module, "expected_move", lambda *a, **_: move(*a))
    assert verify("stochastic-drift-is-not-enough").verdict == "fails"


def test_a_drift_of_the_wrong_sign_would_be_seen(monkeypatch):
    module = stochastic_claims
    move = module.expected_move
    monkeypatch.setattr(module, "expected_move", lambda *a, **k: -move(*a, **k))
    assert verify("stochastic-drift-to-convergence").verdict == "fails"


def test_without_centering_there_would_be_no_other_case(monkeypatch):
    """AdaShift in the place of ACProp: no step is extreme after the first."""
    plain = numerics.method("adashift")
    monkeypatch.setattr(numerics, "method", lambda _: plain)
    run = numerics.descend
    monkeypatch.setattr(numerics, "descend", lambda _, **kw: run("adashift", **kw))
    assert verify("zero-second-moment").verdict == "holds"
    assert verify("never-if-not-piecewise-linear").verdict == "holds"
    corrected = verify("never-if-not-piecewise-linear-corrected")
    assert corrected.verdict == "fails"


def test_a_synchronous_method_would_not_leap_at_its_first_step(monkeypatch):
    plain = numerics.method("adam")
    monkeypatch.setattr(numerics, "method", lambda _: plain)
    assert verify("first-step-leaps").verdict == "fails"


@pytest.fixture
def late(monkeypatch):
    """Gradients that are not centered around 0: v and s are far apart."""
    constants.late_least.cache_clear()
    monkeypatch.setattr(constants, "LATE", gaussian.NormalGradients(10.0, 1.0))
    yield
    constants.late_least.cache_clear()


@pytest.mark.usefixtures("late")
def test_lower_bounds_far_apart_would_fail_the_late_phase():
    assert verify("late-phase").verdict == "fails"


def test_lower_bounds_near_zero_would_be_close_to_it(monkeypatch):
    monkeypatch.setattr(constants, "late_least", lambda: {"v": 0.0, "s": 0.0})
    assert verify("late-phase-close-to-zero").verdict == "holds"


def test_where_noise_prevails_the_centered_bound_would_not_be_smaller(monkeypatch):
    """Early, |μ| ≫ σ; with μ = σ/10 centering makes the noise term larger."""
    monkeypatch.setattr(constants, "EARLY", gaussian.NormalGradients(0.1, 1.0))
    assert verify("centering-converges-faster").verdict == "fails"
    corrected = verify("centering-is-a-larger-learning-rate")
    assert corrected.verdict == "fails"


def test_a_bound_that_falls_with_c_u_would_be_seen(monkeypatch):
    bound = constants.theorem_41_corrected
    monkeypatch.setattr(constants, "theorem_41_corrected", lambda c, h: -bound(c, h))
    assert verify("bound-increases").verdict == "fails"


def test_a_bound_that_is_tighter_in_every_reading_would_be_seen(monkeypatch):
    """Natural constants that favour ACProp, and a late phase like the early one."""
    monkeypatch.setattr(constants, "LATE", constants.EARLY)
    monkeypatch.setattr(constants, "bound_at", lambda den, *_: den)
    natural = constants.natural_constants

    def turned(p, method, **kw):
        found = natural(p, method, **kw)
        return constants.replace(found, C_l=1 / found.C_l)

    monkeypatch.setattr(constants, "natural_constants", turned)
    assert verify("tighter-bound-on-risk").verdict == "holds"
