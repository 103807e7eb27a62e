"""What must hold for every path of gradients, searched for a path that breaks it."""

from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import acprop
from acprop.optim.step_options import step_options_of

from .infos import CASES, each_class, each_kernel
from .walks import exactly, leaf, params_of, snapshot, up_to_rounding

# The same paths in every run; the default of 100 is for those with an empty machine.
searched = settings(derandomize=True, max_examples=30, deadline=None)

# 0 or at least 1/64 and exact in binary, so that no square underflows and small sums
# are exact.
elements = st.integers(-512, 512).map(lambda i: i / 64)


def arrays(*shape):
    *outer, n = shape
    values = st.lists(elements, min_size=n, max_size=n)
    for size in reversed(outer):
        values = st.lists(values, min_size=size, max_size=size)
    return values.map(lambda v: torch.tensor(v, dtype=torch.float64))


def follow(optimizer, path):
    """Step along a path: for each step, the gradients of all parameters."""
    for grads in path:
        for param, grad in zip(params_of(optimizer), grads, strict=True):
            param.grad = grad.clone()
        optimizer.step()
    return optimizer


def zeros(n_tensors, n_elements):
    return [
        leaf(torch.zeros(n_elements, dtype=torch.float64)) for _ in range(n_tensors)
    ]


def settled(case):
    """The settings that the kernels would see."""
    return step_options_of(case.make(zeros(1, 1)).param_groups[0])


FLOATING_LR = [case for case in CASES if "tensor lr" not in case.desc]
SETTLED = {str(case): settled(case) for case in FLOATING_LR}
# Each element by itself: no shared moment.
ELEMENTWISE = [
    case for case in FLOATING_LR if SETTLED[str(case)].rule.reduction is None
]
# The denominator knows the past only, and what it divides is linear in the gradient.
ASYNCHRONOUS = [
    case
    for case in FLOATING_LR
    if SETTLED[str(case)].rule.delay >= 1
    and SETTLED[str(case)].clip is None
    and SETTLED[str(case)].constraint is None
    and SETTLED[str(case)].weight_decay == 0
]


def test_the_searches_have_something_to_search():
    assert len(ELEMENTWISE) > 50
    assert len(ASYNCHRONOUS) > 15
    assert {case.cls for case in ASYNCHRONOUS} == {acprop.ACProp, acprop.AdaShift}


@each_kernel
@searched
@given(
    case=st.sampled_from(FLOATING_LR),
    path=arrays(4, 3, 5),
    order=st.permutations(range(3)),
)
def test_the_order_of_tensors_does_not_matter(case, path, order, foreach):
    plain = follow(case.make(zeros(3, 5), foreach=foreach), path)
    shuffled = follow(case.make(zeros(3, 5), foreach=foreach), path[:, order])
    expected = snapshot(plain)
    exactly(snapshot(shuffled), [expected[i] for i in order])


@each_kernel
@searched
@given(case=st.sampled_from(FLOATING_LR), path=arrays(4, 3, 5), cut=st.integers(0, 3))
def test_groups_of_equal_options_are_one_group(case, path, cut, foreach):
    together, apart = zeros(3, 5), zeros(3, 5)
    one = case.make(together, foreach=foreach)
    two = case.make([{"params": apart[:cut]}, {"params": apart[cut:]}], foreach=foreach)
    exactly(snapshot(follow(two, path)), snapshot(follow(one, path)))


@each_kernel
@searched
@given(case=st.sampled_from(ELEMENTWISE), path=arrays(4, 1, 6), cut=st.integers(1, 5))
def test_a_tensor_may_be_split(case, path, cut, foreach):
    """Algorithm 2 has no norm, and neither has the bound."""
    whole = follow(case.make(zeros(1, 6), foreach=foreach), path)
    pieces = [*zeros(1, cut), *zeros(1, 6 - cut)]
    split = case.make(pieces, foreach=foreach)
    follow(split, [(g[0, :cut], g[0, cut:]) for g in path])
    (expected,) = snapshot(whole)
    joined = {
        name: torch.cat([piece[name] for piece in snapshot(split)], dim=-1)
        for name in expected
        if name != "step"
    }
    del expected["step"]
    # Vector and scalar instructions may round a fused multiply-add differently.
    up_to_rounding([joined], [expected])


@each_kernel
@searched
@given(
    case=st.sampled_from(FLOATING_LR),
    path=arrays(4, 1, 6),
    order=st.permutations(range(6)),
)
def test_the_order_of_elements_does_not_matter(case, path, order, foreach):
    """A norm or a shared moment adds up in another order."""
    plain = follow(case.make(zeros(1, 6), foreach=foreach), path)
    shuffled = follow(case.make(zeros(1, 6), foreach=foreach), path[:, :, order])
    (expected,) = snapshot(plain)
    moved = {name: _in_order(value, order) for name, value in expected.items()}
    # The gradients reach 8 here, their squares 64.
    up_to_rounding(snapshot(shuffled), [moved], factor=64)


def _in_order(value, order):
    return value[..., order] if value.shape[-1:] == (6,) else value


def displacement(optimizer, grad):
    """Where the next step would lead from 0, without taking it."""
    trial = deepcopy(optimizer)
    (param,) = params_of(trial)
    param.data.zero_()
    follow(trial, [[grad]])
    return param.detach()


LOUD = torch.tensor([[8.0, -8.0, 8.0, 1.0]], dtype=torch.float64)


def after(case, path, foreach):
    optimizer = case.make(zeros(1, 4), foreach=foreach, maximize=False)
    # As often as the longest delay, because a window must let go of it first.
    return follow(optimizer, [LOUD, LOUD, LOUD, *path])


@each_kernel
@searched
@given(case=st.sampled_from(ASYNCHRONOUS), path=arrays(3, 1, 4), grad=arrays(4))
def test_the_step_doubles_with_the_gradient(case, path, grad, foreach):
    """Lemma 3.3: the denominator does not know g_t. Exactly, as 2 is exact."""
    optimizer = after(case, path, foreach)
    rest = displacement(optimizer, torch.zeros_like(grad))
    once, twice = (displacement(optimizer, c * grad) for c in (1, 2))
    group = optimizer.param_groups[0]
    # A mean, over a window or running, adds up, and rounds.
    tolerance = 1e-13 * (
        max(group["delay"] - 1, 0) + 10 * (group["average"] is not None)
    )
    torch.testing.assert_close(
        twice - rest, 2 * (once - rest), rtol=tolerance, atol=tolerance
    )


@each_kernel
@searched
@given(
    case=st.sampled_from(ASYNCHRONOUS),
    path=arrays(3, 1, 4),
    one=arrays(4),
    other=arrays(4),
)
def test_the_step_is_linear_in_the_gradient(case, path, one, other, foreach):
    optimizer = after(case, path, foreach)
    rest = displacement(optimizer, torch.zeros_like(one))
    both = displacement(optimizer, one + other)
    apart = displacement(optimizer, one) + displacement(optimizer, other)
    torch.testing.assert_close(both + rest, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "cls", [acprop.Adam, acprop.AdaBelief, acprop.RMSprop], ids=lambda c: c.__name__
)
def test_a_synchronous_step_is_not_linear(cls):
    """The check above can fail: these divide by what they have just seen."""
    optimizer = follow(cls(zeros(1, 4)), [LOUD])
    grad = torch.ones(4, dtype=torch.float64)
    once, twice = (displacement(optimizer, c * grad) for c in (1, 2))
    assert ((twice - 2 * once).abs() > 1e-6).all()


@each_kernel
@each_class
@searched
@given(
    path=arrays(5, 2, 4),
    power=st.integers(-8, 8),
    options=st.fixed_dictionaries(
        {
            "weight_decay": st.sampled_from([0.0, 0.125]),
            "amsgrad": st.booleans(),
            "clip": st.sampled_from([0.5, "t**0.25"]),
            "capturable": st.booleans(),
        }
    ),
)
def test_scaling_the_loss_changes_nothing_under_guard(
    cls, path, power, options, foreach
):
    """By a power of 2, so that every product is exact: the same walk, bit for bit."""
    options |= {"convention": "guarded", "decoupled_weight_decay": True}
    plain, scaled = (cls(zeros(2, 4), foreach=foreach, **options) for _ in range(2))
    follow(plain, path)
    follow(scaled, path * 2.0**power)
    walks = [[entry["param"] for entry in snapshot(o)] for o in (scaled, plain)]
    exactly(*walks)


@searched
@given(
    path=arrays(5, 1, 6),
    cut=st.integers(0, 6),
    options=st.sampled_from(
        [
            {},
            {"average": None},
            {"average": "before"},
            {"average": "after", "center": "m"},
            {"average": "after", "center": None, "nesterov": True},
            {"nesterov": False},
            {"weight_decay": 0.125},
            {"amsgrad": True},
            {"eps": 0.0},
        ]
    ),
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_splitting_merging_or_flattening_changes_no_bit_of_the_default(
    path, cut, options, dtype
):
    """The promise of README: every element is a world of its own."""
    grads = path[:, 0].to(dtype)

    def walked(*shapes):
        sizes = [torch.Size(shape).numel() for shape in shapes]
        params = [leaf(torch.ones(shape, dtype=dtype)) for shape in shapes]
        parts = [g.split(sizes) for g in grads]
        follow(
            acprop.ACProp(params, lr=0.1, **options),
            [[g.view(s) for g, s in zip(p, shapes, strict=True)] for p in parts],
        )
        return torch.cat([p.detach().flatten() for p in params])

    whole = walked((6,))
    exactly(walked((cut,), (6 - cut,)), whole)
    exactly(walked((2, 3)), whole)
    exactly(walked((1,), (1, 2, 1), (3, 1)), whole)
