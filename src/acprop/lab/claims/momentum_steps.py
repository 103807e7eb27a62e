"""The lemma and the steps by which Appendix B proves its momentum theorem."""

import math
import random
from fractions import Fraction

import numpy as np
from scipy.special import zeta  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

from acprop.lab.arrays import Floats
from acprop.lab.bounds import power_sum
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.descent import SECTION_4, preconditioner
from acprop.lab.methods import advance, method
from acprop.lab.nonconvex import PROBLEMS, NonConvex, problem
from acprop.lab.steps import iterate
from acprop.reference import Settings, State

PROOF = "Appendix B, proof of the momentum theorem"

ETAS = (0.501, 0.6, 0.75, 1.0)
MEMBER = "acprop-before"


@claim(
    "momentum-lemma", "paper", "proof step", "Appendix B, lemma of the momentum theorem"
)
@formula(
    r"\langle a_t,g_t\rangle=\frac{\langle a_t,m_t\rangle-\langle a_{t-1},m_{t-1}"
    r"\rangle}{1-\beta_1}+\langle a_{t-1},m_{t-1}\rangle+b\,\langle a_{t-1}"
    r"-a_t,m_{t-1}\rangle"
)
def lemma() -> Finding:
    """⟨A_t, g_t⟩ = (⟨A_t, m_t⟩ - ⟨A_{t-1}, m_{t-1}⟩)/(1-β1) + ⟨A_{t-1}, m_{t-1}⟩ +
    β1/(1-β1)·⟨A_{t-1} - A_t, m_{t-1}⟩.
    """
    rng = random.Random(0)

    def draw() -> Fraction:
        return Fraction(rng.randint(-99, 99), rng.randint(1, 99))

    rests: list[Fraction] = []
    for trial in range(400):
        beta1 = Fraction(rng.randint(0, 98), 99)
        a, g, a_old = draw(), draw(), draw()
        m_old = draw() if trial % 2 else Fraction(0)
        m = beta1 * m_old + (1 - beta1) * g
        b = beta1 / (1 - beta1)
        right = (a * m - a_old * m_old) / (1 - beta1) + a_old * m_old
        right += b * (a_old - a) * m_old
        rests.append(a * g - right)
    wrong = sum(rest != 0 for rest in rests)
    return Finding.of(
        wrong == 0,
        f"in fractions, {wrong} of {len(rests)} random cases differ, half of them at "
        f"t = 1, where m_0 = 0 makes A_0 irrelevant",
        {"cases": len(rests), "wrong": wrong},
    )


def sum_step() -> tuple[float, float]:
    """Both sides of Σ t^-2η ≤ T^(1-2η)/(1-2η), which lacks ζ(2η) for 2η > 1."""
    eta, T = 0.75, 100
    return power_sum(T, 2 * eta), T ** (1 - 2 * eta) / (1 - 2 * eta)


@claim("momentum-sum-bound", "ours", "constant", PROOF)
@formula(r"H_T(2\eta)\le\zeta(2\eta)\le\frac{2\eta}{2\eta-1}\qquad(\eta>\tfrac12)")
def sum_bound() -> Finding:
    """Σ t^-2η ≤ ζ(2η) ≤ 2η/(2η-1)."""
    shares = [power_sum(10_000, 2 * eta) / float(zeta(2 * eta)) for eta in ETAS]
    tops = [float(zeta(2 * eta)) * (2 * eta - 1) / (2 * eta) for eta in ETAS]
    return Finding.of(
        max(shares) <= 1 and max(tops) <= 1,
        f"for η from {ETAS[0]} to {ETAS[-1]} and T = 10⁴ the sum is at most "
        f"{max(shares):.4f} of ζ(2η), and ζ(2η) at most {max(tops):.4f} of 2η/(2η-1)",
        {"sum_share": max(shares), "zeta_share": max(tops)},
    )


def _first_norms(p: NonConvex, *, alpha0: float, beta1: float) -> float:
    """‖α0·A_0‖₁ + b·‖α_1·A_1‖₁ with A_0 = A_1, as Algorithm 2 starts: s_0 = 0."""
    h = Settings(beta1, eps=1.0, amsgrad=True, axis=())
    state = State()
    new, _ = advance(method(MEMBER), SECTION_4, state, np.ones(p.dimension), h)
    A = preconditioner(method(MEMBER), state, new, h) * np.ones(p.dimension)
    return float(alpha0 * np.sum(A) / (1 - beta1))


def norm_step() -> tuple[float, float]:
    """Both sides of ‖α0·H_0‖₁ + b·‖α_1·H_1‖₁ ≤ α0·M_g/(1-β1): M_g is no bound on A."""
    p, alpha0, beta1 = problem("well"), 0.1, 0.9
    return _first_norms(p, alpha0=alpha0, beta1=beta1), alpha0 * p.M_g / (1 - beta1)


@claim("momentum-norm-bound", "ours", "constant", PROOF)
def norm_bound() -> Finding:
    """‖α0·H_0‖₁ + β1/(1-β1)·‖α_1·H_1‖₁ ≤ d·α0·C_u/(1-β1)."""
    shares = [
        _first_norms(p, alpha0=0.1, beta1=0.9) * (1 - 0.9) / (p.dimension * 0.1)
        for p in PROBLEMS.values()
    ]
    return Finding.of(
        max(shares) <= 1 + 1e-12,
        f"on {len(shares)} problems the norms are at most {max(shares):.6f} of "
        f"d·α0·C_u/(1 - β1): with s_0 = 0 they equal it",
        {"worst_share": max(shares)},
    )


def young_step() -> tuple[float, float]:
    """The last square needs the coefficient ½ + 1 and gets ½ + b, here for β1 = ¼."""
    beta1 = 0.25
    return 1.5, beta1 / (1 - beta1) + 0.5


def _last_terms(p: NonConvex, beta1: float) -> float:
    """The largest ⟨∇f(x_T), α_T·A_T·m_T⟩ over M_g²·‖α_T·A_T‖₁ along a run."""
    rng, x, worst = np.random.default_rng(0), np.array([p.x0]), -math.inf
    h = Settings(beta1, 0.99, 1.0, amsgrad=True, axis=())

    def noisy(_: int, x: Floats) -> Floats:
        gradient = p.gradient(x)
        return gradient + p.noise.draw(rng, gradient)

    for step, after in iterate(
        method(MEMBER), SECTION_4, h, noisy, steps=200, x0=x, alpha0=0.5, eta=0.6
    ):
        A = preconditioner(method(MEMBER), step.before, step.after, h)
        term = np.sum(p.gradient(x) * step.d)
        worst = max(worst, float(term / (p.M_g**2 * np.sum(A * np.ones(x.shape)))))
        x = after
    return worst


@claim("momentum-last-term-cancels", "ours", "proof step", PROOF)
def last_term_cancels() -> Finding:
    """Young's inequality is not needed: the term at T is at most the M_g²·‖α_T·A_T‖₁
    that the telescoped sum leaves over.
    """
    shares = [
        _last_terms(p, beta1) for p in PROBLEMS.values() for beta1 in (0.0, 0.5, 0.9)
    ]
    return Finding.of(
        max(shares) <= 1 + 1e-12,
        f"along {len(shares)} runs of 200 steps the term is at most {max(shares):.2f} "
        f"of what cancels it, so neither β1²/(4L(1 - β1)²) nor β1 ≥ ½ is needed",
        {"worst_share": max(shares)},
    )
