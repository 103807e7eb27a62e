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

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from acprop.checks import UserError
from acprop.lab.arrays import Floats
from acprop.lab.drift import drift
from acprop.lab.lines import line
from acprop.lab.methods import METHODS, Method
from acprop.lab.problems import dense
from acprop.records import Curves, Line, Record
from acprop.rule import ACPROP_BEFORE, PAPER, Rule

UNCENTERED = Method("uncentered", Rule(average="before", center=None, delay=1))


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

    def excess(beta1: float) -> float:
        return mean_share(rule, beta1) - 0.5

    if excess(1e-12) >= -1e-12:  # synchronous
        return 0.0
    return float(optimize.brentq(excess, 0, 1, xtol=1e-15))  # pyright: ignore


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
    low, high = 1e-6, 1.0
    while lead(rule, beta1, high) < 0:
        high *= 2

    def at(a: float) -> float:
        return lead(rule, beta1, a)

    return float(optimize.brentq(at, low, high, xtol=1e-12))  # pyright: ignore


def scaled_border(method: Method, beta1: float, P: int) -> float:
    """(1 - β2*)·P² of the exact border near β2 = 1; NaN if there is none."""

    def toward(log_c: float) -> float:
        beta2 = 1 - math.exp(log_c) / P**2
        return float(drift(dense(P), method, PAPER, beta1=beta1, beta2=beta2, eps=0.0))

    grid = np.linspace(0, math.log(0.99 * P**2), 200)
    beta2 = 1 - np.exp(grid) / P**2
    wrong = drift(dense(P), method, PAPER, beta1=beta1, beta2=beta2, eps=0.0) < 0
    if not np.any(wrong):
        return math.nan
    k = int(np.argmax(wrong))
    found = optimize.brentq(toward, grid[k - 1], grid[k], xtol=1e-13)  # pyright: ignore
    return math.exp(float(found))  # pyright: ignore


def records() -> list[Record]:
    """The border over β1: in the limit and for some P; and the plane of P = 100."""
    return [_scaled(), _plane(100)]


def _scaled() -> Curves:
    rules = {
        "ACProp (average before)": ACPROP_BEFORE,
        "the same, uncentered": UNCENTERED.rule,
        "AdaBelief": METHODS["adabelief"].rule,
        "Adam": METHODS["adam"].rule,
    }
    lines: list[Line] = []
    for label, rule in rules.items():
        if not isinstance(rule, Rule):
            continue
        first = max(critical_beta1(rule), 0.02) + 0.002
        beta1 = np.linspace(first, 0.99, 100)
        lines.append(line(label, beta1, (threshold(rule, float(b)) for b in beta1)))
    before = METHODS["acprop-before"]
    for P in (30, 300):
        beta1 = np.linspace(0.57, 0.99, 40)
        y = np.array([scaled_border(before, float(b), P) for b in beta1])
        there = np.isfinite(y)
        lines.append(line(f"average before, P = {P}", beta1[there], y[there]))
    return Curves(
        "phase",
        f"protected below β1 = {critical_beta1(ACPROP_BEFORE):.4f}",
        "β1",
        "(1 - β2*)·P²",
        tuple(lines),
        y_scale="log",
        y_range=(3.0, 300.0),
        about={"problem": "dense", "critical_beta1": critical_beta1(ACPROP_BEFORE)},
    )


def _plane(P: int) -> Curves:
    """Between the lines the drift is wrong."""
    critical = critical_beta1(ACPROP_BEFORE)
    beta1 = np.linspace(critical + 0.002, 0.99, 80)
    gap = np.geomspace(1e-6, 0.99, 400)
    wrong = (
        drift(
            dense(P),
            METHODS["acprop-before"],
            PAPER,
            beta1=beta1[:, None],
            beta2=1 - gap,
            eps=0.0,
        )
        < 0
    )
    some = np.any(wrong, axis=1)
    first = np.argmax(wrong, axis=1)
    past = np.arange(len(gap)) > first[:, None]
    low, high = gap[first], gap[np.argmax(past & ~wrong, axis=1)]
    ends = some & np.any(past & ~wrong, axis=1)
    near = [threshold(ACPROP_BEFORE, float(b)) / P**2 for b in beta1]
    far = [band_end(ACPROP_BEFORE, float(b)) / P for b in beta1]
    lines = (
        line("c*/P²", beta1, near),
        line("a*/P", beta1, far),
        line("exact, near β2 = 1", beta1[some], low[some]),
        line("exact, the other end", beta1[ends], high[ends]),
    )
    return Curves(
        "phase",
        f"averaging first is wrong between the lines, P = {P}",
        "β1",
        "1 - β2",
        lines,
        y_scale="log",
        about={"problem": "dense", "period": P, "optimizer": "acprop-before"},
    )
