"""The momentum theorem of Appendix B as printed, as it follows, and its worth."""

import math
from typing import Any

from acprop.lab.bounds import (
    bound,
    momentum_corrected,
    momentum_synchronous,
    momentum_with_ceiling,
    natural_constants,
)
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.momentum_steps import (
    ETAS,
    MEMBER,
    PROOF,
    norm_step,
    sum_step,
    young_step,
)
from acprop.lab.claims.theorem41 import shares
from acprop.lab.descent import WalkSettings
from acprop.lab.methods import method
from acprop.lab.nonconvex import PROBLEMS, problem

PLACE = "Appendix B, momentum theorem"

KEPT: dict[str, Any] = {"beta2": 0.99, "amsgrad": True, "seeds": 8}


@claim("momentum-theorem-as-printed", "paper", "constant", PLACE)
@formula(
    printed=r"\frac1T\sum_{t=1}^T\|\nabla f(x_t)\|^2\le\frac{T^{\eta-1}}{\alpha_0C_l}"
    r"\Bigl[M_f-f^*+M_g^2\Bigl(\frac{b^2}{4L}+\frac{\alpha_0M_g}{1-\beta_1}+\bigl(b+"
    r"\tfrac12\bigr)\frac{L\alpha_0^2C_u^2}{1-2\eta}\Bigr)\Bigr]"
)
def as_printed() -> Finding:
    """The average squared gradient is at most T^(η-1)/(α0·C_l)·[M_f - f* + E·M_g²], E =
    β1²/(4L(1-β1)²) + α0·M_g/(1-β1) + (β1/(1-β1) + ½)·L·α0²·C_u²/(1-2η).

    Close to η = ½ the printed right side is negative; the left never is.

    The three steps by which its three terms of E come about are looked at too.
    """
    r = bound("cosine-noisy", "momentum", WalkSettings(0.25, 0.501, steps=100))
    steps = {
        "Σ t^-2η ≤ T^(1-2η)/(1-2η)": sum_step(),
        "M_g for a bound on A": norm_step(),
        "Young's inequality at T": young_step(),
    }
    broken = [name for name, (left, right) in steps.items() if left > right]
    return Finding.of(
        r.printed_holds and not broken,
        f"1 - cos x with noise ±½, ε = 1, β1 = 0.9, α0 = 0.25 (allowed up to "
        f"{r.constants.alpha0_limit:.3f}), η = 0.501, T = 100: the average is "
        f"{r.measured.average:.4f}, the printed right side {r.printed:.1f}, the "
        f"corrected one {r.corrected:.1f}; steps that do not hold: "
        f"{', '.join(broken) or 'none'}",
        {
            "measured": r.measured.average,
            "printed": r.printed,
            "corrected": r.corrected,
            **steps,
        },
    )


@claim("momentum-theorem-corrected", "ours", "central", PLACE)
@formula(
    r"\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{T^{\eta-1}}{\alpha_0C_l}"
    r"\Bigl[M_f-f^*+M_g^2\Bigl(b\,d\,\alpha_0C_u+\bigl(b+\tfrac12\bigr)L"
    r"\alpha_0^2C_u^2H_T(2\eta)\Bigr)\Bigr]"
)
def corrected() -> Finding:
    """It is in expectation, for every α0 and with H_T(2η) = Σ t^-2η, for E =
    β1/(1-β1)·d·α0·C_u + (β1/(1-β1) + ½)·L·α0²·C_u²·H_T(2η).
    """
    member = method(MEMBER)
    found = shares(
        momentum_corrected,
        (
            (p, member, WalkSettings(alpha0, eta, 100, beta1=beta1, **KEPT))
            for p in PROBLEMS.values()
            for eta in ETAS
            for beta1 in (0.0, 0.3, 0.9)
            for alpha0 in (natural_constants(p, member, beta1=beta1).alpha0_limit, 5.0)
        ),
    )
    return Finding.of(
        max(found) <= 1,
        f"in {len(found)} settings (mean of 8 seeds plus three standard errors) the "
        f"average is at most {max(found):.2f} of the corrected right side, also where "
        f"α0 is above C_l/(L·C_u²): the proof never asks for that",
        {"settings": len(found), "worst_share": max(found)},
    )


@claim("momentum-theorem-needs-no-asynchrony", "ours", "proof step", PROOF)
def needs_no_asynchrony() -> Finding:
    """By its detour over A_{t-1} the proof covers synchronous methods with AMSGrad's
    maximum too, with d·α0·C_u more in E.
    """
    found = shares(
        momentum_synchronous,
        (
            (
                p,
                m,
                WalkSettings(
                    natural_constants(p, m).alpha0_limit,
                    eta,
                    100,
                    amsgrad=True,
                    seeds=8,
                ),
            )
            for p in PROBLEMS.values()
            for m in map(method, ("adam", "adabelief"))
            for eta in ETAS
        ),
    )
    return Finding.of(
        max(found) <= 1,
        f"in {len(found)} settings Adam and AdaBelief, both with AMSGrad's maximum, "
        f"stay within {max(found):.2f} of a bound of the same order in T",
        {"settings": len(found), "worst_share": max(found)},
    )


@claim("momentum-theorem-is-slower-than-root-t", "ours", "central", PLACE)
def slower_than_root() -> Finding:
    """What the momentum theorem's own sum gives is never O(1/√T): T^(η-1) with η > ½,
    log T/√T at η = ½, and nothing at η = 1.
    """
    c = natural_constants(problem("cosine-noisy"), method(MEMBER))

    def slope(eta: float) -> float:
        a, b = (
            momentum_corrected(c, WalkSettings(0.1, eta, T)) for T in (10**4, 10**5)
        )
        return math.log10(b / a)

    found = {eta: slope(eta) for eta in (0.5, *ETAS)}
    slow = all(value > -0.5 for value in found.values())
    listed = ", ".join(f"{value:.3f} at η = {eta}" for eta, value in found.items())
    return Finding.of(
        slow and found[1.0] > -1e-3,
        f"between T = 10⁴ and 10⁵ the corrected bound has the log-log slope {listed}",
        {str(eta): value for eta, value in found.items()},
    )


@claim("momentum-root-t", "ours", "central", PLACE)
@formula(
    r"\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1{C_l}\Bigl["
    r"\frac{M_f-f^*}{\alpha_0}T^{\eta-1}+\bigl(b+\tfrac12\bigr)\frac{LC_u^2M_g^2"
    r"\alpha_0}{1-\eta}T^{-\eta}+\frac{b\,d\,C_uM_g^2}T\Bigr]"
)
def at_root_rate() -> Finding:
    """With a_t = A_t·∇f(x_t), without α_t, and with f ≤ M_f the same runs have O(1/√T)
    at η = ½: 1/C_l·[(M_f - f*)/α0·T^(η-1) + (b + ½)·L·C_u²·M_g²·α0/(1-η)·T^-η +
    b·d·C_u·M_g²/T], b = β1/(1-β1).
    """
    member = method(MEMBER)
    found = shares(
        momentum_with_ceiling,
        (
            (p, member, WalkSettings(alpha0, 0.5, T, beta1=beta1, **KEPT))
            for p in PROBLEMS.values()
            for beta1 in (0.0, 0.9)
            for alpha0 in (natural_constants(p, member, beta1=beta1).alpha0_limit, 5.0)
            for T in (1, 20, 300)
        ),
    )
    c = natural_constants(problem("cosine-noisy"), member)
    scaled = [
        momentum_with_ceiling(c, WalkSettings(0.1, steps=T)) * T**0.5
        for T in (10**8, 10**12)
    ]
    flat = abs(scaled[1] / scaled[0] - 1)
    return Finding.of(
        max(found) <= 1 and flat < 1e-2,
        f"in {len(found)} settings with AMSGrad's maximum, η = ½, T up to 300 (mean "
        f"of 8 seeds plus three standard errors) the average is at most "
        f"{max(found):.2f} of the right side; √T times that changes by {flat:.0e} "
        "between T = 10⁸ and 10¹²",
        {"settings": len(found), "worst_share": max(found), "change": flat},
    )
