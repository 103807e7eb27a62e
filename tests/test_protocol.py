"""docs/protocol.md says what the code computes: every formula, evaluated by hand."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from acprop.bench.spaces import read_spaces
from acprop.intervals import FEWEST, expanded_share, interval
from acprop.report.comparisons import holm
from acprop.report.statistics import summarize

ROOT = Path(__file__).parents[1]
PROTOCOL = (ROOT / "docs/protocol.md").read_text("utf-8")
VALUES = np.random.default_rng(0).normal(0.7, 0.02, size=12)
SPACES = read_spaces(ROOT / "studies", "wide-1")
FORMULAS = {}


def formula(name, latex):
    """Register an evaluation: it returns (by hand, by the code)."""

    def register(evaluate):
        FORMULAS[name] = (latex, evaluate)
        return evaluate

    return register


@formula("point", r"a\,(b/a)^u")
def point():
    space = SPACES.of("adamw", {})
    (a, b), u = space.ranges["lr"], 0.37
    shares = dict.fromkeys(("lr", "weight_decay", "eps", "1-beta1", "1-beta2"), u)
    return [float(f"{a * (b / a) ** u:.3g}")], [space.point(shares)["lr"]]


@formula("eps", r"\epsilon=e,\qquad\epsilon=e^2,\qquad\epsilon=e^2(1-\beta_2)")
def eps():
    e, gap = 1e-3, 0.02
    drawn = {"eps": e, "1-beta2": gap}
    names = ("guarded", "paper", "authors")
    spaces = [SPACES.of("acprop", {"convention": name}) for name in names]
    return [e, e**2, e**2 * gap], [space.settings(drawn)["eps"] for space in spaces]


@formula(
    "std",
    r"\bar y=\tfrac1n\sum y_i,\qquad\operatorname{std}^2="
    r"\tfrac1{n-1}\sum(y_i-\bar y)^2",
)
def std():
    n, mean = len(VALUES), sum(VALUES) / len(VALUES)
    found = summarize(VALUES)
    by_hand = sum((y - mean) ** 2 for y in VALUES) / (n - 1)
    return [mean, by_hand], [found.mean, found.std**2]


@formula("student", r"\bar y\pm t_{0.975,\,n-1}\operatorname{std}/\sqrt n")
def student():
    few = VALUES[:7]
    half = stats.t.ppf(0.975, 6) * few.std(ddof=1) / math.sqrt(7)
    return [few.mean() - half, few.mean() + half], interval(few)


@formula("expanded", r"q=\Phi\!\left(-\sqrt{n/(n-1)}\;t_{0.975,\,n-1}\right)")
def expanded():
    return [stats.norm.cdf(-math.sqrt(12 / 11) * stats.t.ppf(0.975, 11))], [
        expanded_share(12)
    ]


@formula("within", r"1-2^{1-n}")
def within():
    """The page's numbers for three values, and why the bootstrap begins at eight."""
    shares = [1 - 2.0 ** (1 - n) for n in (3, FEWEST - 3, FEWEST)]
    return shares, [0.75, 0.9375, 0.9921875]


@formula("holm", r"\tilde p_{(i)}=\max_{j\le i}\,\min\left(1,\,(m-j+1)\,p_{(j)}\right)")
def holms():
    p = [0.01, 0.02, 0.03, 0.5]
    m = len(p)
    by_hand = [
        max(min(1, (m - j + 1) * p[j - 1]) for j in range(1, i + 1))
        for i in range(1, m + 1)
    ]
    return by_hand, holm(p)


def printed():
    pattern = r"<!-- formula: ([a-z0-9-]+) -->\n\$\$(.*?)\$\$"
    return dict(re.findall(pattern, PROTOCOL, re.DOTALL))


def test_every_printed_formula_has_a_name_and_an_evaluation():
    assert printed() == {name: latex for name, (latex, _) in FORMULAS.items()}
    assert PROTOCOL.count("$$") == 2 * len(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_printed_formula_is_what_the_code_computes(name):
    by_hand, by_the_code = FORMULAS[name][1]()
    np.testing.assert_allclose(by_the_code, by_hand, rtol=1e-9)
