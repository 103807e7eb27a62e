"""Write tests/golden/family.json: trajectories of the whole family to 50 digits.

    python scripts/write_golden.py            compute, compare with the reference, write
    python scripts/write_golden.py --check    compute and compare with the file instead

`acprop.reference` is a recursion on arrays. Here the family is written a second time,
from its definition: one element at a time, m and s as the weighted sums that the
recursions unroll to, over a list of all gradients so far. Nothing but the two values
of `acprop.rule` is shared, so a slip has to be made twice to go unseen. (Longer than
our files should be: a second opinion is read from one end to the other.)
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf

from acprop import files, reference, rule
from acprop.rule import Convention, Rule

TARGET = Path(__file__).parents[1] / "tests" / "golden" / "family.json"
DIGITS = 50
AGREEMENT = 1e-12  # of mpmath and the reference, relative to max(1, |x|)

Row = list[mpf]
Table = list[list[float]]
Case = dict[str, Any]  # as in the file


# 1. The definition


class Numbers(NamedTuple):
    """A rule, a convention and settings; the numbers are exact."""

    rule: Rule
    convention: Convention
    beta1: mpf
    beta2: mpf
    eps: mpf
    amsgrad: bool
    clip: float | str | None


def first(columns: list[Row], k: int) -> list[Row]:
    """The first k gradients; columns[j] are those of element j."""
    return [column[: max(k, 0)] for column in columns]


def mean(gs: Row, beta1: mpf) -> mpf:
    """m_k = (1 - β1)·Σ β1^(k-i)·g_i"""
    k = len(gs)
    return (1 - beta1) * sum(beta1 ** (k - i) * g for i, g in enumerate(gs, 1))


def squared_residual(h: Numbers, gs: Row) -> mpf:
    """r_k² of the last of one element's gradients, unless centered on the average."""
    if h.rule.center is None:
        return gs[-1] ** 2
    known = gs if h.convention.residual == "current" else gs[:-1]
    return (gs[-1] - mean(known, h.beta1)) ** 2


def second_moment(h: Numbers, past: list[Row]) -> Row:
    """s_k = Σ β2^(k-i)·((1 - β2)·w·r_i² + ε),  ε only where it accumulates.

    w is 1, or (1 + β1)/2 if centered on the average.
    """
    k = len(past[0])
    added = h.eps if h.convention.eps_placement == "accumulated" else 0
    s = [mpf(0)] * len(past)
    for i in range(1, k + 1):
        if h.rule.center == "average":
            heard = first(past, i)
            surprises = zip(heard, implied(h, heard), strict=True)
            r2 = [(1 + h.beta1) / 2 * (gs[-1] - e) ** 2 for gs, e in surprises]
        else:
            r2 = [squared_residual(h, column[:i]) for column in past]
        if h.rule.reduction == "max":
            r2 = [max(r2)] * len(r2)
        if h.rule.reduction == "mean":
            r2 = [sum(r2) / len(r2)] * len(r2)
        for j, square in enumerate(r2):
            s[j] += h.beta2 ** (k - i) * ((1 - h.beta2) * square + added)
    return s


def implied(h: Numbers, columns: list[Row]) -> Row:
    """D_t·clip(M_{t-1}, ±1): which g_t the average of the steps before t implies."""
    t = len(columns[0])
    if t == 1:
        return [mpf(0)] * len(columns)
    key = (id(h), tuple(map(tuple, columns)))
    if key not in KNOWN:
        before = [first(columns, i) for i in range(1, t)]
        M = averages(h, [direction(h, seen) for seen in before])
        dens = denominator(h, columns)
        KNOWN[key] = [
            den * max(mpf(-1), min(mpf(1), M_j))
            for den, M_j in zip(dens, M, strict=True)
        ]
    return KNOWN[key]


# Each step asks for all that were before it, and each of those again.
KNOWN: dict[object, Row] = {}


def numerator(h: Numbers, gs: Row) -> mpf:
    """m_t, or the mean of the newest max(delay, 1) gradients with weights β1^age.

    With nesterov (1 - β1)·Σ β1^(t+1-i)·g_i, plus (1 - β1)·g_t once more.
    """
    if h.rule.average == "before":
        m, t = mean(gs, h.beta1), len(gs)
        if h.rule.nesterov:
            m, t = h.beta1 * m + (1 - h.beta1) * gs[-1], t + 1
        return m / (1 - h.beta1**t) if h.convention.bias_correction else m
    newest = gs[-max(h.rule.delay, 1) :][::-1]
    weights = [h.beta1**age for age in range(len(newest))]
    return sum(w * g for w, g in zip(weights, newest, strict=True)) / sum(weights)


def radicand(h: Numbers, past: list[Row], s: Row) -> Row:
    """s_k/(1 - β2^k), or s_k itself; and ε where it stands inside."""
    seen = 1 - h.beta2 ** len(past[0]) if h.convention.bias_correction else 1
    inside = h.eps if h.convention.eps_placement == "inside" else 0
    # Before the first observation s is an empty sum, and an empty average is 0.
    return [(s_j / seen if seen else mpf(0)) + inside for s_j in s]


def denominator(h: Numbers, columns: list[Row]) -> Row:
    """√radicand; AMSGrad takes the largest s, or radicand, of all steps so far."""
    t = len(columns[0])
    steps = range(1, t + 1) if h.amsgrad else [t]
    pasts = [first(columns, i - h.rule.delay) for i in steps]
    s = [second_moment(h, past) for past in pasts]
    if h.convention.amsgrad == "raw":
        under = radicand(h, pasts[-1], largest(s))
    else:
        under = largest([radicand(h, *pair) for pair in zip(pasts, s, strict=True)])
    outside = 0 if h.convention.eps_placement == "inside" else h.eps
    return [mp.sqrt(value) + outside for value in under]


def largest(rows: list[Row]) -> Row:
    return [max(column) for column in zip(*rows, strict=True)]


def direction(h: Numbers, columns: list[Row]) -> Row:
    """clip(u_t, ±c_t), the columns ending in g_t."""
    t = len(columns[0])
    n_t = [numerator(h, column) for column in columns]
    if t > h.rule.delay or h.convention.first_step == "divide":
        pairs = zip(n_t, denominator(h, columns), strict=True)
        u = [quotient(h, *pair) for pair in pairs]
    else:
        outside = 0 if h.convention.eps_placement == "inside" else h.eps
        factor = {"sgd": 1, "one": 1 / (1 + outside)}
        u = [factor[h.convention.first_step] * n_j for n_j in n_t]
    if h.clip is None:
        return u
    bound = mp.root(t, 4) if h.clip == "t**0.25" else mpf(h.clip)
    return [max(-bound, min(bound, u_j)) for u_j in u]


def quotient(h: Numbers, n: mpf, den: mpf) -> mpf:
    """n/den; 0/0 = 0 where the convention has a bound, and ±1/0 = ±∞."""
    if n == 0 and h.convention.clip is not None:
        return mpf(0)
    return n / den if den else mp.sign(n) * mp.inf


def averages(h: Numbers, directions: list[Row]) -> Row:
    """M_t = (1 - β1)·Σ β1^(t-i)·u_i"""
    return [mean(list(column), h.beta1) for column in zip(*directions, strict=True)]


def move(h: Numbers, directions: list[Row]) -> Row:
    """u_t, M_t, or with nesterov β1·M_t + (1 - β1)·u_t."""
    if h.rule.average != "after":
        return directions[-1]
    M = averages(h, directions)
    if not h.rule.nesterov:
        return M
    pairs = zip(M, directions[-1], strict=True)
    return [h.beta1 * M_j + (1 - h.beta1) * u_j for M_j, u_j in pairs]


@mp.workdps(DIGITS)
def trajectory(case: Case, table: Table) -> Case:
    """Return x after every step and the last m, s and M, rounded to float64."""
    settings = case["settings"]
    h = Numbers(
        Rule(**case["rule"]),
        rule.convention(case["convention"]),
        *(mpf(number) for number in (*settings["betas"], settings["eps"])),
        settings["amsgrad"],
        settings["clip"],
    )
    lr, decay = mpf(settings["lr"]), mpf(settings["weight_decay"])
    l2 = 0 if settings["decoupled_weight_decay"] else decay
    shrink = 1 - lr * decay if settings["decoupled_weight_decay"] else 1
    sign = -1 if settings["maximize"] else 1
    x, path = [mpf(value) for value in case["x0"]], []
    columns: list[Row] = [[] for _ in x]
    directions: list[Row] = []
    for row in table:
        g = [sign * mpf(g_j) + l2 * x_j for g_j, x_j in zip(row, x, strict=True)]
        columns = [[*column, g_j] for column, g_j in zip(columns, g, strict=True)]
        directions.append(direction(h, columns))
        moves = zip(x, move(h, directions), strict=True)
        x = [shrink * x_j - lr * d_j for x_j, d_j in moves]
        path.append([float(x_j) for x_j in x])
    heard = first(columns, len(table) - max(h.rule.delay - 1, 0))
    s = second_moment(h, heard)
    out = {
        "x": path,
        "m": [float(mean(column, h.beta1)) for column in heard],
        "s": [float(s_j) for s_j in (s[:1] if h.rule.reduction else s)],
    }
    if h.rule.average == "after":
        out["M"] = [float(M_j) for M_j in averages(h, directions)]
    KNOWN.clear()
    return out


# 2. The same through the reference


def follow(case: Case, table: Table) -> Case:
    """Run a case of the file through `acprop.reference`."""
    method, convention = Rule(**case["rule"]), rule.convention(case["convention"])
    settings = case["settings"]
    lr, (beta1, beta2) = settings["lr"], settings["betas"]
    h = reference.Settings(
        beta1,
        beta2,
        settings["eps"],
        settings["amsgrad"],
        settings["clip"],
    )
    x, state, path = np.array(case["x0"]), reference.State(), []
    for g in np.array(table):
        g = -g if settings["maximize"] else g
        if settings["decoupled_weight_decay"]:
            x = x * (1 - lr * settings["weight_decay"])
        else:
            g = g + settings["weight_decay"] * x
        state, d = reference.step(method, convention, state, g, h)
        x = x - lr * d
        path.append(x)
    return {"x": np.array(path), "m": state.m, "s": state.s, "M": state.M}


def distance(case: Case, other: Case) -> float:
    """Largest difference of x, m, s or M, relative to max(1, |value|)."""
    return max(
        float(np.max(np.abs(a - np.asarray(other[key])) / np.maximum(1, np.abs(a))))
        for key, a in ((key, np.asarray(case[key])) for key in "xmsM" if key in case)
    )


# 3. The cases

RULES = {
    "rmsprop": rule.RMSPROP,
    "rmsprop-centered": rule.RMSPROP_CENTERED,
    "adam": rule.ADAM,
    "adabelief": rule.ADABELIEF,
    "adashift": rule.ADASHIFT,
    "acprop": rule.ACPROP,
    "acprop-paper": rule.ACPROP_PAPER,
    "acprop-before": rule.ACPROP_BEFORE,
    "acprop-after": rule.ACPROP_AFTER,
    "nadam": replace(rule.ADAM, nesterov=True),
    "acprop-before-nesterov": replace(rule.ACPROP_BEFORE, nesterov=True),
    "acprop-after-nesterov": replace(rule.ACPROP_AFTER, nesterov=True),
    "acprop-plain": replace(rule.ACPROP, nesterov=False),
    "uncentered-after": replace(rule.ADASHIFT, average="after"),
    "adam-after": replace(rule.ADAM, average="after", nesterov=True),
    "acprop-mean": replace(rule.ACPROP, reduction="mean"),
    "acprop-after-3": replace(rule.ACPROP_AFTER, delay=3),
    "adashift-3": replace(rule.ADASHIFT, delay=3),
    "acprop-paper-3": replace(rule.ACPROP_PAPER, delay=3),
    "acprop-before-3": replace(rule.ACPROP_BEFORE, delay=3),
    "adashift-max": replace(rule.ADASHIFT, reduction="max"),
    "adashift-mean": replace(rule.ADASHIFT, reduction="mean"),
    "adashift-3-max": replace(rule.ADASHIFT, delay=3, reduction="max"),
}
# Where an asynchronous first step divides by ε alone the default ε would send x to
# 1e8 and hide everything that follows: float32 kernels are compared with these too.
EPS = {"paper": 1e-2, "torch": 5e-2, "torch-rmsprop": 5e-2}
X0 = [1.0, -0.5, 0.25, 2.0, -1.5]

EVERY = " ".join(rule.CONVENTIONS)
AMSGRAD = {"amsgrad": True}
GROWING = {"clip": "t**0.25"}
# Without a bound an asynchronous first step divides by ε: see EPS.
UNBOUND = {"clip": None, "eps": 5e-2}
L2 = {"weight_decay": 0.1}
DECOUPLED = {"weight_decay": 0.1, "decoupled_weight_decay": True}
# (what the case is called, rules, conventions, changed settings, gradient table)
EXTRA: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("amsgrad", "acprop-paper adam adabelief", EVERY, AMSGRAD, "fading"),
    ("amsgrad", "acprop-paper-3", "guarded authors", AMSGRAD, "fading"),
    ("amsgrad", "adashift-max", "guarded", AMSGRAD, "fading"),
    ("clip-grows", "acprop-paper adam", "guarded paper authors", GROWING, "plain"),
    ("clip-none", "acprop-paper adashift-3 acprop-before", "guarded", UNBOUND, "plain"),
    ("clip-none", "adam adabelief rmsprop", "guarded", {"clip": None}, "plain"),
    ("clip-half", "acprop-paper adashift-3", "guarded torch", {"clip": 0.5}, "plain"),
    ("l2", "acprop-paper adam acprop-paper-3", "guarded authors torch", L2, "plain"),
    (
        "decoupled",
        "acprop-paper adam acprop-paper-3",
        "guarded authors torch",
        DECOUPLED,
        "plain",
    ),
    ("maximize", "acprop-paper adam", "guarded authors", {"maximize": True}, "plain"),
    ("maximize-l2", "acprop-paper", "guarded torch", {"maximize": True, **L2}, "plain"),
    ("maximize-decoupled", "adam", "guarded", {"maximize": True, **DECOUPLED}, "plain"),
    (
        "beta1-zero",
        "acprop-paper adam adashift-3",
        "guarded",
        {"betas": [0.0, 0.9]},
        "plain",
    ),
    ("long-memory", "acprop-paper", "guarded optax", {"betas": [0.9, 0.999]}, "plain"),
    ("short-memory", "acprop-paper adam", "guarded", {"betas": [0.5, 0.05]}, "plain"),
    (
        "large-eps",
        "acprop-paper adabelief",
        "guarded authors optax",
        {"eps": 1e-2},
        "plain",
    ),
    ("adam-eps", "acprop-paper adam adashift", "guarded", {"eps": 1e-8}, "plain"),
    ("default-eps", "adam", "torch paper", {"eps": None}, "plain"),
    ("default-eps", "rmsprop", "torch-rmsprop", {"eps": None}, "plain"),
    (
        "hazard",
        "rmsprop adam adashift acprop-paper acprop-paper-3",
        "guarded",
        {},
        "hazard",
    ),
    ("hazard", "acprop-before adashift-max", "guarded", {}, "hazard"),
    ("hazard-amsgrad", "acprop-paper adam", "guarded", AMSGRAD, "hazard"),
    ("hazard-clip-two", "acprop-paper adashift", "guarded", {"clip": 2.0}, "hazard"),
    ("hazard-beta1-zero", "acprop-paper", "guarded", {"betas": [0.0, 0.9]}, "hazard"),
    (
        "hazard-eps-zero",
        "acprop-paper acprop-paper-3 adashift",
        "guarded",
        {"eps": 0.0},
        "hazard",
    ),
    ("hazard-eps-zero", "acprop-before adam", "guarded", {"eps": 0.0}, "hazard"),
    ("hazard-adam-eps", "acprop-paper adashift", "guarded", {"eps": 1e-8}, "hazard"),
    ("amsgrad", "acprop acprop-after", "guarded paper", AMSGRAD, "fading"),
    ("clip-none", "acprop", "guarded authors", UNBOUND, "plain"),
    ("clip-half", "acprop acprop-after", "guarded", {"clip": 0.5}, "plain"),
    ("l2", "acprop acprop-after", "guarded", L2, "plain"),
    ("decoupled", "acprop acprop-after nadam", "guarded", DECOUPLED, "plain"),
    (
        "maximize-decoupled",
        "acprop",
        "guarded",
        {"maximize": True, **DECOUPLED},
        "plain",
    ),
    ("beta1-zero", "acprop acprop-after", "guarded", {"betas": [0.0, 0.9]}, "plain"),
    ("beta1-half", "acprop", "guarded", {"betas": [0.5, 0.999]}, "plain"),
    ("long-memory", "acprop", "guarded", {"betas": [0.9, 0.999]}, "plain"),
    ("short-memory", "acprop", "guarded", {"betas": [0.5, 0.05]}, "plain"),
    ("adam-eps", "acprop", "guarded", {"eps": 1e-8}, "plain"),
    ("hazard", "acprop acprop-after acprop-after-3", "guarded", {}, "hazard"),
    ("hazard", "acprop-mean acprop-before-nesterov", "guarded", {}, "hazard"),
    ("hazard-beta1-zero", "acprop", "guarded", {"betas": [0.0, 0.9]}, "hazard"),
    ("hazard-eps-zero", "acprop acprop-after", "guarded", {"eps": 0.0}, "hazard"),
    ("hazard-amsgrad", "acprop", "guarded", AMSGRAD, "hazard"),
]


def gradients() -> dict[str, Table]:
    """The tables, every entry exact in float32.

    plain    noise of mean 1/4
    fading   the same, dying down eightfold: what AMSGrad is for
    hazard   three silent steps; an element silent until step 11; one spike of 8192;
             an element that flips its sign
    """
    draw = random.Random(0).random  # the one stream that Python promises to keep
    plain = [[int(2048 * draw() - 768) / 1024 for _ in X0] for _ in range(14)]
    hazard = [list(row) for row in plain]
    for t, row in enumerate(hazard):
        row[1] = 0.0 if t < 10 else row[1]
        row[2] = (-1) ** t * 0.75
        if t < 3:
            row[:] = [0.0] * len(row)
    hazard[7][3] *= 8192  # as a float16 holds it exactly
    fading = [[g / (1 << t // 4) for g in row] for t, row in enumerate(plain)]
    return {"plain": plain, "fading": fading, "hazard": hazard}


def declare(
    name: str, convention: str, suffix: str, table: str, **changes: Any
) -> Case:
    settings = {
        "lr": 0.05,
        "betas": [0.9, 0.99],
        "eps": EPS.get(convention),
        "amsgrad": False,
        "clip": rule.CONVENTIONS[convention].clip,
        "weight_decay": 0.0,
        "decoupled_weight_decay": False,
        "maximize": False,
    } | changes
    if settings["eps"] is None:
        settings["eps"] = rule.CONVENTIONS[convention].eps
    return {
        "id": "-".join(part for part in (name, convention, suffix) if part),
        "rule": asdict(RULES[name]),
        "convention": convention,
        "settings": settings,
        "x0": X0,
        "grads": table,
    }


def cases() -> Iterator[Case]:
    """Every rule under every convention, then one option at a time."""
    for name, convention in product(RULES, rule.CONVENTIONS):
        yield declare(name, convention, "", "plain")
    for suffix, names, conventions, changes, table in EXTRA:
        for name, convention in product(names.split(), conventions.split()):
            yield declare(name, convention, suffix, table, **changes)


# 4. The file

ABOUT = (
    "Trajectories of the family by its definition, 50 digits rounded to float64 "
    "(scripts/write_golden.py). x[t] is the parameter after step t+1 with gradient "
    "gradients[grads][t]; m, s and M are those after the last step; m and s do not "
    "know the newest delay - 1 gradients; s has one entry if the rule has a reduction."
)


def render() -> str:
    """Compute everything; refuse if the reference does not agree."""
    tables, lines, wrong = gradients(), [], []
    for case in cases():
        case |= trajectory(case, tables[case["grads"]])
        gap = distance(case, follow(case, tables[case["grads"]]))
        if not gap <= AGREEMENT:
            wrong.append(f"{case['id']} ({gap:.1e})")
        lines.append(json.dumps(case, separators=(",", ":")))
    if wrong:
        raise ArithmeticError(
            f"acprop.reference must agree to {AGREEMENT}, got {', '.join(wrong)}"
        )
    named = [
        f'"{name}":{json.dumps(table, separators=(",", ":"))}'
        for name, table in tables.items()
    ]
    head = f'{{"about":{json.dumps(ABOUT)},\n"gradients":{{\n'
    return head + ",\n".join(named) + '},\n"cases":[\n' + ",\n".join(lines) + "]}\n"


def check(target: Path = TARGET) -> list[str]:
    """Return what differs between the file and a fresh computation, line by line."""
    fresh, stored = render().splitlines(), target.read_text().splitlines()
    if len(fresh) != len(stored):
        return [f"{len(stored)} lines where there should be {len(fresh)}"]
    return [new[:60] for new, old in zip(fresh, stored, strict=True) if new != old]


def write(target: Path = TARGET) -> None:
    """Replace the file at once: no reader ever sees half of it."""
    files.write(target, render())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    try:
        differences = check() if parser.parse_args().check else write()
    except ArithmeticError as problem:
        sys.exit(str(problem))
    if differences:
        shown = "\n  ".join(differences)
        sys.exit(f"{TARGET} differs from a fresh computation:\n  {shown}")


if __name__ == "__main__":
    main()
