"""docs/maths.md says what the code computes; docs/errata.md cites what there is.

Every displayed formula has a name there. Here its LaTeX stands a second time, beside an
evaluation by hand that is compared with the code: whoever edits the one has to look at
the other. (Hence the length of this file.) The formulas of Section 4, Appendix B and
the numerical parts are evaluated in tests/lab; below only their text is held fast. The
page's last part, on averaging, is in tests/test_maths_averaging.py.
"""

import ast
import re
from dataclasses import replace
from math import ceil, log, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

import acprop
from acprop import records
from acprop.lab import limits as closed
from acprop.lab.claims import CLAIMS
from acprop.lab.claims.lemma34 import residual_sums
from acprop.lab.drift import drift, log_largest_step
from acprop.lab.limits import limits
from acprop.lab.methods import METHODS, Method, advance
from acprop.lab.problems import dense, sparse
from acprop.lab.simulate import trajectory
from acprop.reference import Settings, State, step
from acprop.rule import (
    ACPROP,
    ACPROP_AFTER,
    ACPROP_PAPER,
    ADAM,
    ADASHIFT,
    AUTHORS,
    GUARDED,
    PAPER,
    TORCH,
    Rule,
)

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src/acprop"
MATHS = (ROOT / "docs/maths.md").read_text("utf-8").split("\n## Averaging,")[0]
ERRATA = (ROOT / "docs/errata.md").read_text("utf-8")
B1, B2, EPS = 0.8, 0.9, 1e-3
GS = np.random.default_rng(0).normal(size=12)
TENSORS = np.random.default_rng(1).normal(size=(12, 3)) * 3.0 ** np.arange(12)[:, None]
# Grows too fast for the bound, then falls.
SWELL = np.minimum(3.0 ** np.arange(150), 700 * 0.97 ** np.arange(150))
SWELLING = np.random.default_rng(2).normal(size=(150, 3)) * SWELL[:, None]
PLANE = [(P, b1, b2) for P in (4, 5, 9) for b1 in (0.3, 0.9) for b2 in (0.09, 0.7)]

FORMULAS = {}
# Relative, and absolute where a limit is approached only.
TOLERANCE = {
    "sparse-decay": {"rtol": 1e-5},
    "drift": {"rtol": 1e-10},
    "projection": {"rtol": 1e-9},
    "dense-v-large-period": {"rtol": 1e-7},
    "rmsprop-threshold": {"rtol": 0, "atol": 1e-3},
}


def formula(name, latex):
    """Register an evaluation: it returns (by hand, by the code)."""

    def register(evaluate):
        FORMULAS[name] = (latex, evaluate)
        return evaluate

    return register


def squeezed(latex):
    """LaTeX without its spaces: lines break differently here and there."""
    return "".join(latex.split())


def run(rule, convention, gs=GS, *, eps=EPS, **options):
    """All states and all directions of a run of the reference."""
    h, state, states, ds = Settings(B1, B2, eps, **options), State(), [], []
    for g in gs:
        state, d = step(rule, convention, state, g, h)
        states.append(state)
        ds.append(d)
    return states, np.array(ds)


def means(gs=GS):
    """m_0, m_1 … by the definition."""
    m = [0.0 * gs[0]]
    for g in gs:
        m.append(B1 * m[-1] + (1 - B1) * g)
    return np.array(m)


def seconds(ws):
    """y_0, y_1 … of y_t = β2·y_{t-1} + (1 - β2)·w_t."""
    y = [0.0 * ws[0]]
    for w in ws:
        y.append(B2 * y[-1] + (1 - B2) * w)
    return np.array(y)


# 1. The family


@formula("mean", r"m_t=\beta_1m_{t-1}+(1-\beta_1)\,g_t,\qquad m_0=0")
def _():
    return means()[1:], [s.m for s in run(ACPROP_PAPER, PAPER)[0]]


@formula(
    "second-moments",
    r"""v_t=\beta_2v_{t-1}+(1-\beta_2)\,g_t^2,\qquad
    s_t=\beta_2s_{t-1}+(1-\beta_2)\,r_t^2,\qquad
    r_t=g_t-m_t,\qquad v_0=s_0=0""",
)
def _():
    by_hand = [*seconds(GS**2)[1:], *seconds((GS - means()[1:]) ** 2)[1:]]
    return by_hand, [
        s.s for rule in (ADASHIFT, ACPROP_PAPER) for s in run(rule, PAPER)[0]
    ]


class Slope:
    """Gradients that come from GS, on an interval."""

    lo, hi, x0 = -0.5, 0.4, 0.1

    def gradient(self, t, x):
        del x
        return float(GS[t - 1])


@formula(
    "direction",
    r"""d_t=\frac{n_t}{\sqrt{s_{t-\tau}+\epsilon}},\qquad
    x_t=\Pi_{\mathcal F}\bigl(x_{t-1}-\alpha_td_t\bigr)""",
)
def _():
    rule = Rule(average="before", center="m", delay=2)
    options = {"beta1": B1, "beta2": B2, "alpha0": 0.2, "eps": EPS, "steps": len(GS)}
    seen = trajectory(Slope(), Method("delayed", rule), **options)
    m, s, x, xs = means(), seconds((GS - means()[1:]) ** 2), Slope.x0, []
    for t in range(1, len(GS) + 1):
        d = m[t] / sqrt(s[max(t - 2, 0)] + EPS)
        x = min(max(x - 0.2 / sqrt(t) * d, Slope.lo), Slope.hi)
        xs.append(x)
    return xs, seen.x


@formula(
    "numerator",
    r"""n_t=m_t\qquad\text{or}\qquad
    n_t=\frac{\sum_{i=0}^{\tau-1}\beta_1^i\,g_{t-i}}{\sum_{i=0}^{\tau-1}\beta_1^i}""",
)
def _():
    plain = replace(PAPER, first_step="sgd")
    windows = [GS[max(t - 3, 0) : t][::-1] for t in range(1, 13)]
    weights = [B1 ** np.arange(len(w)) for w in windows]
    by_hand = [u @ w / sum(u) for u, w in zip(weights, windows, strict=True)]
    rule = Rule(average=None, center=None, delay=3)
    states, ds = run(rule, plain)
    roots = [1.0] * 3 + [sqrt(s.s + EPS) for s in states[2:-1]]
    _, with_m = run(replace(rule, average="before"), plain)
    return [*by_hand, *means()[1:]], [*ds * roots, *with_m * roots]


@formula("residual-identity", r"g_t-m_t=\beta_1\,(g_t-m_{t-1})")
def _():
    return B1 * (GS - means()[:-1]), GS - [s.m for s in run(ACPROP_PAPER, PAPER)[0]]


@formula(
    "bias-correction",
    r"\hat m_t=\frac{m_t}{1-\beta_1^t},\qquad \hat s_k=\frac{s_k}{1-\beta_2^k}",
)
def _():
    t = np.arange(1, 13)
    mean, second = means()[1:] / (1 - B1**t), seconds(GS**2)[1:] / (1 - B2**t)
    return mean / np.sqrt(second), run(ADAM, TORCH, eps=0.0)[1]


@formula(
    "eps-places",
    r"""\sqrt{\hat s_k+\epsilon}\ \text{(inside)},\qquad
    \sqrt{\hat s_k}+\epsilon\ \text{(outside, accumulated)}""",
)
def _():
    t = np.arange(1, 13)
    mean, second = means()[1:] / (1 - B1**t), seconds(GS**2)[1:] / (1 - B2**t)
    by_hand = [mean / np.sqrt(second + EPS), mean / (np.sqrt(second) + EPS)]
    inside = replace(TORCH, eps_placement="inside")
    return by_hand, [run(ADAM, inside)[1], run(ADAM, TORCH)[1]]


@formula(
    "eps-accumulated",
    r"""s_k=\beta_2s_{k-1}+(1-\beta_2)\,r_k^2+\epsilon
    =(1-\beta_2)\sum_{i=1}^k\beta_2^{k-i}\,r_i^2
    +\frac{1-\beta_2^k}{1-\beta_2}\,\epsilon""",
)
def _():
    plain = seconds((GS - means()[1:]) ** 2)[1:]
    floor = EPS * (1 - B2 ** np.arange(1, 13)) / (1 - B2)
    return plain + floor, [s.s for s in run(ACPROP_PAPER, AUTHORS)[0]]


@formula(
    "amsgrad",
    r"""\bar s_k=\max(\bar s_{k-1},\,s_k)\ \text{(raw)},\qquad
    \bar R_k=\max(\bar R_{k-1},\,\hat s_k+\epsilon)\
    \text{(corrected, }\epsilon\text{ inside)}""",
)
def _():
    t, v = np.arange(1, 13), seconds(GS**2)[1:]
    mean = means()[1:] / (1 - B1**t)
    raw = np.sqrt(np.maximum.accumulate(v) / (1 - B2**t)) + EPS
    corrected = np.sqrt(np.maximum.accumulate(v / (1 - B2**t) + EPS))
    whole = replace(TORCH, eps_placement="inside", amsgrad="corrected")
    seen = [run(ADAM, c, amsgrad=True)[1] for c in (TORCH, whole)]
    return [mean / raw, mean / corrected], seen


@formula(
    "projection",
    r"""\Pi_{\mathcal F}(y)=\operatorname*{arg\,min}_{x\in\mathcal F}\
    \sum_iw_i\,(x_i-y_i)^2""",
)
def _():
    """In a square, over a grid that has its corners."""
    y, w = np.array([2.0, -1.5]), np.array([0.3, 2.0])
    x = np.stack(np.meshgrid(*[np.linspace(-1, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    nearest = x[np.argmin(np.sum(w * (x - y) ** 2, axis=-1))]
    return nearest, acprop.Box(-1.0, 1.0).project(torch.tensor(y)).numpy()


def guarded():
    """u_t and clip(u_t) by hand: the gradients swell, so that both are met."""
    m, s, us, ds = 0.0, 0.0, [], []
    for t, g in enumerate(SWELLING, 1):
        seen = s / (1 - B2 ** (t - 1)) if t > 1 else 0 * g
        us.append(g / (np.sqrt(seen) + EPS))
        ds.append(np.minimum(np.maximum(us[-1], -(t**0.25)), t**0.25))
        m = B1 * m + (1 - B1) * g
        s = B2 * s + (1 - B2) * (g - m) ** 2
    assert 0 < np.sum(np.not_equal(us, ds)) < np.size(us)
    return np.array(ds)


@formula(
    "guarded-direction",
    r"""u_t=\frac{n_t}{\sqrt{\hat s_{t-\tau}}+\epsilon},\qquad
    d_t=\operatorname{clip}(u_t,\pm c_t)=\min\bigl(\max(u_t,-c_t),\,c_t\bigr),\qquad
    c_t=t^{1/4},\qquad\tfrac00=0""",
)
def _():
    zeros = run(ACPROP_PAPER, GUARDED, np.zeros((5, 2)), eps=0.0)[1]
    by_code = run(ACPROP_PAPER, GUARDED, SWELLING)[1]
    return [*guarded().ravel(), *[0] * 10], [*by_code.ravel(), *zeros.ravel()]


class Swell:
    """The first of the swelling gradients, on an interval."""

    lo, hi, x0 = -0.5, 0.4, 0.1

    def gradient(self, t, x):
        del x
        return float(SWELLING[t - 1, 0])


@formula(
    "average-after",
    r"""M_t=\beta_1M_{t-1}+(1-\beta_1)\,d_t,\quad M_0=0,\qquad
    x_t=\Pi_{\mathcal F}\bigl(x_{t-1}-\alpha_tM_t\bigr)\quad\text{or}\quad
    x_t=\Pi_{\mathcal F}\bigl(x_{t-1}-\alpha_t(\beta_1M_t+(1-\beta_1)\,d_t)\bigr)""",
)
def _():
    by_hand, by_code = [], []
    for ahead in (False, True):
        M, x = 0.0, Swell.x0
        for t, d in enumerate(guarded()[:, 0], 1):
            M = B1 * M + (1 - B1) * d
            move = B1 * M + (1 - B1) * d if ahead else M
            x = min(max(x - 0.2 / sqrt(t) * move, Swell.lo), Swell.hi)
            by_hand.append(x)
        method = Method("after", replace(ACPROP_AFTER, nesterov=ahead))
        options = {"beta1": B1, "beta2": B2, "alpha0": 0.2, "eps": EPS}
        options |= {"steps": len(SWELLING), "convention": GUARDED}
        by_code.extend(trajectory(Swell(), method, **options).x)
    return by_hand, by_code


@formula(
    "average-center",
    r"""r_t=g_t-D_t\operatorname{clip}(M_{t-1},\pm1),\qquad
    s_t=\beta_2s_{t-1}+(1-\beta_2)\,\frac{1+\beta_1}2\,r_t^2""",
)
def _():
    M, s, ss = 0.0, 0.0, []
    for t, g in enumerate(SWELLING, 1):
        D = np.sqrt(s / (1 - B2 ** (t - 1)) if t > 1 else 0 * g) + EPS
        r = g - D * np.minimum(np.maximum(M, -1), 1)
        M = B1 * M + (1 - B1) * np.minimum(np.maximum(g / D, -(t**0.25)), t**0.25)
        s = B2 * s + (1 - B2) * (1 + B1) / 2 * r**2
        ss.append(s)
    return ss, [state.s for state in run(ACPROP, GUARDED, SWELLING)[0]]


def outside(name):
    """The directions of a method that is no rule."""
    state, ds = State(), []
    for g in TENSORS:
        state, d = advance(METHODS[name], PAPER, state, g, Settings(B1, B2, EPS))
        ds.append(d)
    return ds


@formula(
    "avagrad",
    r"""d_t=\frac{m_t\,e_t}{\sqrt{\operatorname{mean}(e_t^2)}},\qquad
    e_t=\frac1{\sqrt{v_{t-1}}+\epsilon}""",
)
def _():
    e = 1 / (np.sqrt(seconds(TENSORS**2)[:-1]) + EPS)
    size = np.sqrt(np.mean(e**2, axis=1, keepdims=True))
    return means(TENSORS)[1:] * e / size, outside("avagrad")


@formula(
    "adopt",
    r"""d_t=\beta_1d_{t-1}+(1-\beta_1)\operatorname{clip}\Bigl(
    \frac{g_t}{\max(\sqrt{v_{t-1}},\,\epsilon)},\ \pm(t-1)^{1/4}\Bigr),\qquad
    v_1=g_1^2,\quad d_1=0""",
)
def _():
    v, d = TENSORS[0] ** 2, np.zeros(3)
    ds = [d]
    for t, g in enumerate(TENSORS[1:], 2):
        u = np.clip(
            g / np.maximum(np.sqrt(v), EPS), -((t - 1) ** 0.25), (t - 1) ** 0.25
        )
        d = B1 * d + (1 - B1) * u
        v = B2 * v + (1 - B2) * g**2
        ds.append(d)
    return ds, outside("adopt")


# 2. The periodic problems


@formula(
    "dense-problem",
    r"""f_t(x)=\begin{cases}Px,&t\bmod P=1\\-x,&\text{otherwise}\end{cases}\qquad
    x\in[-1,1],\quad P\ge3,\quad x_0=0""",
)
def _():
    p, odd = dense(5), {1: 5.0}
    by_hand = [odd.get(t % 5, -1.0) for t in range(1, 16)]
    return [*by_hand, -1, 1, 0], [*seen(p), p.lo, p.hi, p.x0]


@formula(
    "sparse-problem",
    r"""f_t(x)=\begin{cases}\tfrac P2x,&t\bmod P=1\\-x,&t\bmod P=P-2\\
    0,&\text{otherwise}\end{cases}\qquad
    x\in[0,1],\quad P\ge4,\quad x_0=\tfrac12""",
)
def _():
    p, odd = sparse(5), {1: 2.5, 3: -1.0}
    by_hand = [odd.get(t % 5, 0.0) for t in range(1, 16)]
    return [*by_hand, 0, 1, 0.5], [*seen(p), p.lo, p.hi, p.x0]


def seen(problem):
    """The gradients of three periods."""
    return [problem.gradient(t, 0.0) for t in range(1, 3 * problem.period + 1)]


@formula(
    "period-sums",
    r"""\sum_{t=k+1}^{k+P}f_t(x)=x\ \text{(dense)},\qquad
    \sum_{t=k+1}^{k+P}f_t(x)=\Bigl(\frac P2-1\Bigr)x\ \text{(sparse)}""",
)
def _():
    """Where the sum of slopes is positive the left end is the optimum."""
    by_hand = [x for P in (4, 5, 9) for x in (1, -1, P / 2 - 1, 0)]
    problems = [make(P) for P in (4, 5, 9) for make in (dense, sparse)]
    return by_hand, [
        x for p in problems for x in (sum(seen(p)[2 : 2 + p.period]), p.x_star)
    ]


def settled(w, beta):
    """The formula of this name: y at every phase."""
    P = len(w)
    total = [sum(beta**i * w[(t - i) % P] for i in range(P)) for t in range(P)]
    return (1 - beta) / (1 - beta**P) * np.array(total)


@formula(
    "settled",
    r"y_t=\frac{1-\beta}{1-\beta^P}\sum_{i=0}^{P-1}\beta^i\,w_{t-i}",
)
def _():
    by_hand, by_code = [], []
    for P, b1, b2 in PLANE:
        for p in (dense(P), sparse(P)):
            at, g = limits(p, b1, b2), p.cycle
            m = settled(g, b1)
            by_hand += [m, settled(g**2, b2), settled((g - m) ** 2, b2)]
            by_code += [at.m, at.v, at.s]
    return np.concatenate(by_hand), np.concatenate(by_code)


IMPULSES = {1: 4.5, 7: -1.0}  # of the sparse problem with P = 9


def after(at, b1):
    """u at an impulse of that problem, by the formula."""
    total = sum(J * b1 ** ((at - b) % 9) for b, J in IMPULSES.items())
    return (1 - b1) / (1 - b1**9) * total


@formula(
    "settled-mean",
    r"""u_{a_i}=\frac{1-\beta_1}{1-\beta_1^P}\sum_bJ_b\,\beta_1^{(a_i-a_b)\bmod P},
    \qquad u_{a_i+j}=\beta_1^j\,u_{a_i}""",
)
def _():
    lengths = {1: range(6), 7: range(3)}
    by_hand = {
        (a + j) % 9: after(a, B1) * B1**j for a, js in lengths.items() for j in js
    }
    return [by_hand[t] for t in range(9)], closed.mean(sparse(9), B1)


@formula(
    "settled-residual",
    r"""r_{a_i}=\beta_1\,(J_i-u_{a_i-1}),\qquad r_{a_i+j}=-\beta_1^j\,u_{a_i}""",
)
def _():
    first = [B1 * (4.5 - after(7, B1) * B1**2), B1 * (-1 - after(1, B1) * B1**5)]
    rest = [-(B1**j) * after(1, B1) for j in range(1, 6)]
    r = sparse(9).cycle - closed.mean(sparse(9), B1)
    return [*first, *rest], [r[1], r[7], *r[2:7]]


@formula(
    "geometric-sum",
    r"""G_j=\sum_{l=1}^j\beta_2^{\,j-l}\,\beta_1^{2(l-1)}
    =\frac{\beta_2^j-\beta_1^{2j}}{\beta_2-\beta_1^2},\qquad
    G_j=j\,\beta_2^{\,j-1}\ \text{ where }\beta_1^2=\beta_2""",
)
def _():
    j = np.arange(1, 9)
    plain = [sum(B2 ** (n - i) * B1 ** (2 * i - 2) for i in range(1, n + 1)) for n in j]
    by_hand = [plain, [geometric(n, B1, B2) for n in j], j * 0.25 ** (j - 1)]
    other = np.exp(closed._log_sum(j, log(B2), 2 * log(B1)))
    return by_hand, [other, other, np.exp(closed._log_sum(j, log(0.25), 2 * log(0.5)))]


def geometric(j, b1, b2):
    return (b2**j - b1 ** (2 * j)) / (b2 - b1**2)


@formula(
    "settled-s",
    r"""s_{a_i+j}=\beta_2^{\,j+1}\,s_{a_i-1}
    +(1-\beta_2)\bigl(\beta_2^j\,r_{a_i}^2+\beta_1^2u_{a_i}^2\,G_j\bigr)""",
)
def _():
    s = limits(sparse(9), B1, B2).s
    first = {1: 4.5 - after(1, B1), 7: -1 - after(7, B1)}
    by_hand = [
        B2 ** (j + 1) * s[a - 1]
        + (1 - B2)
        * (B2**j * first[a] ** 2 + B1**2 * after(a, B1) ** 2 * geometric(j, B1, B2))
        for a, length in ((1, 6), (7, 3))
        for j in range(length)
    ]
    return by_hand, [*s[1:], s[0]]


@formula(
    "dense-m",
    r"m_{kP+1+j}=-1+K(1-\beta_1)\,\beta_1^j,\qquad K=\frac{P+1}{1-\beta_1^P}",
)
def _():
    j = np.arange(7)
    by_hand = -1 + 8 / (1 - B1**7) * (1 - B1) * B1**j
    return by_hand, np.roll(closed.mean(dense(7), B1), -1)


@formula(
    "dense-residual",
    r"""r_{kP+1}=K\beta_1\,(1-\beta_1^{P-1}),\qquad
    r_{kP+1+j}=-K(1-\beta_1)\,\beta_1^j\quad(1\le j<P)""",
)
def _():
    K, p = 8 / (1 - B1**7), dense(7)
    rest = [-K * (1 - B1) * B1**j for j in range(1, 7)]
    return [K * B1 * (1 - B1**6), *rest], np.roll(p.cycle - closed.mean(p, B1), -1)


def dense_v(P, b2):
    """v from the spike on."""
    return 1 + (1 - b2) * (P**2 - 1) / (1 - b2**P) * b2 ** np.arange(P)


@formula(
    "dense-v",
    r"v_{kP+1+j}=1+(1-\beta_2)\,\frac{P^2-1}{1-\beta_2^P}\,\beta_2^j",
)
def _():
    return dense_v(7, B2), np.roll(limits(dense(7), B1, B2).v, -1)


@formula(
    "dense-s",
    r"""s_{kP}=\frac{1-\beta_2}{1-\beta_2^P}\,K^2\beta_1^2\Bigl[
    \beta_2^{P-1}(1-\beta_1^{P-1})^2+(1-\beta_1)^2\,G_{P-1}\Bigr]""",
)
def _():
    by_hand = [
        (1 - b2)
        / (1 - b2**P)
        * ((P + 1) / (1 - b1**P)) ** 2
        * b1**2
        * (
            b2 ** (P - 1) * (1 - b1 ** (P - 1)) ** 2
            + (1 - b1) ** 2 * geometric(P - 1, b1, b2)
        )
        for P, b1, b2 in UNEQUAL
    ]
    return by_hand, [limits(dense(P), b1, b2).s[0] for P, b1, b2 in UNEQUAL]


UNEQUAL = [(P, b1, b2 + 0.01) for P, b1, b2 in PLANE]  # β1² = β2 is G's own affair


def sparse_m(P, b1):
    gain = (1 - b1) / (1 - b1**P)
    return gain * (P / 2 - b1**3), gain * (P / 2 * b1 ** (P - 3) - 1)


@formula(
    "sparse-m",
    r"""m_+=m_{kP+1}=\frac{1-\beta_1}{1-\beta_1^P}\Bigl(\frac P2-\beta_1^3\Bigr),\qquad
    m_-=m_{kP-2}=\frac{1-\beta_1}{1-\beta_1^P}\Bigl(\frac P2\,\beta_1^{P-3}-1\Bigr)""",
)
def _():
    seen = [closed.mean(sparse(P), b1)[[1, P - 2]] for P, b1, _ in PLANE]
    return [sparse_m(P, b1) for P, b1, _ in PLANE], seen


@formula(
    "sparse-v",
    r"""v^+=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[
    \frac{P^2}4\beta_2^{P-1}+\beta_2^2\Bigr],\qquad
    v^-=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[
    \frac{P^2}4\beta_2^{P-4}+\beta_2^{P-1}\Bigr]""",
)
def _():
    by_hand = [
        (1 - b) / (1 - b**P) * (P**2 / 4 * b**near + b**far)
        for P, _, b in PLANE
        for near, far in ((P - 1, 2), (P - 4, P - 1))
    ]
    seen = [limits(sparse(P), b1, b).v[[0, P - 3]] for P, b1, b in PLANE]
    return by_hand, np.concatenate(seen)


def sparse_s(P, b1, b2, ages):
    """The sum of either s, by the ages of its four terms."""
    (plus, minus), (a, b, c, e) = sparse_m(P, b1), ages
    return (1 - b2) / (1 - b2**P) * (
        b2**a * (P / 2 - plus) ** 2
        + b2**b * b1**2 * plus**2 * geometric(P - 4, b1, b2)
        + b2**c * (1 + minus) ** 2
        + b2**e * (b2 * b1**2 + b1**4) * minus**2
    )  # fmt: skip


@formula(
    "sparse-s-plus",
    r"""s^+=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[\beta_2^{P-1}\bigl(\tfrac P2-m_+\bigr)^2
    +\beta_2^3\beta_1^2m_+^2\,G_{P-4}+\beta_2^2(1+m_-)^2
    +(\beta_2\beta_1^2+\beta_1^4)\,m_-^2\Bigr]""",
)
def _():
    by_hand = [sparse_s(P, b1, b2, (P - 1, 3, 2, 0)) for P, b1, b2 in UNEQUAL]
    return by_hand, [limits(sparse(P), b1, b2).s[0] for P, b1, b2 in UNEQUAL]


@formula(
    "sparse-s-minus",
    r"""s^-=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[\beta_2^{P-4}\bigl(\tfrac P2-m_+\bigr)^2
    +\beta_1^2m_+^2\,G_{P-4}+\beta_2^{P-1}(1+m_-)^2
    +\beta_2^{P-3}(\beta_2\beta_1^2+\beta_1^4)\,m_-^2\Bigr]""",
)
def _():
    by_hand = [sparse_s(P, b1, b2, (P - 4, 0, P - 1, P - 3)) for P, b1, b2 in UNEQUAL]
    return by_hand, [limits(sparse(P), b1, b2).s[P - 3] for P, b1, b2 in UNEQUAL]


@formula(
    "sparse-decay",
    r"\lim_{P\to\infty}\frac1P\log\frac{s^-}{P^2}=\log\max(\beta_2,\,\beta_1^2)",
)
def _():
    """Between two periods, where the constant of the decay falls out."""
    betas = [(0.9, 0.5), (0.5, 0.9), (0.3, 0.6)]
    low, high = (
        np.array(
            [closed.log_centered(sparse(P), *b)[P - 3] - 2 * log(P) for b in betas]
        )
        for P in (2000, 4000)
    )
    return [log(max(b2, b1**2)) for b1, b2 in betas], (high - low) / 2000


@formula(
    "drift",
    r"""D=\sum_{t=kP+1}^{kP+P}d_t,\qquad \text{reported as the share}\quad
    D\Big/\sum_{t=kP+1}^{kP+P}|d_t|""",
)
def _():
    """Adam on the dense problem, after 80 periods of 5."""
    m = v = 0.0
    ds = []
    for t in range(1, 401):
        g = 5.0 if t % 5 == 1 else -1.0
        m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g**2
        ds.append(m / sqrt(v + EPS))
    seen = drift(dense(5), METHODS["adam"], PAPER, beta1=B1, beta2=B2, eps=EPS)
    return sum(ds[-5:]) / sum(map(abs, ds[-5:])), seen


@formula(
    "mean-sum",
    r"\sum_{t=kP+1}^{kP+P}m_t=\sum_{t=kP+1}^{kP+P}g_t>0",
)
def _():
    m = [closed.mean(make(9), B1) for make in (dense, sparse)]
    size = [np.sum(np.abs(x)) for x in m]
    seen = [
        drift(make(9), METHODS[name], PAPER, beta1=B1, beta2=B2)
        for make, name in ((dense, "amsgrad"), (sparse, "avagrad"))
    ]
    return [1, 3.5, 1 / size[0], 3.5 / size[1]], [*map(sum, m), *seen]


WIDE = [(P, b1, b2) for P in (3, 4, 7, 40) for b1 in (0.1, 0.9) for b2 in (0.05, 0.999)]


@formula(
    "dense-drift",
    r"""D=\frac P{\sqrt{s_{kP}}}-\sum_{j=1}^{P-1}\frac1{\sqrt{s_{kP+j}}}\
    \ge\ \frac{P-(P-1)}{\sqrt{s_{kP}}}>0""",
)
def _():
    by_hand, by_code = [], []
    for P, b1, b2 in WIDE:
        s = limits(dense(P), b1, b2).s
        first, others = P / sqrt(s[0]), np.sum(1 / np.sqrt(s[1:]))
        by_hand += [(first - others) / (first + others), True]
        share = drift(
            dense(P), METHODS["acprop-paper"], PAPER, beta1=b1, beta2=b2, eps=0.0
        )
        by_code += [share, share * (first + others) >= (1 - 1e-9) / sqrt(s[0])]
    return by_hand, by_code


SIGNS = [(P, b2) for P in (4, 6, 7, 12, 50) for b2 in (0.01, 0.2, 0.5, 0.7, 0.95)]


def rights(name):
    """Is the drift right? On the sparse problem, at the cells of SIGNS."""
    return [
        drift(sparse(P), METHODS[name], PAPER, beta1=B1, beta2=b2, eps=0.0) > 0
        for P, b2 in SIGNS
    ]


@formula(
    "sparse-drift",
    r"""D=\frac P{2\sqrt{s^+}}-\frac1{\sqrt{s^-}}>0\iff
    \frac{s^+}{s^-}<\frac{P^2}4""",
)
def _():
    log_s = [closed.log_centered(sparse(P), B1, b2) for P, b2 in SIGNS]
    ratio = [float(s[0] - s[-3]) for s in log_s]
    signs = [r < 2 * log(P / 2) for r, (P, _) in zip(ratio, SIGNS, strict=True)]
    s = limits(sparse(7), B1, 0.3).s
    share = drift(
        sparse(7), METHODS["acprop-paper"], PAPER, beta1=B1, beta2=0.3, eps=0.0
    )
    left, right = 7 / 2 / sqrt(s[0]), 1 / sqrt(s[-3])
    assert {True, False} == set(signs)
    by_hand = [*signs, (left - right) / (left + right)]
    return by_hand, [*rights("acprop-paper"), share]


def residuals(P, b1, b2):
    """ρ_t = g_t - m_{t-1} at the phases 1 … P, from the settled means."""
    g, m = sparse(P).cycle, limits(sparse(P), b1, b2).m
    return [g[t % P] - m[(t - 1) % P] for t in range(1, P + 1)]


def sums_of_residuals(P, b1, b2):
    rho = residuals(P, b1, b2)
    N = b2**2 * rho[P - 3] ** 2 + b2 * rho[P - 2] ** 2 + rho[P - 1] ** 2
    return N, sum(b2 ** (P - 3 - t) * rho[t - 1] ** 2 for t in range(1, P - 2))


@formula(
    "sparse-criterion-sums",
    r"""N=\beta_2^2\rho_{P-2}^2+\beta_2\rho_{P-1}^2+\rho_P^2,\qquad
    W=\sum_{t=1}^{P-3}\beta_2^{P-3-t}\rho_t^2""",
)
def _():
    by_hand = [sums_of_residuals(*cell) for cell in PLANE]
    return by_hand, [[float(x) for x in residual_sums(*cell)] for cell in PLANE]


@formula(
    "sparse-criterion",
    r"""D>0\iff\bigl(1-Q\beta_2^{P-3}\bigr)N<\bigl(Q-\beta_2^3\bigr)W""",
)
def _():
    """By the sums above, and by the drift."""
    cells = [(P, b1, b2) for P, b2 in SIGNS for b1 in (0.05, 0.9)]
    held = [
        (1 - P**2 / 4 * b2 ** (P - 3)) * N < (P**2 / 4 - b2**3) * W
        for P, b1, b2 in cells
        for N, W in [sums_of_residuals(P, b1, b2)]
    ]
    assert {True, False} == set(held)
    acprop_paper = METHODS["acprop-paper"]
    moves = [
        drift(sparse(P), acprop_paper, PAPER, beta1=b1, beta2=b2, eps=0.0)
        for P, b1, b2 in cells
    ]
    return held, [move > 0 for move in moves]


@formula(
    "sparse-border",
    r"""\frac{v^+}{v^-}<\frac{P^2}4\iff\beta_2^{6-P}<\Bigl(\frac P2\Bigr)^4\iff
    P\le6\ \text{ or }\ \beta_2>\Bigl(\frac2P\Bigr)^{4/(P-6)}""",
)
def _():
    """The signs, and at the border itself nothing but rounding."""
    power = [b2 ** (6 - P) < (P / 2) ** 4 for P, b2 in SIGNS]
    border = [P <= 6 or b2 > (2 / P) ** (4 / (P - 6)) for P, b2 in SIGNS]
    assert {True, False} == set(border)
    at = [(P, (2 / P) ** (4 / (P - 6))) for P in (7, 12, 50)]
    v = [limits(sparse(P), B1, b2).v for P, b2 in at]
    ratio = [x[0] / x[-3] for x in v]
    by_hand = [power, border], [P**2 / 4 for P, _ in at]
    return np.concatenate([np.ravel(x) for x in by_hand]), [
        *rights("adashift"), *rights("rmsprop"), *ratio
    ]  # fmt: skip


REACHED = [(make, P) for make in (dense, sparse) for P in (4, 7)]


@formula(
    "clip-silence",
    r"\operatorname{clip}(u_t,\pm t^{1/4})=u_t\qquad(t\ge R^4)",
)
def _():
    """R of the run itself: the largest |u| once s has settled."""
    by_hand, by_code = [], []
    for make, P in REACHED:
        gs = [make(P).cycle[t % P] for t in range(1, 3001)]
        _, free = run(ACPROP_PAPER, replace(GUARDED, clip=None), gs)
        _, bound = run(ACPROP_PAPER, GUARDED, gs)
        R = np.max(np.abs(free[500:]))
        first = max(500, ceil(R**4))
        assert first < 2900
        assert np.any(free != bound)
        by_hand += [*free[first - 1 :]]
        by_code += [*bound[first - 1 :]]
    return by_hand, by_code


@formula(
    "clip-reach",
    r"""R=\frac P{\sqrt{s_{kP}}}\ \text{(dense)},\qquad
    R=\max\Bigl(\frac P{2\sqrt{s^+}},\,\frac1{\sqrt{s^-}}\Bigr)\ \text{(sparse)}""",
)
def _():
    by_hand, by_code = [], []
    for P, b1, b2 in PLANE:
        s = settled((dense(P).cycle - settled(dense(P).cycle, b1)) ** 2, b2)
        by_hand.append(P / sqrt(s[0]))
        s = settled((sparse(P).cycle - settled(sparse(P).cycle, b1)) ** 2, b2)
        by_hand.append(max(P / 2 / sqrt(s[0]), 1 / sqrt(s[P - 3])))
        by_code += [
            np.exp(
                log_largest_step(
                    make(P), METHODS["acprop-paper"], PAPER, beta1=b1, beta2=b2, eps=0.0
                )
            )
            for make in (dense, sparse)
        ]
    return by_hand, by_code


@formula(
    "average-after-sum",
    r"\sum_{t=kP+1}^{kP+P}M_t=\sum_{t=kP+1}^{kP+P}d_t=D",
)
def _():
    """The last of many periods of a run with the average, and of one without."""
    by_hand, by_code = [], []
    for P, b1, b2 in PLANE:
        for make in (dense, sparse):
            gs = [make(P).cycle[t % P] for t in range(1, 100 * P + 1)]
            for ahead in (False, True):
                rules = ACPROP_PAPER, replace(ACPROP_AFTER, nesterov=ahead)
                sums = [np.sum(directions(r, gs, b1, b2)[-P:]) for r in rules]
                by_hand.append(sums[0])
                by_code.append(sums[1])
    return by_hand, by_code


def directions(rule, gs, beta1, beta2):
    h, state, ds = Settings(beta1, beta2, EPS), State(), []
    for g in gs:
        state, d = step(rule, PAPER, state, g, h)
        ds.append(d)
    return ds


@formula(
    "dense-v-large-period",
    r"v_{kP+1+j}=P+1+\frac c2-\frac{cj}P+O\Bigl(\frac1P\Bigr)",
)
def _():
    """Rounding at 1 - β2 = 3e-8 and the next order, 1e-8, are below the tolerance."""
    P, c = 10_000, 3
    seen = np.exp(closed.log_uncentered(dense(P), 1 - c / P**2))
    return P + 1 + c / 2 - c * np.arange(P) / P, np.roll(seen, -1)


@formula(
    "rmsprop-threshold",
    r"""\sqrt P\,D=1-\frac c4+O\Bigl(\frac1P\Bigr),\qquad\text{so}\qquad
    (1-\beta_2^*)\,P^2\to4""",
)
def _():
    P, by_hand, by_code = 10_000, [], []
    for c in (1, 4, 6):
        b2 = 1 - c / P**2
        share = drift(dense(P), METHODS["rmsprop"], PAPER, beta1=B1, beta2=b2, eps=0.0)
        path = np.abs(np.roll(dense(P).cycle, -1)) / np.sqrt(dense_v(P, b2))
        by_hand.append(1 - c / 4)
        by_code.append(sqrt(P) * share * np.sum(path))
    return by_hand, by_code


# 3. The page

# The text of those formulas that tests/lab evaluates.
ELSEWHERE = r"""
stochastic-moments:
\mathbb E\,g=\delta,\qquad \mathbb E\,g^2=P+\delta(P-1)

stochastic-drift:
\mathbb E[x_t-x_{t-1}\mid\text{past}]=-\frac{\alpha_t\,\delta}{\sqrt{s_{t-1}+
\epsilon}}

stochastic-saturation:
\mathbb E[x_t\mid\text{past}]=-1+2\,\frac{P-\delta}{P+1}

stochastic-second-moment:
s_t\le\beta_1^2\,(P+1)^2

stochastic-average:
\frac{\sum_t\alpha_t\,\mathbb E|x_{t-1}-x^*|}{\sum_t\alpha_t}\;\le\; \frac{\sqrt{
\beta_1^2(P+1)^2+\epsilon}}{4\,\delta\,\alpha_0(\sqrt{T+1}-1)}\Big(1+\frac{P+
\delta(P-1)}{\epsilon}\,\alpha_0^2(1+\ln T)\Big)

stochastic-decay:
\mathbb E\,e^{\lambda|x_t-x^*|/\alpha_t}\le1+(1-\kappa)\,\mathbb E\,e^{\lambda|x_{
t-1}-x^*|/\alpha_t},\qquad\lambda=\frac{\delta\sqrt\epsilon}{e\,(P+\delta(P-1))},
\qquad\kappa=\frac{\lambda\,\delta}{2D},\qquad D=\sqrt{\beta_1^2(P+1)^2+\epsilon}

stochastic-last-iterate:
\mathbb E|x_t-x^*|\;\le\;\frac1{\sqrt t}\,\max\Big(2\sqrt{3\tau},\ \frac{\alpha_0}{
\lambda}\ln\big(2+\tfrac2\kappa\big)\Big),\qquad \tau=\Big\lceil\Big(\frac{4D}{
\alpha_0\,\delta}\Big)^2\Big\rceil

walk:
x_{t+1}=x_t-\alpha_tA_t\,n_t,\qquad \alpha_t=\alpha_0t^{-\eta},\qquad A_t=\frac{1}{
\sqrt{s_{t-1}}+\epsilon},\qquad n_t\in\{g_t,m_t\}.

async-identity:
\mathbb E[A_tg_t\mid\mathcal F_t]=A_t\,\nabla f(x_t).

natural-constants:
C_l=\frac{1}{2\beta_1M_g+\epsilon}\ \text{(centered)},\qquad C_l=\frac{1}{M_g+
\epsilon}\ \text{(uncentered)},\qquad C_u=\frac1\epsilon .

alpha0-limit:
\alpha_0\le\frac{C_l}{LC_u^2}\quad\bigl(=\tfrac{\epsilon^2}{L(2\beta_1M_g+\epsilon)}
\ \text{for ACProp}\bigr),

bound-printed:
\frac1T\sum_{t=1}^T\|\nabla f(x_t)\|^2\le\frac2{C_l}\Bigl[(M_f-f^*)\,\alpha_0T^{
\eta-1}+\frac{LC_u^2\sigma^2\alpha_0}{2(1-\eta)}T^{-\eta}\Bigr].

bound-corrected:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac2{C_l}\Bigl[\frac{M_f-f^*}{
\alpha_0}T^{\eta-1}+\frac{LC_u^2\sigma^2\alpha_0}{2(1-\eta)}T^{-\eta}\Bigr].

descent:
\frac{\alpha_tC_l}2\|\nabla f(x_t)\|^2\le f(x_t)-\mathbb E[f(x_{t+1})\mid\mathcal
F_t]+\frac L2C_u^2\sigma^2\alpha_t^2 .

power-sum:
H_T(\eta)\le1+\int_1^Tu^{-\eta}\,du=1+\frac{T^{1-\eta}-1}{1-\eta}\le\frac{T^{1-
\eta}}{1-\eta}.

clip-bias:
\bigl|\mathbb E[u-\operatorname{clip}(u,\pm c)]\bigr|\le\mathbb E\,(|u|-c)_+\le
\frac{\mathbb E\,u^2}{4c}

clip-descent:
\frac{\alpha_tC_l}4\|\nabla f(x_t)\|^2\le f(x_t)-\mathbb E[f(x_{t+1})\mid\mathcal
F_t]+\frac L2C_u^2\sigma^2\alpha_t^2+\frac{\alpha_t}{C_l}\Bigl(\frac{C_u^2M_g^2}
{4c_t}\Bigr)^2 .

bound-clipped:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac4{C_l}\Bigl[\frac{M_f-f^*}{
\alpha_0}T^{\eta-1}+\frac{LC_u^2\sigma^2\alpha_0}{2(1-\eta)}T^{-\eta}+
\frac{C_u^4M_g^4}{8C_l}T^{-1/2}\Bigr].

bound-no-ceiling:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{2\,T^{\eta-1}}{C_l\,
\alpha_0}\Bigl[f(x_1)-f^*+\frac L2C_u^2\sigma^2\alpha_0^2H_T(2\eta)\Bigr].

bound-constant-rate:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac2{C_l\sqrt T}\Bigl[
\frac{f(x_1)-f^*}{\alpha_0}+\frac L2C_u^2\sigma^2\alpha_0\Bigr].

momentum-printed:
\frac1T\sum_{t=1}^T\|\nabla f(x_t)\|^2\le\frac{T^{\eta-1}}{\alpha_0C_l}
\Bigl[M_f-f^*+M_g^2\Bigl(\frac{b^2}{4L}+\frac{\alpha_0M_g}{1-\beta_1}+\bigl(b+
\tfrac12\bigr)\frac{L\alpha_0^2C_u^2}{1-2\eta}\Bigr)\Bigr].

momentum-corrected:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{T^{\eta-1}}{\alpha_0C_l}
\Bigl[M_f-f^*+M_g^2\Bigl(b\,d\,\alpha_0C_u+\bigl(b+\tfrac12\bigr)L
\alpha_0^2C_u^2H_T(2\eta)\Bigr)\Bigr].

momentum-lemma:
\langle a_t,g_t\rangle=\frac{\langle a_t,m_t\rangle-\langle a_{t-1},m_{t-1}
\rangle}{1-\beta_1}+\langle a_{t-1},m_{t-1}\rangle+b\,\langle a_{t-1}-a_t,m_{t-1}
\rangle ,

momentum-pathwise:
\sum_{t=1}^T\langle a_t,g_t\rangle\le f(x_1)-f(x_{T+1})+M_g^2\,b\,\|\alpha_1A_1\|_1+
\bigl(b+\tfrac12\bigr)L\sum_{t=1}^T\|x_{t+1}-x_t\|^2 .

momentum-sum:
H_T(2\eta)\le\zeta(2\eta)\le\frac{2\eta}{2\eta-1}\qquad(\eta>\tfrac12),

momentum-synchronous:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{T^{\eta-1}}{\alpha_0C_l}
\Bigl[M_f-f^*+M_g^2\Bigl(\frac{d\,\alpha_0C_u}{1-\beta_1}+\bigl(b+\tfrac12\bigr)L
\alpha_0^2C_u^2H_T(2\eta)\Bigr)\Bigr].

momentum-ceiling:
\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1{C_l}\Bigl[
\frac{M_f-f^*}{\alpha_0}T^{\eta-1}+\bigl(b+\tfrac12\bigr)
\frac{LC_u^2M_g^2\alpha_0}{1-\eta}T^{-\eta}+\frac{b\,d\,C_uM_g^2}T\Bigr]

centering-cap:
s_t=(1-\beta_2)\,\beta_1^2\,\frac{\beta_2^t-\beta_1^{2t}}{\beta_2-\beta_1^2}\,\mu^2
.

gaussian-moments:
\mathbb E\,v=\mu^2+\sigma^2,\qquad \mathbb E\,s=\frac{2\beta_1^2}{1+\beta_1}\,
\sigma^2

gaussian-factor:
\frac{\sqrt{\mathbb E\,v}}{\sqrt{\mathbb E\,s}}=\frac{1}{\beta_1\sigma}\sqrt{\frac{(
\mu^2+\sigma^2)(1+\beta_1)}{2}}

gaussian-equal-rate:
2L\Delta+2\sigma^2\ \text{(centered)},\qquad 2FL\Delta+\frac{2\sigma^2}F\
\text{(uncentered)}

gaussian-bound:
\min_{\alpha_0}\Big(\frac{2Dc_1}{\alpha_0}+\frac{c_2\,\alpha_0}{D}\Big)=2
\sqrt{2c_1c_2}

drifting-gradient:
\lim_{t\to\infty}s_t=\Big(\frac{\beta_1}{1-\beta_1}\,c\Big)^2

harmonic-expansion:
\sum_{k=1}^N k^{-\eta}=\zeta(\eta)+\frac{N^{1-\eta}}{1-\eta}+\frac12N^{-\eta}-\frac{
\eta}{12}N^{-\eta-1}+\frac{\eta(\eta+1)(\eta+2)}{720}N^{-\eta-3}-\dots

harmonic-relative:
\frac{\eta(1-\eta)}{12}\,N^{-2}

constant-gradient:
s_t=(1-\beta_2)\,g^2\sum_{i=1}^{t}\beta_2^{\,t-i}\beta_1^{2i}

absolute-longest-step:
x_0\,\big(1-\max(\sqrt{\beta_2},\beta_1)\big)

step-without-second-moment:
x_t-x_{t-1}=-\frac{\alpha}{\sqrt\epsilon}\,g_t

"""


def displayed(page):
    """The formulas of the page by name, without their spaces."""
    named = re.findall(
        r"<!-- formula: ([a-z0-9-]+) -->\n\$\$(.+?)\$\$", page, re.DOTALL
    )
    return [(name, squeezed(latex)) for name, latex in named]


def functions(path):
    """The names of the test functions of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def decided_elsewhere():
    """The formulas that tests/lab evaluates."""
    tree = ast.parse((ROOT / "tests/lab/claims/test_numerics.py").read_text("utf-8"))
    [table] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FORMULAS"
    ]
    mark = "test_formula_"
    bounds = functions(ROOT / "tests/lab/test_bounds.py")
    return {ast.literal_eval(key) for key in table.keys} | {
        name.removeprefix(mark).replace("_", "-")
        for name in bounds
        if name.startswith(mark)
    }


def test_every_displayed_formula_has_a_name_of_its_own():
    names = [name for name, _ in displayed(MATHS)]
    assert len(names) == len(set(names)) == len(re.findall(r"\$\$.+?\$\$", MATHS, re.S))


def test_every_formula_is_decided_by_a_test_and_only_by_one():
    names = {name for name, _ in displayed(MATHS)}
    assert names == FORMULAS.keys() | decided_elsewhere()
    assert not FORMULAS.keys() & decided_elsewhere()


def test_the_formulas_of_the_page_are_those_that_were_compared():
    pinned = {name: latex for name, (latex, _) in FORMULAS.items()} | dict(
        re.findall(r"^([a-z0-9-]+):\n(.+?)\n\n", ELSEWHERE, re.DOTALL | re.MULTILINE)
    )
    assert dict(displayed(MATHS)) == {k: squeezed(v) for k, v in pinned.items()}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_what_the_code_computes(name):
    by_hand, by_code = FORMULAS[name][1]()
    np.testing.assert_allclose(by_code, by_hand, **TOLERANCE.get(name, {"rtol": 1e-12}))


# 4. What the page says in words


@pytest.mark.parametrize(("eta", "arrives"), [(0.5, True), (0.0, False)])
def test_a_right_drift_converges_only_with_a_falling_learning_rate(eta, arrives):
    """Lemma 3.3 as the appendix repeats it, without α_t = α0/√t, would be false."""
    path = trajectory(
        dense(5), METHODS["acprop-paper"], beta1=B1, beta2=B2, alpha0=0.1, eta=eta,
        steps=20_000,
    ).x  # fmt: skip
    assert bool(np.max(np.abs(path[-1000:] + 1)) < 0.01) is arrives


@pytest.mark.parametrize(("P", "b1", "b2"), [*WIDE, (100, 0.999, 0.5)])
def test_s_rises_from_the_spike_and_then_falls(P, b1, b2):
    """The proof of Lemma 3.3: one rise and one fall, hence a minimum at the ends."""
    log_s = closed.log_centered(dense(P), b1, b2)
    rises = np.diff([*log_s, log_s[0]]) > 1e-14
    assert rises[0]
    assert not np.any(np.diff(rises.astype(int)) > 0)


def test_the_claims_the_page_cites_exist():
    cited = re.findall(r"`([a-z0-9.]+(?:-[a-z0-9.]+)+)`", MATHS)
    assert len(cited) > 4
    assert set(cited) <= CLAIMS.keys()


@pytest.mark.parametrize(
    ("column", "rooms"), [(2, ["reference.py", "rule.py", "lab"]), (3, ["optim"])]
)
def test_the_dictionary_holds_words_of_the_code(column, rooms):
    files = [f for room in rooms for f in [*(SRC / room).rglob("*.py"), SRC / room]]
    known = {w for f in files if f.is_file() for w in re.findall(r"\w+", f.read_text())}
    table = re.search(r"\| paper \|.*?\n\n", MATHS, re.DOTALL)[0]
    cells = [row.split("|")[column] for row in table.strip().splitlines()[2:]]
    words = {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
    assert len(words) > 10
    assert words <= known


# 5. The slips


class Slip(NamedTuple):
    """An entry of the errata, each part on one line."""

    place: str
    printed: str
    corrected: str
    decided_by: str

    @property
    def cited(self):
        return re.findall(r"`([^`]+)`", self.decided_by)


PARTS = ("Printed", "Corrected", "Decided by")
ENTRIES = re.findall(r"^- \*\*.*?(?=^- |^#|\Z)", ERRATA, re.MULTILINE | re.DOTALL)


def slip(entry):
    place, *parts = re.split(r"\n  - ", " ".join(entry.split("\n    ")).rstrip())
    named = [part.partition(": ") for part in parts]
    assert tuple(name for name, _, _ in named) == PARTS, entry
    return Slip(place, *(text for _, _, text in named))


SLIPS = [slip(entry) for entry in ENTRIES]


def test_the_errata_have_no_entry_that_is_not_read():
    assert len(SLIPS) == ERRATA.count("Decided by:") > 80


def test_an_entry_cites_what_decides_it_or_says_that_nothing_does():
    silent = [s.decided_by for s in SLIPS if not s.cited]
    assert set(silent) == {"nothing."}


def test_what_the_errata_cite_exists():
    names = {name for s in SLIPS for name in s.cited}
    tests = {name for name in names if name.startswith("tests/")}
    claims = names - tests
    assert claims <= CLAIMS.keys()
    parts = [re.fullmatch(r"(.+)::(\w+)(?:\[(.+)\])?", name).groups() for name in tests]
    assert [p for p in parts if p[1] not in functions(ROOT / p[0])] == []
    assert {case for _, _, case in parts} - {None} <= FORMULAS.keys()


VERDICTS = {v.claim: v for v in records.read(ROOT / "results/lab/verdicts.jsonl")}
FAILED = {
    name for name, v in VERDICTS.items() if (v.owner, v.verdict) == ("paper", "fails")
}


def test_every_claim_of_the_paper_that_fails_is_in_the_errata():
    assert VERDICTS.keys() == CLAIMS.keys()
    assert {name for s in SLIPS for name in s.cited} >= FAILED


def test_a_slip_is_editorial_if_and_only_if_the_claim_that_fails_is_of_wording():
    for s in SLIPS:
        for name in FAILED.intersection(s.cited):
            is_wording = VERDICTS[name].kind == "wording"
            assert s.corrected.startswith("*Editorial:*") is is_wording, s


def test_where_the_paper_is_called_right_a_claim_is_cited_that_holds():
    agreed = r"(It holds|It does|So they do|True)\b"
    right = [s.cited for s in SLIPS if re.match(agreed, s.corrected)]
    assert len(right) == 6
    for cited in right:
        verdicts = {VERDICTS[name].verdict for name in cited if name in VERDICTS}
        assert verdicts == {"holds"}


def test_what_the_opening_of_the_errata_calls_true_holds():
    """Both lemmas on stochastic gradients, the limits of m and v, and so on."""
    lemmas = ["lemma-3.1", "lemma-3.2", "lemma-3.3", "lemma-3.4", "momentum-lemma"]
    stochastic = ["stochastic-adam-fails", "stochastic-acprop-converges"]
    limits = ["dense-m", "sparse-m", "sparse-v"]
    rest = ["async-step-is-unbiased", "async-rate"]
    for name in lemmas + stochastic + limits + rest:
        assert VERDICTS[name].verdict == "holds"
