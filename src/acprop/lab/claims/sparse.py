"""Section 3.2 and appendix A.2: sparse gradients, centered against uncentered."""

import numpy as np

from acprop.lab.arrays import Array
from acprop.lab.boundaries import boundary
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.grids import (
    CELLS,
    SPARSE_PERIODS,
    WIDE_BETA,
    WIDE_BETA1,
    right,
    wrong_delays,
)
from acprop.lab.limits import log_centered, log_uncentered
from acprop.lab.methods import METHODS
from acprop.lab.problems import sparse
from acprop.rule import ADASHIFT


def log_ratios(P: int, beta1: Array, beta2: Array) -> tuple[Array, Array]:
    """log s⁺/s⁻ and log v⁺/v⁻: before the positive gradient, before the negative."""
    log_s = log_centered(sparse(P), beta1, beta2)
    log_v = log_uncentered(sparse(P), beta2)
    return log_s[0] - log_s[P - 3], log_v[0] - log_v[P - 3]


@claim("sparse-condition", "paper", "proof step", "Section 3.2")
@formula(r"D=\frac P{2\sqrt{s^+}}-\frac1{\sqrt{s^-}}>0\iff\frac{s^+}{s^-}<\frac{P^2}4")
def condition_is_the_drift() -> Finding:
    """the net update is right if and only if s⁺/s⁻ < P²/4"""
    wrong = 0
    for P, signs in zip(SPARSE_PERIODS, right("sparse", "acprop-paper"), strict=True):
        s, _ = log_ratios(P, WIDE_BETA1, WIDE_BETA)
        wrong += int(np.sum(signs != (s < 2 * np.log(P / 2))))
    return Finding.of(
        not wrong,
        f"sign of the drift and s⁺/s⁻ < P²/4 disagree in {wrong} of {CELLS} cells",
        {"disagreements": wrong},
    )


@claim("sparse-ratio", "paper", "proof step", "Appendix A.2")
@formula(
    printed=r"\frac{s^+}{s^-}\le\frac{v^+}{v^-}",
    holds=r"D=\frac P{2\sqrt{s^+}}-\frac1{\sqrt{s^-}}>0\iff\frac{s^+}{s^-}<\frac{P^2}4",
)
def ratio_is_smaller() -> Finding:
    """s⁺/s⁻ ≤ v⁺/v⁻ everywhere"""
    shares: dict[str, float] = {}
    for P in SPARSE_PERIODS:
        s, v = log_ratios(P, WIDE_BETA1, WIDE_BETA)
        shares[str(P)] = float(np.mean(np.asarray(s > v + 1e-9)))
    above = sum(shares.values()) / len(shares)
    return Finding.of(
        not above,
        f"s⁺/s⁻ exceeds v⁺/v⁻ in {above:.1%} of {CELLS} cells, "
        f"in {shares['4']:.0%} of those with P = 4",
        {"share by period": shares},
    )


@claim("sparse-constant", "paper", "proof step", "Section 3.2")
@formula(
    printed=r"\lim s^-\ne0",
    holds=r"\lim_{P\to\infty}\frac1P\log\frac{s^-}{P^2}=\log\max(\beta_2,\,\beta_1^2)",
)
def s_minus_vanishes() -> Finding:
    """between gradients s⁻ decays to a non-zero constant"""
    slopes: dict[str, float] = {}
    error = 0.0
    for beta1, beta2 in ((0.9, 0.5), (0.5, 0.9), (0.9, 0.9), (0.7, 0.3)):
        low, high = (
            float(log_centered(sparse(P), beta1, beta2)[P - 3]) - 2 * np.log(P)
            for P in (400, 800)
        )
        slope = (high - low) / 400
        slopes[f"β1 = {beta1}, β2 = {beta2}"] = slope
        error = max(error, abs(slope / np.log(max(beta2, beta1**2)) - 1))
    return Finding(
        "fails" if error < 0.05 else "undecided",
        "s⁻/P² decays by max(β2, β1²) for every step of the period, towards 0: "
        f"log slopes of P agree to {error:.1%}",
        slopes,
    )


@claim("adashift-large-delay-sparse", "paper", "central", "Section 3.2, Fig. 4")
def small_delays_fail() -> Finding:
    """Fig. 4 “requires a large n for convergence” of AdaShift on problem 2"""
    # “Requires a large n”: no small one will do, and some larger one does.
    wrong = wrong_delays("sparse", 20, ADASHIFT, 60)
    least = next(n for n in range(1, 62) if n not in wrong)
    return Finding.of(
        1 < least < 60,
        f"at P = 20, β1 = β2 = 0.5 AdaShift drifts wrongly for every n below {least}, "
        f"and rightly for n = {least}",
        {"wrong delays": wrong, "least right": least},
    )


@claim("adashift-delay-repeats", "ours", "central", "Section 3.2, Fig. 4")
def delays_repeat() -> Finding:
    """the delay acts modulo P, so a large n is not enough"""
    wrong = wrong_delays("sparse", 20, ADASHIFT, 60)
    repeats = {n % 20 for n in wrong if n > 20} == {n for n in wrong if n <= 20}
    return Finding.of(
        wrong and repeats,
        "at P = 20, β1 = β2 = 0.5 AdaShift drifts wrongly for n = "
        f"{', '.join(map(str, wrong))}",
        {"wrong delays": wrong},
    )


@claim("adashift-border", "ours", "constant", "Lemma 3.4")
@formula(
    r"\frac{v^+}{v^-}<\frac{P^2}4\iff\beta_2^{6-P}<\Bigl(\frac P2\Bigr)^4\iff P\le6\ "
    r"\text{ or }\ \beta_2>\Bigl(\frac2P\Bigr)^{4/(P-6)}"
)
def adashift_border() -> Finding:
    """AdaShift (n = 1) and RMSProp converge on problem 2 if and only if P ≤ 6 or β2 >
    (2/P)^(4/(P-6))
    """
    errors: list[float] = []
    periods = (4, 5, 6, 7, 8, 10, 20, 50, 100, 300)
    for name in ("adashift", "rmsprop"):
        found = boundary("sparse", METHODS[name], beta1=0.9, periods=periods, eps=0.0)
        for P, crossed in ((c.period, c.beta2) for c in found.crossings):
            if len(crossed) != (P > 6):
                return Finding("fails", f"{name} crosses {crossed} at P = {P}")
            errors += [abs(beta2 - (2 / P) ** (4 / (P - 6))) for beta2 in crossed]
    return Finding.of(
        max(errors) < 1e-10,
        f"{len(errors)} borders found by root finding differ from (2/P)^(4/(P-6)) by "
        f"at most {max(errors):.0e}, and there is none for P ≤ 6",
        {"largest difference": max(errors)},
    )
