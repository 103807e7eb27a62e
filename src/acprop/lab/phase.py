"""When asynchrony survives averaging first: the dense problem for large P.

Divide m_t by √s_{t-τ}. A large gradient P adds a jump to s, of which the share f_j has
arrived in what m_{1+j} is divided by, and m_{1+j} carries the share (1 - β1)·β1^j of P:

    f_j = 0 for j < τ,  else 1                                    uncentered
    f_j = 0 for j < τ,  else 1 - ½·(1 - β1)·β1^(2(j-τ))           centered on m
    φ   = Σ_j (1 - β1)·β1^j·f_j = β1^τ·(1 - ½·(1 - β1)/(1 + β1 + β1²))   (centered)

Derived in docs/maths.md: the drift is wrong for

    c*/P² < 1 - β2 < a*/P        c* = 4/(2φ - 1),  h(a*) = 0

and for no β2 near 1 if φ ≤ ½, which is β1 ≤ 0.5652 for the centered rule with τ = 1.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from acprop.checks import UserError
from acprop.lab.arrays import Array, Floats
from acprop.lab.curves import Points, curves
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS, Method
from acprop.lab.problems import dense
from acprop.records import Curves
from acprop.rule import ACPROP_BEFORE, ADABELIEF, ADAM, PAPER, Rule

_UNCENTERED = Rule(average="before", center=None, delay=1)
UNCENTERED = Method("uncentered", _UNCENTERED)


def mean_share(rule: Rule, beta1: float) -> float:
    """φ: the share of the jump in what the large gradient is divided by, on average."""
    if rule.average != "before" or rule.nesterov:
        raise UserError(
            f'rule must have average="before" and no look ahead, got {rule}; one that '
            "averages after dividing has φ = 0"
        )
    late = 0.5 * (1 - beta1) / (1 + beta1 + beta1**2) if rule.center == "m" else 0.0
    return beta1**rule.delay * (1 - late)


def threshold(rule: Rule, beta1: float) -> float:
    """c*: the limit of (1 - β2*)·P² at the border near β2 = 1; ∞ if there is none."""
    excess = 2 * mean_share(rule, beta1) - 1
    return 4 / excess if excess > 0 else math.inf


def critical_beta1(rule: Rule) -> float:
    """The largest β1 that is protected near β2 = 1: φ = ½; 0 if none is."""

    if rule.delay == 0:
        return 0.0
    return _root(lambda beta1: mean_share(rule, beta1) - 0.5, 0, 1, 1e-15)


def arrived(rule: Rule, beta1: float, j: Floats) -> Floats:
    """f_j."""
    late = 0.5 * (1 - beta1) if rule.center == "m" else 0.0
    share = 1 - late * beta1 ** (2 * np.maximum(j - rule.delay, 0.0))
    return np.where(j < rule.delay, 0.0, share)


def lead(rule: Rule, beta1: float, a: float) -> float:
    """h(a)·e^(-a/2): the sign of the drift for 1 - β2 = a/P and P → ∞.

    h(a) = Σ_j (1 - β1)·β1^j / √(e^-a + f_j·(1 - e^-a)) - (e^(a/2) - 1)/(a/2).
    """
    j = np.arange(math.ceil(-40 / math.log(beta1)) + 1, dtype=np.float64)
    f = arrived(rule, beta1, j)
    weights = (1 - beta1) * beta1**j
    # √(e^-a + f·(1 - e^-a)) over e^(-a/2), so that nothing overflows
    roots = np.sqrt(np.exp(-a) + f * -np.expm1(-a)) * math.exp(a / 2)
    return float(np.sum(weights / roots)) + math.expm1(-a / 2) / (a / 2)


def band_end(rule: Rule, beta1: float) -> float:
    """a*: the limit of (1 - β2)·P at the other border; 0 without a band.

    ∞ for synchronous rules: they are wrong all the way down.
    """
    if rule.delay == 0:
        return math.inf
    if mean_share(rule, beta1) <= 0.5:
        return 0.0
    high = 1.0
    while lead(rule, beta1, high) < 0:
        high *= 2
    return _root(lambda a: lead(rule, beta1, a), 1e-6, high, 1e-12)


def scaled_border(method: Method, beta1: float, P: int) -> float:
    """(1 - β2*)·P² of the exact border near β2 = 1; NaN if there is none."""

    def toward(log_c: Array) -> Array:
        return _drift(P, method, beta1, 1 - np.exp(log_c) / P**2)

    grid = np.linspace(0, math.log(0.99 * P**2), 200)
    wrong = toward(grid) < 0
    if not np.any(wrong):
        return math.nan
    k = int(np.argmax(wrong))
    return math.exp(_root(toward, grid[k - 1], grid[k], 1e-13))


def _drift(P: int, method: Method, beta1: Array, beta2: Array) -> Array:
    return drift(dense(P), method, PAPER, beta1=beta1, beta2=beta2, eps=0.0)


def _root(f: Callable[[float], Array], low: float, high: float, xtol: float) -> float:
    return float(optimize.brentq(f, low, high, xtol=xtol))  # pyright: ignore


def records() -> list[Curves]:
    """The border over β1: in the limit and for some P; and the plane of P = 100."""
    return [_scaled(), _plane(100)]


def _scaled() -> Curves:
    rules = {
        "ACProp (average before)": ACPROP_BEFORE,
        "the same, uncentered": _UNCENTERED,
        "AdaBelief": ADABELIEF,
        "Adam": ADAM,
    }
    lines, critical = list[Points](), critical_beta1(ACPROP_BEFORE)
    for label, rule in rules.items():
        beta1 = np.linspace(max(critical_beta1(rule), 0.02) + 0.002, 0.99, 100)
        lines.append((label, beta1, [threshold(rule, float(b)) for b in beta1]))
    for P in (30, 300):
        beta1 = np.linspace(0.57, 0.99, 40)
        y = np.array(
            [scaled_border(METHODS["acprop-before"], float(b), P) for b in beta1]
        )
        there = np.isfinite(y)
        lines.append((f"average before, P = {P}", beta1[there], y[there]))
    return curves(
        "phase",
        f"protected below β1 = {critical:.4f}",
        ("β1", "(1 - β2*)·P²"),
        lines,
        log="y",
        y_range=(3.0, 300.0),
        about={"problem": "dense", "critical_beta1": critical},
    )


def _plane(P: int) -> Curves:
    """Between the lines the drift is wrong."""
    beta1 = np.linspace(critical_beta1(ACPROP_BEFORE) + 0.002, 0.99, 80)
    gap = np.geomspace(1e-6, 0.99, 400)
    wrong = _drift(P, METHODS["acprop-before"], beta1[:, None], 1 - gap) < 0
    some = np.any(wrong, axis=1)
    first = np.argmax(wrong, axis=1)
    past = (np.arange(len(gap)) > first[:, None]) & ~wrong
    low, high = gap[first], gap[np.argmax(past, axis=1)]
    ends = some & np.any(past, axis=1)
    near = [threshold(ACPROP_BEFORE, float(b)) / P**2 for b in beta1]
    far = [band_end(ACPROP_BEFORE, float(b)) / P for b in beta1]
    return curves(
        "phase",
        f"averaging first is wrong between the lines, P = {P}",
        ("β1", "1 - β2"),
        [
            ("c*/P²", beta1, near),
            ("a*/P", beta1, far),
            ("exact, near β2 = 1", beta1[some], low[some]),
            ("exact, the other end", beta1[ends], high[ends]),
        ],
        log="y",
        about={"problem": "dense", "period": P, "optimizer": "acprop-before"},
    )
