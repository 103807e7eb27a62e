"""How well the harmonic sum of Theorem 4.1's proof is expressed."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.harmonic import ETAS, SIZES, expression_error, naive_sums, sums

_HARMONIC = "Appendix B.2.1, validation of the harmonic sum"


@cache
def _harmonic() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Errors of the expression and the sums, as [η, N]."""
    errors = [[expression_error(eta, n) for n in SIZES] for eta in ETAS]
    return np.array(errors), np.array([sums(eta, SIZES) for eta in ETAS])


@claim("harmonic-error", "paper", "constant", _HARMONIC)
def _error_size() -> Finding:
    """the plot of the error has a y-axis with “a unit of 10^-7”"""
    # An axis in units of 1e-7 shows the largest errors as numbers of a few digits.
    errors, _ = _harmonic()
    largest = errors.max() / 1e-7
    return Finding.of(
        1 < largest < 100,
        f"in units of 1e-7 the error runs to {largest:.1f} at N = 10³ and falls to "
        f"{errors.min() / 1e-7:.0e} at N = 10⁷",
        {"smallest": errors.min(), "largest": errors.max()},
    )


@claim("harmonic-error-law", "ours", "constant", _HARMONIC)
@formula(
    r"\sum_{k=1}^N k^{-\eta}=\zeta(\eta)+\frac{N^{1-\eta}}{1-\eta}+\frac12N^{-\eta}-"
    r"\frac{\eta}{12}N^{-\eta-1}+\frac{\eta(\eta+1)(\eta+2)}{720}N^{-\eta-3}-\dots"
)
def _error_law() -> Finding:
    """The expression is too large by (η/12)·N^(-η-1); for large N a float64 loop errs
    more
    """
    errors, exact = _harmonic()
    law = [[eta / 12 * n ** (-eta - 1) for n in SIZES] for eta in ETAS]
    off = float(np.abs(np.array(law) / errors - 1).max())
    loop = abs(naive_sums(0.5, SIZES)[-1] - exact[0, -1])
    times = float(loop / errors[0, -1])
    return Finding.of(
        off < 1e-6 and errors.min() > 0 and times > 10,
        f"(η/12)·N^(-η-1) up to {off:.0e}, always too much; at η = ½, N = 10⁷ a "
        f"float64 loop errs {times:.0f} times as much as the expression",
        {"largest_relative_error": off, "loop_over_expression": times},
    )


@claim("harmonic-relative-error", "paper", "wording", _HARMONIC)
@formula(printed=r"10^{-10}")
def _relative() -> Finding:
    """“the sum is typically on the order of 10³, this implies that … the relative error
    is on the order of 10^-10”
    """
    # One sentence, two numbers: is at least half of the grid of their order?
    errors, exact = _harmonic()
    share = errors / exact
    near = float(np.mean((share > 10**-10.5) & (share < 10**-9.5)))
    large = float(np.mean(exact > 10**2.5))
    return Finding.of(
        near > 0.5 and large > 0.5,
        f"the sum runs from {exact.min():.1f} to {exact.max():.0f} with median "
        f"{np.median(exact):.0f}, {large:.0%} are of order 10³; the relative error "
        f"runs from {share.min():.0e} to {share.max():.1e}, {near:.0%} are of order "
        "1e-10; that the expression is very accurate stands",
        {
            "sum": [exact.min(), exact.max(), large],
            "relative error": [share.min(), share.max(), near],
        },
    )


@claim("harmonic-relative-error-corrected", "ours", "wording", _HARMONIC)
@formula(r"\frac{\eta(1-\eta)}{12}\,N^{-2}")
def _relative_law() -> Finding:
    """The sum is below N^(1-η)/(1-η), of order 10³ near η = ½ only; the relative error
    falls like N^-2 and is 2.1e-8 at η = ½, N = 10³
    """
    errors, exact = _harmonic()
    share = errors / exact
    law = np.array([[eta * (1 - eta) / 12 / n**2 for n in SIZES] for eta in ETAS])
    ratio = share[0] / law[0]
    above = float(SIZES[int(np.argmax(share.max(axis=0) < 1e-10))])
    integral = np.array([[n ** (1 - e) / (1 - e) for n in SIZES] for e in ETAS])
    below = bool((exact < integral).all())
    return Finding.of(
        below and np.abs(ratio - 1).max() < 0.03 and share[0, 0] > 2e-8,
        f"at η = ½ the relative error is η(1 - η)/12·N^-2 times {ratio.min():.3f} to "
        f"{ratio.max():.3f} and {share[0, 0]:.1e} at N = 10³; for all η it is below "
        f"1e-10 from N = {above:.0f} on; at N = 10⁷ the sum is {exact[0, -1]:.0f} for "
        f"η = ½ and {exact[-1, -1]:.1f} for η = 0.999",
        {"below_1e-10_from": above, "ratio": ratio.tolist()},
    )


@claim("harmonic-at-one-half", "paper", "constant", _HARMONIC)
def _at_one_half() -> Finding:
    """the expression “is accurate even when η = 0.5”"""
    errors, exact = _harmonic()
    worst = float((errors[0] / exact[0]).max())
    return Finding.of(
        worst < 1e-7,
        f"at η = ½ the relative error is at most {worst:.1e}, the worst of all η",
        {"largest": worst},
    )
