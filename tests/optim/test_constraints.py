"""Projections onto feasible sets, beside minimisers that know nothing of them.

Π of Algorithm 2 asks for argmin Σ w_i·(y_i - x_i)² over the set, where w is the step's
denominator. Here w spans up to 12 decades. (Longer than our files should be: `tests/`
mirrors `src/` one to one.)
"""

import io
import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch._dynamo.utils import counters

import acprop
from acprop.optim import constraints
from acprop.optim.constraints import Ball, Box, from_plain
from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP_PAPER, PAPER

few = settings(max_examples=150, deadline=None, derandomize=True, database=None)
# Relative to the radius. √eps: where a heavy element is on the border by itself, a
# light one may be anything that does not show in the norm.
TOLERANCE = {torch.float64: 1e-7, torch.float32: 1e-3}
DTYPES = list(TOLERANCE)

both_kernels = pytest.mark.parametrize(
    "foreach", [False, True], ids=["loop", "foreach"]
)


def nearest_in_ball(x: np.ndarray, w: np.ndarray, radius: float) -> np.ndarray:
    """Bisect for the multiplier in float64, slow and sure; the center is 0."""
    if np.linalg.norm(x) <= radius:
        return x
    low, high = 0.0, w.max() * np.linalg.norm(x) / radius
    for _ in range(400):
        middle = (low + high) / 2
        is_outside = np.linalg.norm(x * (w / (w + middle))) > radius
        low, high = (middle, high) if is_outside else (low, middle)
    return x * (w / (w + high))


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


signed = st.tuples(st.sampled_from([-1.0, 1.0]), powers(-6, 6)).map(math.prod)
pairs = st.lists(st.tuples(signed, powers(-12, 0)), min_size=1, max_size=12)


# 1. The ball


@few
@given(pairs, powers(-8, 2), st.sampled_from(DTYPES))
# The slowest that a search found: Newton's λ grows from 1e-12 by a factor of 1.5 a step
@example([(1.0, 1e-12), (1.0, 1.0)], 1.0, torch.float64)
@example([(1e6, 1e-12), (1.0, 1.0)], 1.0, torch.float64)
@example([(1.0, 1.0), (300.0, 1e-12)], 1.0, torch.float32)
def test_the_ball_finds_the_minimiser_of_the_weighted_distance(point, radius, dtype):
    x, w = torch.tensor(point, dtype=dtype).T.contiguous()
    y = Ball(radius).project(x, w)
    expected = nearest_in_ball(x.double().numpy(), w.double().numpy(), radius)
    atol = TOLERANCE[dtype] * min(radius, np.linalg.norm(expected))
    np.testing.assert_allclose(y, expected, rtol=0, atol=atol)


@few
@given(pairs, powers(-8, 2))
def test_the_ball_meets_the_conditions_of_karush_kuhn_and_tucker(point, radius):
    """w·(x - y) = λ·y with one λ ≥ 0, and λ = 0 unless ‖y‖ = radius."""
    x, w = torch.tensor(point, dtype=torch.float64).T.contiguous()
    y = Ball(radius).project(x, w)
    pull = w * (x - y)
    multiplier = (pull @ y) / (y @ y)
    assert y.norm() <= radius * (1 + 1e-14)
    assert multiplier >= 0
    assert multiplier * (1 - y.norm() / radius) <= 1e-13 * multiplier
    # What rounding makes of x - y, times w, and of λ·y
    noise = 1e-14 * (w * x).norm() + 1e-12 * (multiplier * y).norm()
    assert (pull - multiplier * y).norm() <= noise


def test_the_ball_agrees_with_a_solver_that_sees_only_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, w, center = rng.normal(size=4), rng.uniform(0.1, 2, 4), rng.normal(size=4)
        best = minimize(
            lambda y, x, w: np.sum(w * (y - x) ** 2),
            center,
            (x, w),
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda y, c: 0.25 - np.sum((y - c) ** 2),
                "args": (center,),
            },
            options={"ftol": 1e-14},
        )
        y = Ball(0.5, torch.tensor(center)).project(torch.tensor(x), torch.tensor(w))
        np.testing.assert_allclose(y, best.x, rtol=0, atol=1e-6)


@few
@given(pairs, st.floats(0, 1), st.sampled_from(DTYPES))
def test_a_point_of_the_ball_stays_where_it_is(point, depth, dtype):
    x, w = torch.tensor(point, dtype=dtype).T.contiguous()
    radius = x.double().norm().item() * (1 + 1e-6 + depth)
    assert torch.equal(Ball(radius).project(x, w), x)


def test_a_point_on_the_border_stays_where_it_is():
    x = torch.tensor([3.0, -4.0])
    assert torch.equal(Ball(5.0).project(x, torch.tensor([1.0, 1e-9])), x)


@few
@given(pairs, powers(-8, 2), st.sampled_from(DTYPES))
def test_projecting_onto_the_ball_twice_is_projecting_once(point, radius, dtype):
    x, w = torch.tensor(point, dtype=dtype).T.contiguous()
    once = Ball(radius).project(x, w)
    assert torch.equal(Ball(radius).project(once, w), once)


def test_elements_that_are_cheap_to_move_give_way_first():
    """Not a rescaling, which would keep 3 : 4."""
    x, w = torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.01])
    y = Ball(1.0).project(x, w)
    torch.testing.assert_close(y, torch.tensor([0.9998, 0.0199]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("metric", [0.0, 1e-30, 1.0, 1e30, math.inf])
def test_equal_weights_of_any_size_make_it_a_rescaling(metric):
    """inf is the denominator of a tensor that has seen nothing."""
    x = torch.tensor([3.0, 4.0])
    y = Ball(1.0).project(x, torch.full((2,), metric))
    torch.testing.assert_close(y, torch.tensor([0.6, 0.8]))


@pytest.mark.parametrize("size", [1e3, 1e15, 1e20, 1e28])
def test_the_ball_survives_a_point_far_away_in_float32(size):
    """A step of g/√ε is 1e8·g; squares of such numbers leave float32."""
    x = size * torch.tensor([1.0, -1.0, 0.5])
    w = torch.tensor([1.0, 1e-3, 1e-6])
    expected = nearest_in_ball(x.double().numpy(), w.double().numpy(), 1e-8)
    y = Ball(1e-8).project(x, w)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-6 * 1e-8)


def test_a_nan_is_not_hidden():
    x = torch.tensor([math.nan, 0.5])
    assert Ball(1.0).project(x, torch.ones(2))[0].isnan()
    assert Box(0.0, 1.0).project(x, torch.ones(2))[0].isnan()


@pytest.mark.parametrize("x", [[0.1, 0.2], [0.0, 0.0], [3.0, -4.0]])
def test_autograd_runs_through_the_ball(x):
    """For `differentiable=True`, inside the ball as outside."""
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    w = torch.tensor([1.0, 0.01], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: Ball(1.0).project(x, w), (x,))


def count_newton_steps(x: torch.Tensor, w: torch.Tensor, monkeypatch) -> int:
    """How many steps until more of them change nothing but the last bits?"""
    paths = []
    for n_steps in (*range(40), 200):
        monkeypatch.setattr(constraints, "_NEWTON_STEPS", n_steps)
        paths.append(Ball(1.0).project(x, w))
    settled = [(y - paths[-1]).abs().max() <= 1e-13 for y in paths]
    return settled.index(True)


def test_newtons_method_needs_no_more_steps_than_it_gets(monkeypatch):
    """The numbers in the comment on `_NEWTON_STEPS`."""
    limit = constraints._NEWTON_STEPS
    draw = torch.Generator().manual_seed(0)
    worst = 0
    for _ in range(15):
        w = 10 ** (-12 * torch.rand(20, generator=draw, dtype=torch.float64))
        x = 10 * torch.randn(20, generator=draw, dtype=torch.float64)
        worst = max(worst, count_newton_steps(x, w, monkeypatch))
    assert worst <= 14
    x, w = torch.tensor([[1.0, 1.0], [1e-12, 1.0]], dtype=torch.float64)
    assert 20 <= count_newton_steps(x, w, monkeypatch) < limit == 30


# 2. The box


@few
@given(pairs, st.floats(-10, 10), st.floats(0, 10))
def test_the_box_finds_the_minimiser_whatever_the_metric(point, lo, width):
    x, w = torch.tensor(point, dtype=torch.float64).T.contiguous()
    box = Box(lo, lo + width)
    y = box.project(x, w)
    grid = np.linspace(lo, lo + width, 101)
    distance = w[:, None] * (torch.tensor(grid) - x[:, None]) ** 2
    assert ((w * (y - x) ** 2)[:, None] <= distance).all()
    assert torch.equal(box.project(y, w), y)
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
    np.testing.assert_array_equal(Box(lo, hi).project(x, torch.ones(3)), expected)


# 3. Inside a step


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
@pytest.mark.parametrize("kind", ["ball", "box"])
def test_algorithm_2_projects_in_the_metric_of_its_step(kind, foreach):
    """x_t = Π_{F,√s_{t-1}}(x_{t-1} - α·g_t/√(s_{t-1} + ε)), line 6."""
    rng = np.random.default_rng(0)
    gs = rng.normal(size=(40, 6)) * np.geomspace(1e-3, 1, 6)
    center = rng.normal(size=6)
    constraint, project = {
        "ball": (
            Ball(0.5, torch.tensor(center)),
            lambda x, w: center + nearest_in_ball(x - center, w, 0.5),
        ),
        "box": (Box(-0.5, 0.25), lambda x, _: np.clip(x, -0.5, 0.25)),
    }[kind]
    h, state, x, expected = Hyper(0.9, 0.99), State(), np.zeros(6), []
    for g in gs:
        w = np.sqrt(np.broadcast_to(state.s, 6) + PAPER.eps)
        state, d = step(ACPROP_PAPER, PAPER, state, g, h)
        x = project(x - 0.1 * d, w)
        expected.append(x)
    param = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    opt = acprop.ACProp(
        [param],
        lr=0.1,
        betas=(0.9, 0.99),
        convention="paper",
        constraint=constraint,
        foreach=foreach,
    )
    for [y], x in zip(walk(opt, [param], gs), expected, strict=True):
        np.testing.assert_allclose(y, x, rtol=0, atol=1e-9)


@both_kernels
def test_a_constraint_holds_for_each_tensor_by_itself(foreach):
    gs = np.random.default_rng(0).normal(size=(20, 4))
    ball = {"lr": 0.3, "constraint": Ball(0.5), "foreach": foreach}
    together = [torch.ones(4, requires_grad=True), torch.full((2, 2), -1.0)]
    alone = [p.detach().clone().requires_grad_() for p in together]
    walk(acprop.ACProp(together, **ball), together, gs)
    for param in alone:
        walk(acprop.ACProp([param], **ball), [param], gs)
    for a, b in zip(together, alone, strict=True):
        assert torch.equal(a, b)
        assert a.norm() <= 0.5 * (1 + 1e-6)


@both_kernels
def test_a_tensor_that_has_seen_nothing_is_projected_in_the_plain_metric(foreach):
    param = torch.tensor([3.0, 4.0], requires_grad=True)
    opt = acprop.ACProp([param], constraint=Ball(1.0), foreach=foreach)
    walk(opt, [param], np.array([[1.0, 100.0]]))
    moved = torch.tensor([3.0, 4.0]) - 1e-3 * (1 - 0.9**2)  # lr·(1 - β1²)·sign(g)
    torch.testing.assert_close(param.detach(), moved / moved.norm())


@both_kernels
@pytest.mark.parametrize(
    ("constraint", "real"),
    [
        (Ball(0.5), Ball(0.5)),
        (
            Ball(0.5, torch.tensor([1 + 1j, 0.5j])),
            Ball(0.5, torch.tensor([[1.0, 1.0], [0.0, 0.5]])),
        ),
        (Box(-0.1, 0.2), Box(-0.1, 0.2)),
        (
            Box(-0.1, torch.tensor([1 + 0.5j, 0.2j])),
            Box(-0.1, torch.tensor([[1.0, 0.5], [0.0, 0.2]])),
        ),
    ],
    ids=["ball", "center", "box", "bounds"],
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
@pytest.mark.parametrize("constraint", [Ball(0.5), Box(-0.5, 0.5)], ids=["ball", "box"])
def test_a_parameter_without_dimensions_is_an_interval(constraint, foreach):
    param = torch.tensor(2.0, requires_grad=True)
    options = {"lr": 0.3, "constraint": constraint, "foreach": foreach}
    opt = acprop.ACProp([param], average=None, **options)
    path = walk(opt, [param], np.ones(20))
    assert [x.item() for [x] in path[:2]] == [0.5, pytest.approx(0.2, abs=0.2)]
    assert path[-1][0].item() == -0.5


@both_kernels
@pytest.mark.parametrize("constraint", [Ball(0.3), Box(-0.3, 0.3)], ids=["ball", "box"])
def test_a_bfloat16_parameter_is_projected_before_it_is_rounded(constraint, foreach):
    """What is stored may pass the border by its rounding; the compensated value not."""
    param = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    options = {"lr": 0.1, "constraint": constraint, "foreach": foreach}
    opt = acprop.ACProp([param], **options)
    for g in np.random.default_rng(0).normal(size=(20, 1, 3)):
        walk(opt, [param], g)
        stored = param.detach().float()
        whole = stored + opt.state[param]["compensation"].float()
        for value, slack in ((stored, 2**-8), (whole, 2**-15)):
            bounded = constraint.project(value, torch.ones(3))
            torch.testing.assert_close(bounded, value, rtol=slack, atol=0)


@pytest.mark.parametrize(
    "constraint",
    [
        Ball(0.5),
        Ball(0.5, torch.tensor([0.1, 0.2])),
        Box(-0.2, 0.3),
        Box(torch.tensor([-0.1, -0.2]), 0.3),
    ],
    ids=["ball", "center", "box", "bounds"],
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
    assert type(from_plain(other.param_groups[0]["constraint"])) is type(constraint)
    walk(opt, [param], -gs)
    walk(other, [copy], -gs)
    assert torch.equal(copy, param)


def test_a_constraint_breaks_no_compiled_step():
    """A check that waits for a tensor would split the graph and stall a device."""
    breaks = []
    for constraint in (None, Ball(0.5, torch.zeros(2)), Box(torch.zeros(2), 1.0)):
        torch._dynamo.reset()
        counters.clear()
        param = torch.ones(2, requires_grad=True)
        opt = acprop.ACProp([param], constraint=constraint, foreach=False)
        param.grad = torch.ones(2)
        torch.compile(opt.step, backend="eager")()
        breaks.append(sum(counters["graph_break"].values()))
    assert breaks[1] == breaks[2] == breaks[0]


# 4. What is no set


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
            lambda: Ball(0.0),
            ValueError,
            "radius must be finite and above 0, got 0.0",
        ),
        (lambda: Ball(-1), ValueError, "radius must be finite and above 0, got -1"),
        (lambda: Ball(NAN), ValueError, "radius must be finite and above 0, got nan"),
        (
            lambda: Ball(math.inf),
            ValueError,
            "radius must be finite and above 0, got inf",
        ),
        (lambda: Ball("1"), TypeError, "radius must be a number, got '1'"),
        (lambda: Ball(True), TypeError, "radius must be a number, got True"),
        (lambda: Ball(None), TypeError, "radius must be a number, got None"),
        (
            lambda: Ball(torch.tensor(1.0)),
            TypeError,
            "radius must be a number, got tensor(1.)",
        ),
        (
            lambda: Ball(1.0, [0.0]),
            TypeError,
            "center must be a number or a tensor, got [0.0]",
        ),
        (lambda: Ball(1.0, NAN), ValueError, "center must be finite, got nan"),
        (
            lambda: Ball(1.0, torch.tensor([0.0, math.inf])),
            ValueError,
            "center must be finite, got tensor([0., inf])",
        ),
        (
            lambda: acprop.ACProp([torch.zeros(1)], constraint="box"),
            TypeError,
            "constraint must be None, a Box or a Ball, got 'box'; "
            "for example acprop.Box(-1.0, 1.0)",
        ),
        (
            lambda: acprop.ACProp([torch.zeros(1)], constraint=Box),
            TypeError,
            f"constraint must be None, a Box or a Ball, got {Box!r}; "
            "for example acprop.Box(-1.0, 1.0)",
        ),
    ],
)
def test_what_is_no_feasible_set_is_refused(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message
