"""The last part of docs/maths.md, on averaging, says what the code computes.

As in tests/test_maths.py: every displayed formula has a name, and its LaTeX stands here
a second time beside an evaluation by hand that is compared with the code.
"""

import re
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest

from acprop.lab import averaging_bounds as bounds
from acprop.lab import phase
from acprop.lab.bounds import Constants, natural_constants
from acprop.lab.claims import CLAIMS
from acprop.lab.descent import WalkSettings
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS
from acprop.lab.nonconvex import Noise, problem
from acprop.lab.problems import dense
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP, ACPROP_BEFORE, ADABELIEF, ADAM, PAPER, Rule

PAGE = (Path(__file__).parents[1] / "docs/maths.md").read_text("utf-8")
AVERAGING = PAGE.split("\n## Averaging,")[1]
RULES = [
    (center, delay, Rule("before", center, delay))
    for center in (None, "m")
    for delay in (0, 1, 3)
]
C = Constants(C_l=0.3, C_u=1.4, L=2.0, M_f=3.0, f_star=0.5, M_g=1.7, sigma=0.4, d=3)
SKEWED = Noise("skewed", 0.3)
J = np.arange(4000)

FORMULAS = {}
# Absolute where a limit is approached only.
TOLERANCE = {
    "phase-drift": {"rtol": 0, "atol": 2e-3},
    "phase-band": {"rtol": 0, "atol": 2e-3},
    "average-before-covariance": {"rtol": 0.02},
    "average-before-rest": {"rtol": 0.03},
}


def formula(name, latex):
    """Register an evaluation: it returns (by hand, by the code)."""

    def register(evaluate):
        FORMULAS[name] = ("".join(latex.split()), evaluate)
        return evaluate

    return register


def share(center, delay, beta1):
    """f_j for j = 0, 1 …"""
    late = 0.5 * (1 - beta1) * beta1 ** (2.0 * (J - delay)) if center else 0.0
    return np.where(delay > J, 0.0, 1 - late)


@formula(
    "phase-share",
    r"""f_j=0\ (j<\tau),\qquad f_j=1\ \text{(uncentered)},\quad
    f_j=1-\tfrac12(1-\beta_1)\,\beta_1^{2(j-\tau)}\ \text{(centered)}\ (j\ge\tau),
    \qquad \varphi=\sum_{j\ge0}(1-\beta_1)\beta_1^jf_j""",
)
def _():
    by_hand, by_code = [], []
    for center, delay, rule in RULES:
        for b1 in (0.3, 0.9):
            f = share(center, delay, b1)
            by_hand += [*f[:9], np.sum((1 - b1) * b1**J * f)]
            by_code += [*phase.arrived(rule, b1, J[:9] * 1.0)]
            by_code += [phase.mean_share(rule, b1)]
    return by_hand, by_code


@formula(
    "phase-mean-share",
    r"""\varphi=\beta_1^\tau\ \text{(uncentered)},\qquad
    \varphi=\beta_1^\tau\Bigl(1-\frac{1-\beta_1}{2\,(1+\beta_1+\beta_1^2)}\Bigr)\
    \text{(centered)}""",
)
def _():
    by_hand, by_code = [], []
    for center, delay, rule in RULES:
        for b1 in (0.3, 0.9):
            late = (1 - b1) / (2 * (1 + b1 + b1**2)) if center else 0
            by_hand.append(b1**delay * (1 - late))
            by_code.append(phase.mean_share(rule, b1))
    return by_hand, by_code


def period_sum(rule, P, b1, b2):
    """√s̄ and Σ m_t/√s_{t-τ} over a settled period, from the drift and its path."""
    m, s = np.zeros(P), np.zeros(P)
    g = np.roll(dense(P).cycle, -1)  # the large gradient first
    # Once round from nothing, then again: linear, so the settled start is known.
    mean = 0.0
    for now in g:
        mean = b1 * mean + (1 - b1) * now
    mean = mean / (1 - b1**P)
    for t, now in enumerate(g):
        mean = m[t] = b1 * mean + (1 - b1) * now
    w = (g - m) ** 2 if rule.center else g**2
    y = 0.0
    for now in w:
        y = b2 * y + (1 - b2) * now
    y = y / (1 - b2**P)
    for t, now in enumerate(w):
        y = s[t] = b2 * y + (1 - b2) * now
    return m, s, np.sum(m / np.sqrt(np.roll(s, rule.delay)))


@formula(
    "phase-drift",
    r"""\sqrt{\bar s}\,\sum_t\frac{m_t}{\sqrt{s_{t-\tau}}}=1-\frac c{2P}\sum_tm_t
    \Bigl(f-\frac12-\frac tP\Bigr)+O\Bigl(\frac1P\Bigr)\ \to\
    1-\frac c2\Bigl(\varphi-\frac12\Bigr)""",
)
def _():
    """The sign is that of the drift; the size is extrapolated from P and 2P."""
    by_hand, by_code = [], []
    for center, delay, rule in RULES:
        for b1, c in ((0.4, 2.0), (0.8, 5.0)):
            sums = []
            for P in (2000, 4000):
                _, s, total = period_sum(rule, P, b1, 1 - c / P**2)
                sums.append(np.sqrt(np.mean(s)) * total)
            f = share(center, delay, b1)
            phi = np.sum((1 - b1) * b1**J * f)
            by_hand.append(1 - c / 2 * (phi - 1 / 2))
            by_code.append(2 * sums[1] - sums[0])
    return by_hand, by_code


@formula(
    "phase-threshold",
    r"""(1-\beta_2^*)\,P^2\to\frac4{2\varphi-1}:\qquad
    \frac{4\,(1+\beta_1+\beta_1^2)}{2\beta_1^3+2\beta_1^2-1}\
    \text{(centered, }\tau=1),\quad \frac4{2\beta_1-1}\
    \text{(uncentered, }\tau=1),\quad
    \frac4{1-\frac{1-\beta_1}{1+\beta_1+\beta_1^2}}\ \text{(AdaBelief)},
    \quad 4\ \text{(Adam)}""",
)
def _():
    by_hand, by_code = [], []
    rules = ACPROP_BEFORE, phase.UNCENTERED.rule, ADABELIEF, ADAM
    for b in (0.6, 0.75, 0.95):
        p = 1 + b + b**2
        by_hand += [4 * p / (2 * b**3 + 2 * b**2 - 1), 4 / (2 * b - 1)]
        by_hand += [4 / (1 - (1 - b) / p), 4]
        by_code += [phase.threshold(rule, b) for rule in rules]
    return by_hand, by_code


@formula(
    "phase-band",
    r"""h(a)=\sum_{j\ge0}\frac{(1-\beta_1)\beta_1^j}{\sqrt{e^{-a}+f_j\,(1-e^{-a})}}-
    \frac{e^{a/2}-1}{a/2}""",
)
def _():
    """By the formula, and by the settled state of P and 2P, extrapolated."""
    by_hand, by_code = [], []
    for center, delay, rule in RULES:
        for b1, a in ((0.4, 0.5), (0.8, 3.0)):
            f = share(center, delay, b1)
            first = (1 - b1) * b1**J / np.sqrt(exp(-a) + f * (1 - exp(-a)))
            h = np.sum(first) - (exp(a / 2) - 1) / (a / 2)
            by_hand += [h, h]
            by_code.append(phase.lead(rule, b1, a) * exp(a / 2))
            sums = []
            for P in (2000, 4000):
                _, s, total = period_sum(rule, P, b1, 1 - a / P)
                after = np.max(s)
                sums.append(sqrt(after) / P * total)
            by_code.append(2 * sums[1] - sums[0])
    return by_hand, by_code


@formula(
    "average-after-lemma",
    r"""\sum_{t=1}^T\langle a_t,u_t\rangle=\sum_{t=1}^T\langle a_t,d_t\rangle+
    \lambda\,\langle a_T,M_T\rangle+
    \lambda\sum_{t=1}^{T-1}\langle a_t-a_{t+1},M_t\rangle""",
)
def _():
    """u, M and d are those of a run of the default, without and with look-ahead."""
    rng, left, right = np.random.default_rng(0), [], []
    gs, a, b1 = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), 0.8
    for rule in (ACPROP, Rule("after", "average", 1)):
        state, M, u, d = State(t=1, s=np.ones(3)), [], [], []
        for g in gs:
            u.append(g / np.sqrt(state.s + 1e-6))
            state, now = step(rule, PAPER, state, g, Settings(b1, 0.9, 1e-6))
            M.append(state.M)
            d.append(now)
        age = bounds.mean_age(b1, nesterov=rule.nesterov)
        M, u, d = np.array(M), np.array(u), np.array(d)
        left.append(np.sum(a * u))
        moved = np.sum((a[:-1] - a[1:]) * M[:-1])
        right.append(np.sum(a * d) + age * (a[-1] @ M[-1] + moved))
    return left, right


AT = WalkSettings(0.3, 0.6, 500, beta1=0.8, beta2=0.9)


def rate(age):
    rise = (C.M_f - C.f_star) / 0.3 * 500 ** (0.6 - 1)
    squares = C.L * C.C_u**2 * C.M_g**2 * 0.3 / (1 - 0.6) * 500**-0.6
    return rise + (age + 1 / 2) * squares


@formula(
    "average-after-bound",
    r"""\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac2{C_l}\Bigl[
    \frac{M_f-f^*}{\alpha_0}T^{\eta-1}+\bigl(\lambda+\tfrac12\bigr)
    \frac{LC_u^2M_g^2\alpha_0}{1-\eta}T^{-\eta}+\frac{\lambda\,C_uM_g^2}T+
    \frac{C_u^4M_g^4}{16\,C_l}T^{-1/2}\Bigr]\qquad\square""",
)
def _():
    by_hand, by_code = [], []
    for ahead, age in ((False, 0.8 / 0.2), (True, 0.8 * 0.8 / 0.2)):
        last = age * C.C_u * C.M_g**2 / 500
        bias = C.C_u**4 * C.M_g**4 / (16 * C.C_l) * 500**-0.5
        by_hand.append(2 / C.C_l * (rate(age) + last + bias))
        by_code.append(bounds.after(C, AT, nesterov=ahead))
    return by_hand, by_code


@formula(
    "average-s-limit",
    r"""\sqrt{\hat s_t}\le\frac{q\,(G+\epsilon)}{1-q}=:B,\qquad
    C_l=\frac1{B+\epsilon}""",
)
def _():
    q, p = sqrt((1 + 0.6) / 2), problem("waves")
    B = q * (p.M_g + 0.1) / (1 - q)
    c = natural_constants(p, METHODS["acprop"], eps=0.1, beta1=0.6)
    return [B, 1 / (B + 0.1)], [bounds.second_moment_limit(0.6, p.M_g, 0.1), c.C_l]


@formula(
    "average-before-bound",
    r"""\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1{C_l}\Bigl[
    \frac{M_f-f^*}{\alpha_0}T^{\eta-1}+\bigl(b+\tfrac12\bigr)
    \frac{LC_u^2M_g^2\alpha_0}{1-\eta}T^{-\eta}+b\,d\,C_uM_g^2\Bigl(\frac1T+2\,
    \bigl(\beta_2^{-1/2}-1\bigr)\Bigr)\Bigr]\qquad\square""",
)
def _():
    b = 0.8 / 0.2
    turns = 1 / 500 + 2 * (0.9**-0.5 - 1)
    by_hand = (rate(b) + b * C.d * C.C_u * C.M_g**2 * turns) / C.C_l
    return by_hand, bounds.before(C, AT)


@formula(
    "average-before-inside",
    r"""\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac2{C_l}\Bigl[
    \frac{M_f-f^*}{\alpha_0}T^{\eta-1}+\bigl(b+\tfrac12\bigr)
    \frac{LC_u^2M_g^2\alpha_0}{1-\eta}T^{-\eta}+\frac{b\,C_uM_g^2}T+
    \frac{\bigl(b\,C_u^3S\,M_g\,(1-\beta_2)\bigr)^2}{8\,C_l}\Bigr]\qquad\square""",
)
def _():
    b, S = 0.8 / 0.2, 2.5
    around = (b * C.C_u**3 * S * C.M_g * (1 - 0.9)) ** 2 / (8 * C.C_l)
    by_hand = 2 / C.C_l * (rate(b) + b * C.C_u * C.M_g**2 / 500 + around)
    return by_hand, bounds.before_inside(C, AT, S)


@formula(
    "average-before-covariance",
    r"""\operatorname{Cov}(m_t,s_{t-1})=(1-\beta_2)\,\mathbb E\delta^3\sum_{k\ge1}
    \sum_{j\ge0}\rho_j^2\,(1-\beta_1)\,\beta_1^{k+j}=(1-\beta_2)\,\mathbb E\delta^3\,
    \beta_1^3\Bigl(1+\frac{\beta_1(1-\beta_1)}{1+\beta_1+\beta_1^2}\Bigr)""",
)
def _():
    """By the double sum with β2^(k-1), which the first order leaves out; and by Ψ."""
    by_hand, by_code, b2 = [], [], 0.9999
    for b1 in (0.5, 0.9):
        j, k = np.arange(300)[:, None], np.arange(1, 300)
        rho = np.where(j == 0, b1, -(1 - b1) * b1**j)
        total = np.sum(rho**2 * (1 - b1) * b1 ** (k + j) * b2 ** (k - 1))
        by_hand.append((1 - b2) * bounds.third_moment(SKEWED) * total)
        mean = 2 * b1**2 / (1 + b1)  # s̄ over σ²
        slope = bounds.resting_slope(b1) * mean
        by_code.append((1 - b2) * bounds.third_moment(SKEWED) * slope)
    return by_hand, by_code


@formula(
    "average-before-rest",
    r"""\nabla f=(1-\beta_2)\,\Psi\,\frac{\mathbb E\delta^3}{2\sigma^2}\cdot
    \frac w{w+\epsilon}+o(1-\beta_2),\qquad \Psi=\frac{\beta_1(1+\beta_1)}2\Bigl(1+
    \frac{\beta_1(1-\beta_1)}{1+\beta_1+\beta_1^2}\Bigr)""",
)
def _():
    """By hand, by the code's formula, and by drawn noise."""
    by_hand, by_code = [], []
    b1 = np.array([0.5, 0.9])
    third, variance = 0.3**3 * (0.1 * 729 - 0.9), 9 * 0.3**2
    drawn = bounds.resting_gradient(b1, 0.999, SKEWED, eps=0.1, steps=8000, lanes=500)
    for b, seen in zip(b1.tolist(), drawn, strict=True):
        w = b * sqrt(variance * 2 / (1 + b))
        psi = b * (1 + b) / 2 * (1 + b * (1 - b) / (1 + b + b**2))
        rest = (1 - 0.999) * psi * third / (2 * variance) * w / (w + 0.1)
        by_hand += [rest, rest]
        by_code += [bounds.resting_order(b, 0.999, SKEWED, eps=0.1), float(seen)]
    return by_hand, by_code


def displayed():
    named = re.findall(
        r"<!-- formula: ([a-z0-9-]+) -->\n\$\$(.+?)\$\$", AVERAGING, re.DOTALL
    )
    return {name: "".join(latex.split()) for name, latex in named}


def test_the_formulas_of_this_part_are_those_that_were_compared():
    assert displayed() == {name: latex for name, (latex, _) in FORMULAS.items()}
    assert len(re.findall(r"\$\$.+?\$\$", AVERAGING, re.DOTALL)) == len(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_what_the_code_computes(name):
    by_hand, by_code = FORMULAS[name][1]()
    np.testing.assert_allclose(by_code, by_hand, **TOLERANCE.get(name, {"rtol": 1e-12}))


def test_the_claims_this_part_cites_exist():
    cited = re.findall(r"`([a-z0-9.]+(?:-[a-z0-9.]+)+)`", AVERAGING)
    assert len(set(cited)) > 8
    assert set(cited) <= CLAIMS.keys()


def test_the_settled_period_by_hand_has_the_sign_of_the_drift():
    """So that the two limits above are about what the laboratory calls drift."""
    for b1, b2 in ((0.9, 0.99), (0.9, 0.7), (0.5, 0.99)):
        *_, total = period_sum(ACPROP_BEFORE, 50, b1, b2)
        before = METHODS["acprop-before"]
        seen = drift(dense(50), before, PAPER, beta1=b1, beta2=b2, eps=0.0)
        assert np.sign(total) == np.sign(seen)
