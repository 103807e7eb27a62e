"""The package as a user meets it: what importing it does, and what its help says.

The formulas of the docstrings are written a second time below, line by line. A line
that changes there has to change here, and has to be what the code does.
"""

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

import acprop


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


# 1. Importing it


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("acprop.__all__, dir(acprop)", {"torch", "numpy", "acprop.rule"}),
        ("acprop.GUARDED, acprop.Rule", {"torch", "numpy"}),
        ("acprop.ACProp, acprop.Box", {"jax", "scipy", "acprop.reference"}),
    ],
)
def test_only_what_is_used_is_loaded(use, absent):
    """`acprop.rule` serves programs without torch; torch takes seconds to import."""
    run = python(f"import sys, acprop; {use}; print({absent} & set(sys.modules))")
    assert (run.stdout, run.returncode) == ("set()\n", 0)


def test_nothing_is_ever_printed():
    run = python(
        "import torch, acprop\n"
        "p = torch.ones(3, requires_grad=True)\n"
        "opt = acprop.ACProp([p])\n"
        "p.grad = torch.ones(3)\n"
        "opt.step()\n"
    )
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)


def test_every_public_name_resolves_and_is_listed():
    for name in acprop.__all__:
        assert getattr(acprop, name) is not None
    assert set(acprop.__all__) <= set(dir(acprop))
    assert dir(acprop) == sorted(dir(acprop))


def test_a_star_import_gives_the_public_names():
    names: dict[str, object] = {}
    exec("from acprop import *", names)
    assert set(acprop.__all__) == set(names) - {"__builtins__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError) as caught:
        _ = acprop.AcProp
    assert str(caught.value) == "module 'acprop' has no attribute 'AcProp'"


ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place():
    """It is read from there, and repeated only where the paper's citation needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert acprop.__version__ == project["version"]
    assert "__version__" in dir(acprop)
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {acprop.__version__}\n" in citation
    said = python("import sys; sys.argv[1:] = ['--version']; import acprop.__main__")
    assert (said.stdout, said.returncode) == (f"acprop {acprop.__version__}\n", 0)


def test_conda_builds_this_version_from_the_same_requirements():
    """A recipe for conda-forge, as far as it can be checked without its tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["schema_version"] == 1
    assert recipe["context"]["version"] == project["version"]
    needs = recipe["requirements"]
    torch_needed = project["dependencies"][0].replace("torch", "pytorch ")
    assert needs["run"] == [f"python {project['requires-python']}", torch_needed]
    lab = {
        line.replace(">=", " >=") for line in project["optional-dependencies"]["lab"]
    }
    given = {line.replace("-base", "") for line in needs["run_constraints"]}
    assert given == lab
    script = recipe["build"]["python"]["entry_points"]
    assert script == [f"acprop = {project['scripts']['acprop']}"]
    assert project["description"].replace(":", ",") == recipe["about"]["summary"]


def test_what_only_developers_need_is_no_extra_of_users():
    """PEP 735: groups stay out of the wheel's metadata."""
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = toml["project"]["optional-dependencies"]
    assert set(extras) == {"lab", "bench", "cluster", "jax"}
    assert {"dev", "trainers"} <= set(toml["dependency-groups"])


# 2. What its help says


LR, BETA1, BETA2, EPS = 0.01, 0.9, 0.99, 1e-3
sqrt = np.sqrt


def acprop_paper(x, gs, decoupled=0.0, l2=0.0):
    m = s = 0.0
    for g in gs:
        x = x - LR * decoupled * x
        g = g + l2 * x
        m = BETA1 * m + (1 - BETA1) * g
        x = x - LR * g / sqrt(s + EPS)
        s = BETA2 * s + (1 - BETA2) * (g - m) ** 2
        yield x


def acprop_default(x, gs):
    M = s = 0.0
    for t, g in enumerate(gs, 1):
        d = (sqrt(s / (1 - BETA2 ** (t - 1))) if t > 1 else 0.0) + EPS
        u = np.clip(g / d, -(t**0.25), t**0.25)
        r = g - d * np.clip(M, -1, 1)
        M = BETA1 * M + (1 - BETA1) * u
        x = x - LR * (BETA1 * M + (1 - BETA1) * u)
        s = BETA2 * s + (1 - BETA2) * (1 + BETA1) / 2 * r**2
        yield x


def adabelief(x, gs):
    m = s = 0.0
    for t, g in enumerate(gs, 1):
        m = BETA1 * m + (1 - BETA1) * g
        s = BETA2 * s + (1 - BETA2) * (g - m) ** 2 + EPS
        x = x - LR * (m / (1 - BETA1**t)) / (sqrt(s / (1 - BETA2**t)) + EPS)
        yield x


def adashift(x, gs, delay=3, reduce=np.max):
    v = 0.0
    for t in range(1, len(gs) + 1):
        newest = gs[max(t - delay, 0) : t][::-1]
        weights = BETA1 ** np.arange(len(newest))
        u = weights @ newest / sum(weights)
        x = x - LR * u / sqrt(v + EPS)
        if t >= delay:
            v = BETA2 * v + (1 - BETA2) * reduce(gs[t - delay] ** 2)
        yield x


def adam(x, gs):
    m = v = 0.0
    for t, g in enumerate(gs, 1):
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g**2
        x = x - LR * (m / (1 - BETA1**t)) / (sqrt(v / (1 - BETA2**t)) + EPS)
        yield x


def rmsprop(x, gs):
    v = 0.0
    for g in gs:
        v = BETA2 * v + (1 - BETA2) * g**2
        x = x - LR * g / (sqrt(v) + EPS)
        yield x


def rmsprop_centered(x, gs):
    m = v = b = 0.0
    for g in gs:
        m = BETA2 * m + (1 - BETA2) * g
        v = BETA2 * v + (1 - BETA2) * g**2
        b = BETA1 * b + g / (sqrt(v - m**2) + EPS)
        x = x - LR * b
        yield x


BETAS = {"betas": (BETA1, BETA2)}
# the lines as they stand in the docstring, and the walk they describe
FORMULAS = [
    (
        acprop.ACProp,
        BETAS,
        acprop_default,
        """
        d = √(s/(1 - β2^(t-1))) + ε               s does not know g: asynchronous
        u = clip(g/d, ±t^¼)                       0/0 = 0
        r = g - d·clip(M, ±1)                     the surprise: centered
        M = β1·M + (1 - β1)·u
        x = x - lr·(β1·M + (1 - β1)·u)            one step ahead
        s = β2·s + (1 - β2)·(1 + β1)/2·r²
        """,
    ),
    (
        acprop.ACProp,
        {"convention": "paper", **BETAS},
        acprop_paper,
        """
        m = β1·m + (1 - β1)·g
        x = x - lr·g/√(s + ε)
        s = β2·s + (1 - β2)·(g - m)²
        """,
    ),
    (
        acprop.AdaBelief,
        BETAS,
        adabelief,
        """
        m = β1·m + (1 - β1)·g
        s = β2·s + (1 - β2)·(g - m)² + ε
        x = x - lr · m/(1 - β1^t) / (√(s/(1 - β2^t)) + ε)
        """,
    ),
    (
        acprop.AdaShift,
        {"convention": "paper", "delay": 3, "reduction": "max", **BETAS},
        adashift,
        """
        w = Σ β1^i·g_{t-i} / Σ β1^i               over the newest n gradients, i < n
        x = x - lr · w / √(v + ε)                 v knows g_{t-n} and older
        v = β2·v + (1 - β2)·φ(g²)                 of the gradient that leaves the window
        """,
    ),
    (
        acprop.Adam,
        BETAS,
        adam,
        """
        m = β1·m + (1 - β1)·g
        v = β2·v + (1 - β2)·g²
        x = x - lr · m/(1 - β1^t) / (√(v/(1 - β2^t)) + ε)          ε = 1e-8
        """,
    ),
    (
        acprop.RMSprop,
        {"alpha": BETA2},
        rmsprop,
        """
        v = α·v + (1 - α)·g²
        x = x - lr · g / (√v + ε)                                  ε = 1e-8
        """,
    ),
    (
        acprop.RMSprop,
        {"alpha": BETA2, "momentum": BETA1, "centered": True},
        rmsprop_centered,
        """
        momentum: above 0, b = momentum·b + g / (√v + ε) and x = x - lr·b. A group holds
            it as betas[0], and alpha as betas[1].
        centered: √(v - m²) for √v, with m = α·m + (1 - α)·g.
        """,
    ),
]


def gradients() -> np.ndarray:
    """30 steps: three silent ones first, a silent element, a spike."""
    gs = np.random.default_rng(0).normal(size=(30, 4))
    gs[:3] = 0
    gs[:20, 1] = 0
    gs[12, 2] = 50
    return gs


def walk(cls, gs: np.ndarray, **options) -> np.ndarray:
    param = torch.ones(4, dtype=torch.float64, requires_grad=True)
    opt, path = cls([param], lr=LR, **options), []
    for g in gs:
        param.grad = torch.tensor(g)
        opt.step()
        path.append(param.detach().numpy().copy())
    return np.array(path)


@pytest.mark.parametrize(
    ("cls", "options", "formula", "lines"),
    FORMULAS,
    ids=[formula.__name__ for _, _, formula, _ in FORMULAS],
)
def test_the_docstring_says_what_the_code_does(cls, options, formula, lines):
    assert lines.strip() in (cls.__doc__ or "")
    gs = gradients()
    expected = np.array(list(formula(np.ones(4), gs)))
    ours = walk(cls, gs, eps=EPS, **options)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("decoupled", "True: x = x - lr·λ·x before the step, as AdamW does."),
        ("l2", "False: g = g + λ·x, as Adam does."),
    ],
)
def test_the_docstring_says_where_weight_decay_goes(kind, words):
    assert words in inspect.getdoc(acprop.ACProp)
    gs = gradients()
    expected = np.array(list(acprop_paper(np.ones(4), gs, **{kind: 0.1})))
    options = {"convention": "paper", "eps": EPS, "weight_decay": 0.1, **BETAS}
    decoupled = kind == "decoupled"
    ours = walk(acprop.ACProp, gs, decoupled_weight_decay=decoupled, **options)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("cls", "eps"),
    [
        (acprop.ACProp, 1e-30),
        (acprop.AdaBelief, 1e-16),
        (acprop.AdaShift, 1e-30),
        (acprop.Adam, 1e-8),
        (acprop.RMSprop, 1e-8),
    ],
)
def test_the_default_eps_is_the_documented_one(cls, eps):
    [group] = cls([torch.ones(1, requires_grad=True)]).param_groups
    assert group["eps"] == eps


@pytest.mark.parametrize("convention", ["paper", "authors", "optax"])
def test_the_published_conventions_take_the_documented_eps(convention):
    assert "1e-30 guarded, 1e-8 as in torch.optim" in inspect.getdoc(acprop.ACProp)
    opt = acprop.ACProp([torch.ones(1, requires_grad=True)], convention=convention)
    assert opt.param_groups[0]["eps"] == 1e-16


def test_every_public_class_and_function_has_a_docstring():
    for name in acprop.__all__:
        value = getattr(acprop, name)
        assert inspect.getdoc(value), name


# 3. What docs/guard.md says: `acprop_default` above, line by line


@pytest.mark.parametrize(
    "line",
    [
        "d = √ŝ_{t−1} + ε                    ŝ = s/(1 − β2^(t−1)),  0/0 = 0;  ε = ",
        "u = clip(g_t/d, ±t^¼)",
        "r = g_t − d·clip(M_{t−1}, ±1)",
        "M = β1·M_{t−1} + (1 − β1)·u",
        "x ← x − lr·(β1·M + (1 − β1)·u)",
        "s ← β2·s + (1 − β2)·(1 + β1)/2·r²",
    ],
)
def test_the_page_about_the_guard_prints_what_is_compared_here(line):
    assert line in (ROOT / "docs" / "guard.md").read_text("utf-8")
