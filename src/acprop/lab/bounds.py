"""The convergence theorems of Appendix B: as printed, as they follow, and measured.

With avg = 1/T·Σ_{t ≤ T} E‖∇f(x_t)‖², C_l ≤ A_t ≤ C_u, H_T(p) = Σ_{t ≤ T} t^-p and
b = β1/(1 - β1); derived in docs/maths.md:

    Theorem 4.1   avg ≤ 2/C_l·[(M_f - f*)/α0·T^(η-1) + L·C_u²·σ²·α0/(2(1-η))·T^-η]
    momentum      avg ≤ T^(η-1)/(α0·C_l)·[M_f - f*
                            + M_g²·(b·d·α0·C_u + (b + ½)·L·α0²·C_u²·H_T(2η))]

The printed Theorem 4.1 has α0 where 1/α0 belongs. The printed momentum theorem sums
t^-2η to 1/(1 - 2η), which is negative, takes ‖A_1‖₁ for M_g, and keeps a term that
cancels. Neither says that its left side is an expectation.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from acprop import checks
from acprop.checks import UserError
from acprop.lab.curves import curves, horizons
from acprop.lab.descent import Walk, WalkSettings, walk
from acprop.lab.methods import Method, method
from acprop.lab.nonconvex import NonConvex, problem
from acprop.records import Curves
from acprop.rule import Rule

Theorem = Literal["4.1", "momentum"]


@dataclass(frozen=True, slots=True)
class Constants:
    """What a bound is made of besides α0, η, β1 and T. d: the dimension."""

    C_l: float
    C_u: float
    L: float
    M_f: float
    f_star: float
    M_g: float
    sigma: float
    d: int

    @property
    def alpha0_limit(self) -> float:
        """The theorems' condition on the learning rate: α0 ≤ C_l/(L·C_u²)."""
        return self.C_l / (self.L * self.C_u**2)


def natural_constants(
    p: NonConvex, optimizer: Method, *, eps: float = 1.0, beta1: float = 0.9
) -> Constants:
    """The bounds on A_t that hold whatever happens, for ε outside the root.

        centered     √s ≤ 2·β1·M_g    as g - m_t = β1·(g - m_{t-1}), both ≤ M_g
        uncentered   √v ≤ M_g
        on average   √s ≤ q·(M_g + ε)/(1 - q), q² = (1 + β1)/2
        C_l = 1/(√s_max + ε)    C_u = 1/ε    and C_l = C_u = 1 for SGD

    C_u is not loose: A_1 = 1/ε.
    """
    C_l = C_u = 1.0
    if isinstance(optimizer.rule, Rule):
        q = math.sqrt((1 + beta1) / 2)
        on_average = q * (p.M_g + eps) / (1 - q)
        reaches = {"m": 2 * beta1 * p.M_g, "average": on_average, None: p.M_g}
        reach = reaches[optimizer.rule.center]
        C_l, C_u = 1 / (reach + eps), 1 / eps
    return Constants(
        C_l, C_u, p.L, p.M_f, p.f_star, p.M_g, sigma=p.sigma, d=p.dimension
    )


def power_sum(T: int, p: float) -> float:
    """H_T(p) = Σ_{t=1..T} t^-p."""
    return float(np.sum(np.arange(1, T + 1, dtype=np.float64) ** -p))


def theorem_41_printed(c: Constants, h: WalkSettings) -> float:
    """2/C_l·[(M_f - f*)·α0·T^(η-1) + L·C_u²·σ²·α0/(2(1-η))·T^-η]."""
    rise = (c.M_f - c.f_star) * h.alpha0 * h.steps ** (h.eta - 1)
    return 2 / c.C_l * (rise + _noise(c, h))


def theorem_41_corrected(c: Constants, h: WalkSettings) -> float:
    """2/C_l·[(M_f - f*)/α0·T^(η-1) + L·C_u²·σ²·α0/(2(1-η))·T^-η]."""
    return 2 / c.C_l * (rise(c, h) + _noise(c, h))


def rise(c: Constants, h: WalkSettings) -> float:
    """(M_f - f*)/α0·T^(η-1)."""
    return (c.M_f - c.f_star) / h.alpha0 * h.steps ** (h.eta - 1)


def _noise(c: Constants, h: WalkSettings) -> float:
    fall = h.alpha0 / (2 * (1 - h.eta)) * h.steps**-h.eta
    return c.L * c.C_u**2 * c.sigma**2 * fall


def theorem_41_clipped(c: Constants, h: WalkSettings) -> float:
    """Theorem 4.1 for steps that are clipped to ±t^¼.

        4/C_l·[(M_f - f*)/α0·T^(η-1) + L·C_u²·σ²·α0/(2(1-η))·T^-η
               + C_u⁴·M_g⁴/(8·C_l)·T^-½]

    The clip's bias is at most C_u²·M_g²/(4·t^¼); a quarter of the descent pays for it.
    """
    bias = (c.C_u * c.M_g) ** 4 / (8 * c.C_l) * h.steps**-0.5
    return 4 / c.C_l * (rise(c, h) + _noise(c, h) + bias)


def theorem_41_without_ceiling(c: Constants, h: WalkSettings, f_1: float) -> float:
    """2/(C_l·α0)·T^(η-1)·[f(x_1) - f* + ½·L·C_u²·σ²·α0²·H_T(2η)]: it needs no M_f.

    At η = ½ it is the O(log T/√T) of the synchronous methods: it is the ceiling on f
    that takes the logarithm away, not the asynchrony.
    """
    noise = c.L * (c.C_u * c.sigma * h.alpha0) ** 2 * power_sum(h.steps, 2 * h.eta) / 2
    top = h.steps ** (h.eta - 1) * (f_1 - c.f_star + noise)
    return 2 / (c.C_l * h.alpha0) * top


def momentum_printed(c: Constants, h: WalkSettings) -> float:
    """E = b²/(4L) + α0·M_g/(1-β1) + (b + ½)·L·α0²·C_u²/(1-2η)."""
    squares = (h.b + 0.5) * c.L * (h.alpha0 * c.C_u) ** 2 / (1 - 2 * h.eta)
    E = h.b**2 / (4 * c.L) + h.alpha0 * c.M_g / (1 - h.beta1) + squares
    return _momentum(c, h, E)


def momentum_corrected(c: Constants, h: WalkSettings) -> float:
    """E = b·d·α0·C_u + (b + ½)·L·α0²·C_u²·H_T(2η)."""
    return _momentum(c, h, h.b * c.d * h.alpha0 * c.C_u + _squares(c, h))


def momentum_synchronous(c: Constants, h: WalkSettings) -> float:
    """For a denominator that knows g_t (Adam, AdaBelief, with AMSGrad).

    E = d·α0·C_u/(1-β1) + (b + ½)·L·α0²·C_u²·H_T(2η): the paper's own detour over
    A_{t-1} makes asynchrony unnecessary, at the price of d·α0·C_u.
    """
    return _momentum(c, h, (h.b + 1) * c.d * h.alpha0 * c.C_u + _squares(c, h))


def _squares(c: Constants, h: WalkSettings) -> float:
    squares = c.L * (h.alpha0 * c.C_u) ** 2 * power_sum(h.steps, 2 * h.eta)
    return (h.b + 0.5) * squares


def _momentum(c: Constants, h: WalkSettings, E: float) -> float:
    """T^(η-1)/(α0·C_l)·[M_f - f* + M_g²·E]."""
    front = h.steps ** (h.eta - 1) / (h.alpha0 * c.C_l)
    return front * (c.M_f - c.f_star + E * c.M_g**2)


def momentum_with_ceiling(c: Constants, h: WalkSettings) -> float:
    """The same runs, summed with f ≤ M_f as Theorem 4.1 is: O(1/√T) at η = ½.

    1/C_l·[(M_f - f*)/α0·T^(η-1) + (b + ½)·L·C_u²·M_g²·α0/(1-η)·T^-η + b·d·C_u·M_g²/T]
    """
    rest = h.b * c.d * c.C_u * c.M_g**2 / h.steps
    return (rise(c, h) + squares_with_ceiling(c, h, h.b) + rest) / c.C_l


def squares_with_ceiling(c: Constants, h: WalkSettings, age: float) -> float:
    """(age + ½)·L·C_u²·M_g²·α0/(1-η)·T^-η."""
    fall = h.alpha0 / (1 - h.eta) * h.steps**-h.eta
    return (age + 0.5) * c.L * (c.C_u * c.M_g) ** 2 * fall


@dataclass(frozen=True, slots=True)
class BoundReport:
    """One theorem, one problem, one setting: what it promises and what happened.

    alpha0_is_allowed: α0 ≤ C_l/(L·C_u²)? Only then does Theorem 4.1 promise anything;
        the corrected momentum bound does not need it.
    """

    problem: str
    theorem: Theorem
    optimizer: str
    settings: WalkSettings
    constants: Constants
    printed: float
    corrected: float
    measured: Walk
    alpha0_is_allowed: bool

    @property
    def printed_holds(self) -> bool:
        """Is the measured average below the printed right side?"""
        return self.measured.average <= self.printed

    @property
    def corrected_holds(self) -> bool:
        """Is the measured average below the corrected right side?"""
        return self.measured.average <= self.corrected

    def plain(self) -> dict[str, Any]:
        """The report as plain values, verdicts included."""
        names = "problem theorem optimizer printed corrected alpha0_is_allowed"
        seen = self.measured
        return {
            **{name: getattr(self, name) for name in names.split()},
            "printed_holds": self.printed_holds,
            "corrected_holds": self.corrected_holds,
            "settings": asdict(self.settings),
            "constants": asdict(self.constants),
            "measured": {
                "average": seen.average,
                "error": seen.error,
                "C_l": seen.A_min,
                "C_u": seen.A_max,
            },
        }


# What a theorem speaks about (the first is meant if nothing is given), and its η.
_SUBJECTS: dict[str, tuple[tuple[str, ...], str]] = {
    "4.1": (("acprop-paper", "adashift", "sgd"), "[0.5, 1)"),
    "momentum": (("acprop-before",), "(0.5, 1]"),
}


def bound(
    problem_name: str,
    theorem: Theorem,
    settings: WalkSettings,
    optimizer: str | None = None,
) -> BoundReport:
    """Compare a theorem with a run of what it speaks about.

    The momentum theorem's acprop-before keeps AMSGrad's maximum, as it demands.
    """
    p, eta, is_momentum = problem(problem_name), settings.eta, theorem == "momentum"
    checks.one_of("theorem", theorem, _SUBJECTS)
    allowed, etas = _SUBJECTS[theorem]
    if optimizer is not None and optimizer not in allowed:
        raise UserError(
            f"optimizer must be one of {', '.join(allowed)} for theorem {theorem}, "
            f"got {optimizer}; the theorem does not speak about others"
        )
    if not (0.5 <= eta <= 1 and eta != (0.5 if is_momentum else 1)):
        raise UserError(f"eta must be in {etas} for theorem {theorem}, got {eta}")
    chosen = method(optimizer or allowed[0])
    h = replace(settings, amsgrad=is_momentum)
    c = natural_constants(p, chosen, eps=h.eps, beta1=h.beta1)
    return BoundReport(
        p.name,
        theorem,
        chosen.name,
        h,
        c,
        *sides(theorem, c, h),
        walk(p, chosen, h),
        h.alpha0 <= c.alpha0_limit,
    )


def sides(theorem: Theorem, c: Constants, h: WalkSettings) -> tuple[float, float]:
    """The printed and the corrected right side at the horizon T = steps."""
    if theorem == "4.1":
        return theorem_41_printed(c, h), theorem_41_corrected(c, h)
    return momentum_printed(c, h), momentum_corrected(c, h)


def bound_curves(report: BoundReport) -> Curves:
    """The measured average against the printed and the corrected bound at every T."""
    h = report.settings
    T = horizons(1, h.steps, 60)
    run = walk(problem(report.problem), method(report.optimizer), h)
    right = [
        sides(report.theorem, report.constants, replace(h, steps=int(t))) for t in T
    ]
    printed, corrected = zip(*right, strict=True)
    panel = curves(
        "bound",
        f"{report.theorem}, {report.optimizer} on {report.problem}, "
        f"α0 = {h.alpha0:g}, η = {h.eta:g}, ε = {h.eps:g}",
        ("T", "mean squared gradient"),
        [
            ("measured", T, np.mean(run.averages, axis=1)[T - 1]),
            ("printed bound", T, printed),
            ("corrected bound", T, corrected),
        ],
        log="xy",
    )
    return replace(panel, y_scale="symlog") if min(printed) <= 0 else panel
