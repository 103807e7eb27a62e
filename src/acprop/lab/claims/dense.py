"""Section 3.1 and appendix A.1: Reddi's problem, synchronous against asynchronous."""

import numpy as np

from acprop.lab.boundaries import boundary
from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.grids import (
    PERIODS,
    WIDE_BETA,
    WIDE_BETA1,
    WIDE_PERIODS,
    drifts,
    wrong_delays,
)
from acprop.lab.drift import drift
from acprop.lab.limits import log_centered
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense
from acprop.rule import ACPROP_PAPER, ADASHIFT, PAPER, Rule

SYNC = ("adam", "rmsprop", "adabelief")
ASYNC = ("acprop-paper", "adashift")


def every_beta2_has_a_period_that_breaks_it(*names: str) -> Finding:
    first: dict[str, int] = {}
    periods = [*range(3, 60), *np.geomspace(60, 3000, 60).astype(int).tolist()]
    for name in names:
        for beta2 in (0.5, 0.9, 0.99, 0.999, 0.9999):
            moves = (
                drift(dense(P), METHODS[name], PAPER, beta1=0.9, beta2=beta2)
                for P in periods
            )
            wrong = [P for P, d in zip(periods, moves, strict=True) if d < 0]
            if not wrong:
                return Finding("fails", f"{name} never drifts wrongly at β2 = {beta2}")
            first[f"{name}, β2 = {beta2}"] = wrong[0]
    return Finding(
        "holds",
        f"at β1 = 0.9, for each of 5 β2 up to 0.9999, some P ≤ {max(first.values())} "
        f"makes {' and '.join(names)} drift to the wrong end",
        {"first wrong period": first},
    )


@claim("lemma-3.1", "paper", "central", "Lemma 3.1")
def lemma_31() -> Finding:
    """for every β2 there is a P at which Adam and RMSProp fail on problem 1"""
    return every_beta2_has_a_period_that_breaks_it("adam", "rmsprop")


@claim(
    "lemma-3.1-adabelief",
    "paper",
    "central",
    "Lemma 3.1 and Fig. 1, which names AdaBelief among the sync-optimizers",
)
def lemma_31_adabelief() -> Finding:
    """for every β2 there is a P at which AdaBelief fails on problem 1"""
    return every_beta2_has_a_period_that_breaks_it("adabelief")


@claim("lemma-3.2", "paper", "central", "Lemma 3.2")
def rmsprop_has_a_threshold() -> Finding:
    """for every P there is a threshold of β2 above which RMSProp converges"""
    found = boundary(
        "dense", METHODS["rmsprop"], beta1=0.9, periods=PERIODS["dense"], eps=0.0
    ).crossings
    return Finding.of(
        all(len(c.beta2) == 1 and c.lowest == "diverges" for c in found),
        f"exactly one β2* for each P from 3 to 42, convergence above it: "
        f"{found[0].beta2[0]:.10f} at P = 3, "
        f"{found[-1].beta2[0]:.10f} at P = {found[-1].period}",
        {c.period: c.beta2 for c in found},
    )


@claim("lemma-3.2-adam", "paper", "central", "Section 3.1, after Lemma 3.2")
def adam_converges_for_large_beta2() -> Finding:
    """for each P there are β2 large enough, “beyond which Adam can converge”"""
    found = boundary(
        "dense", METHODS["adam"], beta1=0.9, periods=PERIODS["dense"][::3], eps=0.0
    ).crossings
    # Below the first crossing the drift is `lowest`, and every crossing turns it.
    right = [(c.lowest == "converges") == (len(c.beta2) % 2 == 0) for c in found]
    last = {c.period: max(c.beta2, default=0.0) for c in found}
    top = max(last)
    return Finding.of(
        all(right),
        f"at β1 = 0.9, for {sum(right)} of {len(right)} P from 3 to {top}, Adam drifts "
        f"rightly for every β2 above a threshold, {last[3]:.4f} at P = 3 and "
        f"{last[top]:.4f} at P = {top}",
        last,
    )


@claim("lemma-3.3", "paper", "central", "Lemma 3.3, in the limit")
@formula(
    r"D=\frac P{\sqrt{s_{kP}}}-\sum_{j=1}^{P-1}\frac1{\sqrt{s_{kP+j}}}\ \ge\ "
    r"\frac{P-(P-1)}{\sqrt{s_{kP}}}>0"
)
def async_drifts_right() -> Finding:
    """ACProp and AdaShift (n = 1) converge on problem 1 for all β1, β2, P"""
    found = {
        name: drifts("dense", name, WIDE_PERIODS, WIDE_BETA1, WIDE_BETA)
        for name in ASYNC
    }
    low = {name: float(np.min(d)) for name, d in found.items()}
    return Finding.of(
        min(low.values()) > 0,
        f"the exact drift is positive in all {sum(d.size for d in found.values())} "
        f"cells (P to 1000, β1 from 0.001 to 0.999, β2 to 0.99999), smallest "
        f"{min(low.values()):.1e}",
        low,
    )


@claim("lemma-3.3-minimum", "paper", "proof step", "Appendix A.1")
def s_is_smallest_before_the_spike() -> Finding:
    """s is smallest just before the large gradient"""
    logs = [log_centered(dense(P), WIDE_BETA1, WIDE_BETA) for P in WIDE_PERIODS]
    worst = max(float(np.max(log_s[0] - np.min(log_s, axis=0))) for log_s in logs)
    # Where s hardly changes within a period, rounding decides which is smallest.
    return Finding.of(
        worst < 1e-11,
        f"log s_kP exceeds the smallest log s of its period by at most {worst:.0e} "
        f"over {len(WIDE_PERIODS) * WIDE_BETA1.size * len(WIDE_BETA)} cells",
        {"largest excess": worst},
    )


def a_long_delay_breaks_it(name: str, rule: Rule) -> Finding:
    wrong = wrong_delays("dense", 10, rule, 30)
    return Finding.of(
        wrong and 1 not in wrong,
        f"at P = 10, β1 = β2 = 0.5 {name} drifts rightly for n = 1 and wrongly for "
        f"n = {', '.join(map(str, wrong))}",
        {"wrong delays": wrong},
    )


@claim("adashift-long-delay", "paper", "central", "Section 3.1, Fig. 2")
def adashift_long_delay() -> Finding:
    """a larger delay n can make AdaShift diverge on problem 1"""
    return a_long_delay_breaks_it("AdaShift", ADASHIFT)


@claim("acprop-long-delay", "ours", "central", "Section 2.2, ACProp")
def acprop_long_delay() -> Finding:
    """“It's also possible to use a delay step larger than 1”: then ACProp loses Lemma
    3.3 too
    """
    return a_long_delay_breaks_it("ACProp", ACPROP_PAPER)


@claim("async-for-any-setting", "paper", "wording", "Section 1, contributions")
@formula(r"n=1")
def async_for_any_setting() -> Finding:
    """“asynchronous optimizers (AdaShift, ACProp) converge for any valid
    hyper-parameters” on problem 1
    """
    # The delay n is one of AdaShift's hyper-parameters.
    wrong = wrong_delays("dense", 10, ADASHIFT, 30)
    return Finding.of(
        not wrong,
        f"at P = 10, β1 = β2 = 0.5 AdaShift drifts to the wrong end for "
        f"{len(wrong)} of the delays from 1 to 30, n = 10 among them, as the caption "
        "of Fig. 1 says itself; for n = 1 and for ACProp see lemma-3.3",
        {"wrong delays": wrong},
    )


@claim("amsgrad-converges", "paper", "central", "Section 3.1, remark")
def amsgrad_always_converges() -> Finding:
    """AMSGrad always converges on problem 1"""
    found = drifts("dense", "amsgrad", WIDE_PERIODS, WIDE_BETA1, WIDE_BETA)
    return Finding.of(
        np.min(found) > 0,
        f"once the maximum stands still the drift is that of Σm = Σg = 1 > 0: "
        f"positive in all {found.size} cells",
        {"lowest drift": float(np.min(found))},
    )


@claim("rmsprop-threshold-scaling", "ours", "constant", "Lemma 3.2")
@formula(
    r"\sqrt P\,D=1-\frac c4+O\Bigl(\frac1P\Bigr),\qquad\text{so}\qquad(1-\beta_2^*)"
    r"\,P^2\to4"
)
def threshold_at_large_periods() -> Finding:
    """RMSProp's threshold on problem 1 tends to 1 - 4/P²"""
    crossings = boundary(
        "dense", METHODS["rmsprop"], beta1=0.9, periods=(100, 1000, 10_000), eps=0.0
    ).crossings
    scaled = {c.period: (1 - c.beta2[-1]) * c.period**2 for c in crossings}
    return Finding.of(
        abs(scaled[10_000] - 4) < 0.01,
        f"(1 - β2*)·P² is {', '.join(f'{value:.4f}' for value in scaled.values())} "
        "at P = 10², 10³, 10⁴",
        scaled,
    )
