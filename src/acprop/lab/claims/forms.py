"""Appendices A.1 and A.2: the closed forms, as printed and as derived.

They are compared with the recursion itself, run in as many digits as the smallest
residual needs.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
from collections.abc import Iterator, Sequence
from typing import Any

import mpmath
import numpy as np

from acprop.lab import printed
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.limits import limits
from acprop.lab.problems import PERIODIC, Problem, dense, periodic

Number = Any  # an mpmath number
SETTINGS = tuple(
    (P, beta1, beta2)
    for P in (4, 5, 7, 10, 40)
    for beta1 in (0.05, 0.3, 0.5, 0.9, 0.99)
    for beta2 in (0.01, 0.25, 0.5, 0.81, 0.9, 0.999)
)
ROUNDING = 1e-12


def digits(P: int, beta1: float, beta2: float) -> int:
    """Enough for what is left of a gradient after a period, β^(2P), to have 30."""
    return 30 + int(2 * P * abs(np.log10(min(beta1, beta2))))


def recursion(problem: Problem, beta1: float, beta2: float) -> dict[str, list[Number]]:
    """m, v, s by phase once they repeat: one period from zero, over 1 - β^P.

    A state whose recursion is affine with decay β per step repeats from the value that
    one period adds to zero, divided by what the period takes away.
    """
    P = problem.period
    with mpmath.workdps(digits(P, beta1, beta2)):
        b1, b2, zero = mpmath.mpf(beta1), mpmath.mpf(beta2), mpmath.mpf(0)
        g = [mpmath.mpf(float(value)) for value in problem.cycle]

        def period(m: Number, v: Number, s: Number) -> Iterator[tuple[Number, ...]]:
            for t in range(1, P + 1):
                m = b1 * m + (1 - b1) * g[t % P]
                v = b2 * v + (1 - b2) * g[t % P] ** 2
                s = b2 * s + (1 - b2) * (g[t % P] - m) ** 2
                yield m, v, s

        *_, (m, v, _) = period(zero, zero, zero)
        m, v = m / (1 - b1**P), v / (1 - b2**P)
        *_, (_, _, s) = period(m, v, zero)
        found = list(period(m, v, s / (1 - b2**P)))
        by_phase = zip(found[-1], *found[:-1], strict=True)  # phase 0 is step P
        return {k: list(values) for k, values in zip("mvs", by_phase, strict=True)}


def worst_error(problem: Problem, beta1: float, beta2: float) -> float:
    """The largest relative error of `limits`, over the phases and m, v, s.

    m is compared with the largest m of its period: it passes through zero.
    """
    truth, ours = recursion(problem, beta1, beta2), limits(problem, beta1, beta2)
    worst = 0.0
    with mpmath.workdps(30):
        scale = max(abs(m) for m in truth["m"])
        for t in range(problem.period):
            in_m = float(abs(truth["m"][t] - float(ours.m[t])) / scale)
            in_v = off_by(mpmath.exp(float(ours.log_v[t])), truth["v"][t])
            in_s = off_by(mpmath.exp(float(ours.log_s[t])), truth["s"][t])
            worst = max(worst, in_m, in_v, in_s)
    return worst


@claim("dense-m-finite", "paper", "wording", "Appendix A.1")
@formula(
    printed=r"m_{kP}=-(1-\beta_1^{kP})+(1-\beta_1)(P+1)\,\beta_1^{P-1}\,\frac{1-"
    r"\beta_1^{(k-1)P}}{1-\beta_1^P}",
    holds=r"m_{kP}=-(1-\beta_1^{kP})+(1-\beta_1)(P+1)\,\beta_1^{P-1}\,\frac{1-"
    r"\beta_1^{kP}}{1-\beta_1^P}",
)
def dense_mean_for_finite_k() -> Finding:
    """m_kP after k periods on problem 1 has the factor 1 - β1^((k-1)P)"""
    worst = mended = 0.0
    for P, beta1, _ in SETTINGS:
        m = 0.0
        for t in range(1, 3 * P + 1):
            m = beta1 * m + (1 - beta1) * float(dense(P).cycle[t % P])
        worst = max(worst, off_by(printed.dense_mean_after(3, P, beta1), m))
        spikes = (1 - beta1 ** (3 * P)) / (1 - beta1**P)
        right = (1 - beta1) * (P + 1) * beta1 ** (P - 1) * spikes - 1 + beta1 ** (3 * P)
        mended = max(mended, off_by(right, m))
    return Finding.of(
        not (worst > 1e-6),
        f"after 3 periods m_kP is off by up to {worst:.2g} ×; with β1^(kP) for "
        f"β1^((k-1)P) it agrees to {mended:.0e}",
        {"printed": worst, "corrected": mended},
    )


def off_by(value: Number, truth: Number) -> float:
    return float(abs(value / truth - 1))


def compare(
    problem: str,
    letter: str,
    *,
    factor: int = 0,
    settings: Sequence[tuple[int, float, float]] = SETTINGS,
) -> dict[str, float]:
    """By phase: the relative error of a printed form where it is largest.

    factor: 1 takes the residual against m_{t-1}, which makes s larger by β1^-2.
    """
    worst: dict[str, float] = {}
    for P, beta1, beta2 in settings:
        if P < 5 or beta1**2 == beta2:
            continue
        exact = recursion(periodic(problem, P), beta1, beta2)[letter]
        with mpmath.workdps(digits(P, beta1, beta2)):
            b1, b2 = mpmath.mpf(beta1), mpmath.mpf(beta2)
            for at, value in printed.forms(problem, P, b1, b2)[letter].items():
                name = f"kP{at:+d}" if at else "kP"
                error = float(value * b1 ** (2 * factor) / exact[at % P] - 1)
                worst[name] = max(worst.get(name, 0.0), error, key=abs)
    return worst


def wrong(errors: dict[str, float]) -> list[str]:
    return [at for at, error in errors.items() if abs(error) > ROUNDING]


def printed_form(problem: str, letter: str) -> Finding:
    errors = compare(problem, letter)
    bad = wrong(errors)
    worst = max(map(abs, errors.values()))
    at = ", ".join(bad or errors)
    return Finding.of(
        not bad,
        f"off by up to {worst:.2g} × at {at}"
        if bad
        else f"agrees to {worst:.0e} at {at}",
        errors,
    )


@claim("dense-m", "paper", "constant", "Appendix A.1")
@formula(r"m_{kP+1+j}=-1+K(1-\beta_1)\,\beta_1^j,\qquad K=\frac{P+1}{1-\beta_1^P}")
def dense_m() -> Finding:
    """the limit of m on problem 1"""
    return printed_form("dense", "m")


@claim("sparse-m", "paper", "constant", "Appendix A.2")
@formula(
    r"m_+=m_{kP+1}=\frac{1-\beta_1}{1-\beta_1^P}\Bigl(\frac P2-\beta_1^3\Bigr),"
    r"\qquad m_-=m_{kP-2}=\frac{1-\beta_1}{1-\beta_1^P}\Bigl(\frac P2\,\beta_1^{P-3}"
    r"-1\Bigr)"
)
def sparse_m() -> Finding:
    """the limit of m on problem 2"""
    return printed_form("sparse", "m")


@claim("sparse-v", "paper", "constant", "Appendix A.2")
@formula(
    r"v^+=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[\frac{P^2}4\beta_2^{P-1}+\beta_2^2\Bigr],"
    r"\qquad v^-=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[\frac{P^2}4\beta_2^{P-4}+"
    r"\beta_2^{P-1}\Bigr]"
)
def sparse_v() -> Finding:
    """the limit of v on problem 2"""
    return printed_form("sparse", "v")


@claim("sparse-s", "paper", "constant", "Appendix A.2")
@formula(
    printed=r"\lim_{k\to\infty}s_{kP}=\lim_{k\to\infty}\frac{1-\beta_2}{1-\beta_2^P}"
    r"\Bigl[\beta_2^{P-4}\bigl(\tfrac P2-m_{kP}\bigr)^2+\beta_2^3\,\frac{\beta_2^{P-5}"
    r"-\beta_1^{2(P-4)}\beta_2}{1-\beta_1^2\beta_2}+\beta_2^2(m_{kP+P-3}+1)^2+"
    r"\beta_2m_{kP+P-2}^2+m_{kP+P-1}^2\Bigr]",
    holds=r"s^+=\frac{1-\beta_2}{1-\beta_2^P}\Bigl[\beta_2^{P-1}\bigl(\tfrac P2-m_+"
    r"\bigr)^2+\beta_2^3\beta_1^2m_+^2\,G_{P-4}+\beta_2^2(1+m_-)^2+(\beta_2\beta_1^2+"
    r"\beta_1^4)\,m_-^2\Bigr]",
)
def sparse_s_as_printed() -> Finding:
    """the limit of s on problem 2"""
    errors = compare("sparse", "s")
    usual = compare("sparse", "s", settings=[(10, 0.9, 0.999)])
    ratio = 1 + max(usual.values(), key=abs)
    return Finding.of(
        not wrong(errors),
        f"at P = 10 and betas (0.9, 0.999) the printed s is {ratio:.2f} × the true "
        f"one; it is wrong at {len(wrong(errors))} of the {len(errors)} phases printed",
        {"P = 10, betas (0.9, 0.999)": ratio, **errors},
    )


@claim("dense-s", "paper", "wording", "Appendix A.1")
@formula(
    printed=r"S_{kP+3}=\beta_2^3S_{kP}+(1-\beta_2)\,\beta_2^2\,(P-m_{kP})^2+(1-\beta_2)"
    r"\,\beta_2\,\bigl[\beta_1(P-m_{kP})-(P+1)\bigr]^2(\beta_2+\beta_1^2)",
    holds=r"s_{kP+3}=\beta_2^3s_{kP}+(1-\beta_2)\,\beta_1^2\,\Bigl(\beta_2^2"
    r"\,(P-m_{kP})^2+\bigl[\beta_1(P-m_{kP})-(P+1)\bigr]^2(\beta_2+\beta_1^2)\Bigr)",
)
def dense_s_as_printed() -> Finding:
    """the printed limits of S on problem 1 are those of Algorithm 2, or, with the
    appendix's residual g_t - m_{t-1}, larger by 1/β1²
    """
    # Two residuals: Algorithm 2's, and that of the appendix, which changes no sign.
    current, previous = compare("dense", "s"), compare("dense", "s", factor=1)
    bad = wrong(previous)
    worst = max(map(abs, previous.values()))
    return Finding.of(
        not bad,
        f"{len(current) - len(wrong(current))} of {len(current)} printed S are "
        f"Algorithm 2's; of those of the residual g_t - m_{{t-1}} all but "
        f"{', '.join(bad)} are right, which are off by up to {worst:.2g} ×; the limit "
        "at kP, which the proof uses, is right",
        {"g_t - m_t": current, "g_t - m_{t-1}": previous},
    )


@claim("closed-forms", "ours", "constant", "Appendices A.1, A.2")
def derived_forms_are_exact() -> Finding:
    """our closed forms of m, v, s hold at every phase of both problems"""
    close = [  # β1² = β2, and next to it
        (12, beta1, beta1**2 * (1 + gap))
        for beta1 in (0.3, 0.5, 0.9, 0.99)
        for gap in (0, 1e-12, -1e-7)
    ]
    settings = [*SETTINGS, (300, 0.9, 0.5), (300, 0.5, 0.99), *close]
    n = len(PERIODIC) * sum(3 * P for P, _, _ in settings)
    worst = max(
        worst_error(periodic(name, P), beta1, beta2)
        for name in PERIODIC
        for P, beta1, beta2 in settings
    )
    return Finding.of(
        worst < ROUNDING,
        f"{n} values of m, v, s at every phase agree with the recursion in extended "
        f"precision to {worst:.0e}, β1² = β2 included",
        {"largest relative error": worst, "values": n},
    )
