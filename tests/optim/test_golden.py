"""Every kernel on the golden vectors, and the named conventions beside their origins.

`tests/golden/README.md` says where the vectors come from. The kernels share no
arithmetic with any of it.
"""

import json
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import acprop
from acprop import rule
from acprop.optim.base import FamilyOptimizer
from acprop.reference import Settings, State, step

from ..pairs import pairwise

GOLDEN = Path(__file__).parents[1] / "golden"
FAMILY = json.loads((GOLDEN / "family.json").read_text())
AUTHORS = json.loads((GOLDEN / "authors.json").read_text())["cases"]

# Of x, m, s and M, relative to max(1, |value|). A half-precision parameter counts with
# its compensation. float16 holds the gradients exactly; bfloat16 rounds them to 8 bits,
# which s squares.
TOLERANCE = {
    torch.float64: 1e-14,
    torch.float32: 1e-6,
    torch.bfloat16: 2**-7,
    torch.float16: 2e-6,
}
PLAIN = {
    "constraint": None,
    "foreach": None,
    "fused": None,
    "capturable": False,
    "differentiable": False,
    "kahan": True,
    "error_if_nonfinite": False,
}

# None is the native kernel, and the loop for what that leaves out.
every_kernel = pytest.mark.parametrize(
    "foreach", [False, True, None], ids=["loop", "foreach", "native"]
)


def follow(opt: torch.optim.Optimizer, param: torch.Tensor, grads, lr=None):
    """Walk the gradients; return the path, compensations included."""
    path = []
    for t, g in enumerate(grads, 1):
        opt.param_groups[0]["lr"] = lr(t) if lr else opt.param_groups[0]["lr"]
        param.grad = torch.tensor(g, dtype=param.dtype)
        opt.step()
        lost = opt.state[param].get("compensation", torch.zeros_like(param))
        path.append((param.detach().double() + lost.double()).numpy())
    return np.array(path)


def assert_golden(ours, golden, dtype: torch.dtype) -> None:
    golden = np.asarray(golden)
    error = np.abs(np.asarray(ours) - golden) / np.maximum(1, np.abs(golden))
    assert error.max() <= TOLERANCE[dtype]


def check_case(case: dict, dtype: torch.dtype, **options) -> None:
    param = torch.tensor(case["x0"], dtype=dtype, requires_grad=True)
    options = PLAIN | case["rule"] | case["settings"] | options
    opt = FamilyOptimizer([param], convention=case["convention"], **options)
    path = follow(opt, param, FAMILY["gradients"][case["grads"]])
    assert_golden(path, case["x"], dtype)
    state = opt.state[param]
    kept = {"exp_avg": "m", "exp_avg_sq": "s", "momentum_buffer": "M"}
    for name in kept.keys() & state.keys():
        assert_golden(state[name].reshape(-1), case[kept[name]], dtype)
    method = rule.Rule(**case["rule"])
    assert ("exp_avg" in state) is method.keeps_m
    assert ("momentum_buffer" in state) is method.keeps_average


# The four kernels; None of both is native, and blocks for what that leaves out.
KERNELS = {
    "loop": {"foreach": False},
    "foreach": {"foreach": True},
    "native": {},
}
CAPTURABLE = {
    f"{name}, capturable": {**KERNELS[name], "capturable": True}
    for name in ("loop", "foreach")
}
# In the other types a rule has no arithmetic of its own, so two things at once are
# enough: every option in every kernel and type, and every option beside every other.
NARROW = [dtype for dtype in TOLERANCE if dtype != torch.float64]
OTHERS = [*product(KERNELS, NARROW), *product(CAPTURABLE, [torch.float32])]


def values(row: tuple[dict, str, torch.dtype]) -> dict[str, str]:
    case, kernel, dtype = row
    options = {**case["rule"], **case["settings"]}
    more = {"convention": case["convention"], "gradients": case["grads"]}
    named = {name: str(value) for name, value in {**options, **more}.items()}
    return {**named, "kernel and type": f"{kernel}, {dtype}"}


def table(rows: list[tuple[dict, str, torch.dtype]]):
    ids = [f"{case['id']}-{kernel}-{dtype}" for case, kernel, dtype in rows]
    return pytest.mark.parametrize(("case", "kernel", "dtype"), rows, ids=ids)


@table([*product(FAMILY["cases"], KERNELS, [torch.float64])])
def test_every_kernel_walks_the_golden_trajectories(case, kernel, dtype):
    """The family by its definition, to 50 digits (scripts/write_golden.py)."""
    check_case(case, dtype, **KERNELS[kernel])


@table(pairwise([(case, *way) for case in FAMILY["cases"] for way in OTHERS], values))
def test_every_type_walks_the_golden_trajectories(case, kernel, dtype):
    """Half precision too; and a step counter that is a tensor loses no digits.

    In float32 1 - 0.999^1 cancels; graph capture makes tensors of all scalars.
    """
    check_case(case, dtype, **{**KERNELS, **CAPTURABLE}[kernel])


@every_kernel
@pytest.mark.parametrize("case", AUTHORS, ids=lambda case: str(case["settings"]))
def test_the_authors_convention_walks_the_authors_trajectories(case, foreach):
    """juntang-zhuang/ACProp-Optimizer, rectification off, in float64."""
    given = case["settings"]
    schedules = {
        "constant": None,
        "lr/sqrt(t)": lambda t: given["lr"] / t**0.5,
    }
    param = torch.tensor(case["x0"], dtype=torch.float64, requires_grad=True)
    opt = acprop.ACProp(
        [param],
        given["lr"],
        given["betas"],
        given["eps"],
        given["weight_decay"],
        convention="authors",
        decoupled_weight_decay=given["decoupled"],
        average={"g": None, "m": "before"}[given["numerator"]],
        amsgrad=given["amsgrad"],
        foreach=foreach,
    )
    path = follow(opt, param, case["grads"], schedules[given["lr_schedule"]])
    np.testing.assert_allclose(path, case["x"], rtol=0, atol=1e-12)


def gradients(n_steps: int) -> np.ndarray:
    """Noise, with one element silent for a while; it starts loud."""
    gs = np.random.default_rng(0).normal(size=(n_steps, 4))
    gs[n_steps // 3 : n_steps // 2, 1] = 0
    return gs


@every_kernel
@pytest.mark.parametrize(("eps", "weight_decay"), [(1e-16, 0.0), (1e-3, 0.1)])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99)])
def test_the_optax_convention_is_optax(betas, eps, weight_decay, foreach):
    """optax.contrib.acprop, run live in float64."""
    gs, x0 = gradients(60), np.linspace(-1, 1, 4)
    expected = []
    with jax.enable_x64(True):
        both = {"eps": eps, "eps_root": eps}
        peer = optax.contrib.acprop(0.01, *betas, weight_decay=weight_decay, **both)
        x = jnp.asarray(x0)
        state = peer.init(x)
        for g in gs:
            update, state = peer.update(jnp.asarray(g), state, x)
            x = x + update
            expected.append(np.asarray(x))
    param = torch.tensor(x0, requires_grad=True)
    options = {"convention": "optax", "foreach": foreach}
    opt = acprop.ACProp([param], 0.01, betas, eps, weight_decay, **options)
    np.testing.assert_allclose(
        follow(opt, param, gs), np.array(expected), rtol=1e-11, atol=1e-12
    )
    assert jnp.zeros(1).dtype == jnp.float32  # the switch to 64 bits has not leaked


@every_kernel
@pytest.mark.parametrize(
    "schedule",
    [lambda _: 1e-3, lambda t: 1e-2 / t**0.5, lambda t: 1e-2 * (t % 10)],
    ids=["constant", "1/√t", "saw"],
)
def test_the_paper_convention_is_algorithm_2(schedule, foreach):
    """Line by line in numpy, ε = 1e-16 and so with the huge first step it implies."""
    gs, h = gradients(100), Settings(0.9, 0.999)
    state, x, expected = State(), np.linspace(-1, 1, 4), []
    for t, g in enumerate(gs, 1):
        state, d = step(rule.ACPROP_PAPER, rule.PAPER, state, g, h)
        x = x - schedule(t) * d
        expected.append(x)
    param = torch.linspace(-1, 1, 4, dtype=torch.float64, requires_grad=True)
    opt = acprop.ACProp([param], convention="paper", foreach=foreach)
    path = follow(opt, param, gs, schedule)
    # Relative to the first step, which sends x to 1e5 and rounds all that follows.
    np.testing.assert_allclose(path, expected, rtol=1e-13, atol=1e-9)


CLASSES = [
    acprop.ACProp,
    acprop.AdaBelief,
    acprop.AdaShift,
    acprop.Adam,
    acprop.RMSprop,
]


@every_kernel
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_named_class_is_its_group_and_nothing_more(cls, foreach):
    """So what the vectors say of a rule, they say of the class."""
    grads = FAMILY["gradients"]["plain"]
    param, copy = (torch.ones(5, requires_grad=True) for _ in range(2))
    opt = cls([param], foreach=foreach)
    group = {k: v for k, v in opt.param_groups[0].items() if k != "params"}
    assert any(case["rule"].items() <= group.items() for case in FAMILY["cases"])
    base = FamilyOptimizer([copy], **group)
    assert np.array_equal(follow(opt, param, grads), follow(base, copy, grads))
