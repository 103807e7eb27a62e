"""The projection onto a box, beside minimisers that know nothing of it.

Π of Algorithm 2 is argmin Σ w_i·(y_i - x_i)² over the set, where w is the step's
denominator. Here w spans up to 12 decades.
"""

import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.utils import counters

import acprop
from acprop.optim.constraints import Box, box_of
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, PAPER

few = settings(max_examples=150, deadline=None, derandomize=True, database=None)
both_kernels = pytest.mark.parametrize(
    "foreach", [False, True], ids=["loop", "foreach"]
)


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


signed = st.tuples(st.sampled_from([-1.0, 1.0]), powers(-6, 6)).map(math.prod)
pairs = st.lists(st.tuples(signed, powers(-12, 0)), min_size=1, max_size=12)


# 1. The box


@few
@given(pairs, st.floats(-10, 10), st.floats(0, 10))
def test_the_box_finds_the_minimiser_whatever_the_metric(point, lo, width):
    x, w = torch.tensor(point, dtype=torch.float64).T.contiguous()
    box = Box(lo, lo + width)
    y = box.project(x)
    grid = np.linspace(lo, lo + width, 101)
    distance = w[:, None] * (torch.tensor(grid) - x[:, None]) ** 2
    assert ((w * (y - x) ** 2)[:, None] <= distance).all()
    assert torch.equal(box.project(y), y)
    inside = (x >= lo) & (x <= lo + width)
    assert torch.equal(y[inside], x[inside])


@pytest.mark.parametrize(
    ("lo", "hi"),
    [
        (-1.0, torch.tensor([0.0, 1.0, 2.0])),
        (torch.tensor([-1.0, -2.0, 0.5]), 1),
        (torch.tensor([-1.0, -2.0, 0.5]), torch.tensor([0.0, 1.0, 2.0])),
        (-math.inf, 0.0),
    ],
)
def test_bounds_may_be_numbers_or_tensors(lo, hi):
    x = torch.tensor([-5.0, 0.25, 5.0])
    expected = np.clip(x.numpy(), np.asarray(lo), np.asarray(hi))
    np.testing.assert_array_equal(Box(lo, hi).project(x), expected)


# 2. Inside a step


def walk(opt: acprop.ACProp, params: list[torch.Tensor], gs: np.ndarray) -> list:
    """Give every parameter the same gradients; return each one's path."""
    path = []
    for g in gs:
        for param in params:
            param.grad = torch.tensor(g).to(param.dtype).view_as(param)
        opt.step()
        path.append([param.detach().clone() for param in params])
    return path


@both_kernels
def test_algorithm_2_projects_after_its_step(foreach):
    """x_t = Π_{F,√s_{t-1}}(x_{t-1} - α·g_t/√(s_{t-1} + ε)), line 6."""
    gs = np.random.default_rng(0).normal(size=(40, 6)) * np.geomspace(1e-3, 1, 6)
    h, state, x, expected = Settings(0.9, 0.99), State(), np.zeros(6), []
    for g in gs:
        state, d = step(ACPROP_PAPER, PAPER, state, g, h)
        x = np.clip(x - 0.1 * d, -0.5, 0.25)
        expected.append(x)
    param = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    opt = acprop.ACProp(
        [param],
        lr=0.1,
        betas=(0.9, 0.99),
        convention="paper",
        constraint=Box(-0.5, 0.25),
        foreach=foreach,
    )
    for [y], x in zip(walk(opt, [param], gs), expected, strict=True):
        np.testing.assert_allclose(y, x, rtol=0, atol=1e-9)


@both_kernels
@pytest.mark.parametrize(
    ("constraint", "real"),
    [
        (Box(-0.1, 0.2), Box(-0.1, 0.2)),
        (
            Box(-0.1, torch.tensor([1 + 0.5j, 0.2j])),
            Box(-0.1, torch.tensor([[1.0, 0.5], [0.0, 0.2]])),
        ),
    ],
    ids=["box", "bounds"],
)
def test_a_complex_parameter_is_its_real_view(constraint, real, foreach):
    gs = torch.randn(20, 2, 2, generator=torch.Generator().manual_seed(0))
    z = torch.tensor([1 + 2j, -1j], requires_grad=True)
    x = torch.view_as_real(z.detach()).clone().requires_grad_()
    complex_opt = acprop.ACProp([z], lr=0.3, constraint=constraint, foreach=foreach)
    real_opt = acprop.ACProp([x], lr=0.3, constraint=real, foreach=foreach)
    for g in gs:
        z.grad, x.grad = torch.view_as_complex(g), g
        complex_opt.step()
        real_opt.step()
    assert torch.equal(torch.view_as_real(z.detach()), x.detach())


@both_kernels
def test_a_parameter_without_dimensions_is_an_interval(foreach):
    param = torch.tensor(2.0, requires_grad=True)
    options = {"lr": 0.3, "constraint": Box(-0.5, 0.5), "foreach": foreach}
    opt = acprop.ACProp([param], average=None, **options)
    path = walk(opt, [param], np.ones(20))
    assert [x.item() for [x] in path[:2]] == [0.5, pytest.approx(0.2, abs=0.2)]
    assert path[-1][0].item() == -0.5


@both_kernels
def test_a_bfloat16_parameter_is_projected_before_it_is_rounded(foreach):
    """What is stored may pass the border by its rounding; the compensated value not."""
    constraint = Box(-0.3, 0.3)
    param = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    options = {"lr": 0.1, "constraint": constraint, "foreach": foreach}
    opt = acprop.ACProp([param], **options)
    for g in np.random.default_rng(0).normal(size=(20, 1, 3)):
        walk(opt, [param], g)
        stored = param.detach().float()
        whole = stored + opt.state[param]["compensation"].float()
        for value, slack in ((stored, 2**-8), (whole, 2**-15)):
            bounded = constraint.project(value)
            torch.testing.assert_close(bounded, value, rtol=slack, atol=0)


@pytest.mark.parametrize(
    "constraint",
    [
        Box(-0.2, 0.3),
        Box(torch.tensor([-0.1, -0.2]), 0.3),
    ],
    ids=["box", "bounds"],
)
def test_a_constraint_survives_a_checkpoint_of_plain_values(constraint):
    """torch.load(weights_only=True) knows tensors and numbers, not our classes."""
    gs = np.random.default_rng(0).normal(size=(10, 2))
    param = torch.zeros(2, requires_grad=True)
    opt = acprop.ACProp([param], lr=0.3, constraint=constraint)
    walk(opt, [param], gs)
    file = io.BytesIO()
    torch.save((param.detach(), opt.state_dict()), file)
    file.seek(0)
    copy, saved = torch.load(file, weights_only=True)
    copy.requires_grad_()
    other = acprop.ACProp([copy], lr=0.3)
    other.load_state_dict(saved)
    assert type(box_of(other.param_groups[0]["constraint"])) is type(constraint)
    walk(opt, [param], -gs)
    walk(other, [copy], -gs)
    assert torch.equal(copy, param)


def test_a_constraint_breaks_no_compiled_step():
    """A check that waits for a tensor would split the graph and stall a device."""
    breaks = []
    for constraint in (None, Box(torch.zeros(2), 1.0)):
        torch._dynamo.reset()
        counters.clear()
        param = torch.ones(2, requires_grad=True)
        opt = acprop.ACProp([param], constraint=constraint, foreach=False)
        param.grad = torch.ones(2)
        torch.compile(opt.step, backend="eager")()
        breaks.append(sum(counters["graph_break"].values()))
    assert breaks[1] == breaks[0]


# 3. What is no box


NAN = math.nan


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Box(1.0, 0.0), ValueError, "lo must be at most hi, got 1.0 and 0.0"),
        (lambda: Box(NAN, 0.0), ValueError, "lo must be at most hi, got nan and 0.0"),
        (lambda: Box(0.0, NAN), ValueError, "lo must be at most hi, got 0.0 and nan"),
        (
            lambda: Box(0.0, torch.tensor([1.0, -1.0])),
            ValueError,
            "lo must be at most hi, got 0.0 and tensor([ 1., -1.])",
        ),
        (
            lambda: Box(torch.tensor(NAN), 1.0),
            ValueError,
            "lo must be at most hi, got nan and 1.0",
        ),
        (lambda: Box("0", 1), TypeError, "lo must be a number or a tensor, got '0'"),
        (lambda: Box(0, None), TypeError, "hi must be a number or a tensor, got None"),
        (lambda: Box(0, True), TypeError, "hi must be a number or a tensor, got True"),
        (
            lambda: acprop.ACProp([torch.zeros(1)], constraint="box"),
            TypeError,
            "constraint must be None or a Box, got 'box'; "
            "for example acprop.Box(-1.0, 1.0)",
        ),
        (
            lambda: acprop.ACProp([torch.zeros(1)], constraint=Box),
            TypeError,
            f"constraint must be None or a Box, got {Box!r}; "
            "for example acprop.Box(-1.0, 1.0)",
        ),
    ],
)
def test_what_is_no_feasible_set_is_refused(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message
