"""All ways to take the same step take the same step."""

from importlib import import_module

import pytest
import torch

import acprop
from acprop.optim import dispatch

from .infos import (
    CASES,
    KERNELS,
    each_case,
    each_case_on_every_kernel,
    each_class,
    each_kernel,
    each_option,
    paired,
)
from .walks import (
    exactly,
    feed,
    gradient,
    leaf,
    mixed_params,
    plain_params,
    snapshot,
    up_to_rounding,
    walk,
)


@each_case
def test_foreach_is_the_loop_for_tensors_of_every_kind_in_one_group(case):
    loop = case.make(mixed_params(), foreach=False)
    foreach = case.make(mixed_params(), foreach=True)
    for t in range(6):
        for optimizer in (loop, foreach):
            feed(optimizer, t)
            # Some miss a step, so that the counters within a group differ.
            for param in optimizer.param_groups[0]["params"][t : t + 2]:
                param.grad = None
            optimizer.step()
    up_to_rounding(snapshot(foreach), snapshot(loop))


@each_option
def test_foreach_does_not_mind_gradients_laid_out_unlike_their_parameters(case):
    loop, foreach = (case.make(plain_params(), foreach=f) for f in (False, True))
    for t in range(4):
        for optimizer in (loop, foreach):
            weight, bias, _ = optimizer.param_groups[0]["params"]
            weight.grad = gradient(weight, 0, t).t().contiguous().t()
            bias.grad = gradient(weight, 0, t).t()[:, 0]
            optimizer.step()
    up_to_rounding(snapshot(foreach), snapshot(loop))


def watch_kernels(monkeypatch) -> list[str]:
    """The names of the kernels that are called, none of which does anything."""
    used = []
    for name in ("loop", "foreach"):
        kernel = getattr(dispatch, name)
        monkeypatch.setattr(kernel, "update", lambda *_, name=name: used.append(name))
    monkeypatch.setattr(
        dispatch.native.PreparedCall, "run", lambda *_: used.append("native")
    )
    return used


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({}, "native"),
        ({"fused": True}, "native"),
        ({"fused": True, "foreach": False}, "native"),
        ({"fused": False}, "loop"),
        ({"foreach": False}, "loop"),
        ({"foreach": True}, "foreach"),
        ({"constraint": acprop.Box(-1.0, 1.0)}, "loop"),
        ({"capturable": True}, "loop"),
        ({"differentiable": True}, "loop"),
    ],
    ids=str,
)
@each_class
def test_the_kernel_is_the_callers_choice_and_native_on_the_cpu(
    cls, choice, expected, monkeypatch
):
    used = watch_kernels(monkeypatch)
    walk(cls(plain_params(), **choice), 1)
    assert used == [expected]


@pytest.mark.parametrize(
    ("differentiable", "expected"), [(False, "foreach"), (True, "loop")]
)
@each_class
def test_where_torch_prefers_foreach_it_is_the_default(
    cls, differentiable, expected, monkeypatch
):
    """As on an accelerator, which this machine has not, nor the native kernel."""
    used = watch_kernels(monkeypatch)
    monkeypatch.setattr(dispatch.native, "obstacle", lambda _: "not here")
    monkeypatch.setattr(
        import_module("torch.optim.optimizer"),  # torch.optim deletes the attribute
        "_get_foreach_kernels_supported_devices",
        lambda: ["cpu"],
    )
    walk(cls(plain_params(), differentiable=differentiable), 1)
    assert used == [expected]


@each_case_on_every_kernel
def test_a_complex_parameter_is_its_real_view(case):
    single, double = plain_params(torch.complex64), plain_params(torch.complex128)
    complex_params = [*single[:2], *double[1:]]
    as_complex = case.make(complex_params)
    as_real = case.make([leaf(torch.view_as_real(p)) for p in complex_params])
    for t in range(4):
        feed(as_complex, t)
        for z, x in zip(complex_params, as_real.param_groups[0]["params"], strict=True):
            x.grad = torch.view_as_real(z.grad).clone()
        as_complex.step()
        as_real.step()
    views = [
        entry | {"param": torch.view_as_real(entry["param"])}
        for entry in snapshot(as_complex)
    ]
    exactly(views, snapshot(as_real))


@each_kernel
@each_class
def test_a_gradient_that_is_conjugated_lazily_counts_like_any_other(cls, foreach):
    """Autograd leaves such gradients, and torch.optim.Adam trips over them."""
    lazy, plain = (cls(plain_params(torch.complex64), foreach=foreach) for _ in "ab")
    for t in range(3):
        feed(lazy, t)
        feed(plain, t)
        for p, q in zip(
            lazy.param_groups[0]["params"], plain.param_groups[0]["params"], strict=True
        ):
            p.grad = p.grad.conj()
            q.grad = p.grad.resolve_conj().clone()
            assert p.grad.is_conj()
            assert not q.grad.is_conj()
        lazy.step()
        plain.step()
    exactly(snapshot(lazy), snapshot(plain))


NOT_CAPTURABLE = [case for case in CASES if "capturable" not in case.desc]


@pytest.mark.parametrize(("case", "foreach"), paired(NOT_CAPTURABLE, KERNELS), ids=str)
def test_a_counter_on_the_device_changes_no_more_than_rounding(case, foreach):
    """The scalars are then tensors; in float64 nothing may fall back to float32."""
    params = plain_params(torch.float64)
    plain = walk(case.make(params, foreach=foreach), 5)
    capturable = case.make(
        plain_params(torch.float64), foreach=foreach, capturable=True
    )
    # 1 - 0.999^t cancels where it is a number: 3 digits at the first step.
    up_to_rounding(snapshot(walk(capturable, 5)), snapshot(plain), factor=8)


@each_kernel
@pytest.mark.parametrize(
    "lr",
    [
        torch.tensor(0.25),
        torch.tensor(0.25, dtype=torch.float64),
        torch.tensor([0.25]),
        torch.tensor([[0.25]], dtype=torch.float64),
    ],
    ids=["0-dim", "0-dim double", "1-dim", "2-dim double"],
)
@each_class
def test_a_learning_rate_may_be_a_tensor(cls, lr, foreach):
    options = {"foreach": foreach, "weight_decay": 0.5}
    tensor = walk(cls(mixed_params(), lr=lr, **options), 4)
    number = walk(cls(mixed_params(), lr=0.25, **options), 4)
    up_to_rounding(snapshot(tensor), snapshot(number))


@each_kernel
def test_a_tensor_learning_rate_is_read_at_every_step(foreach):
    lr = torch.tensor(0.0)
    optimizer = walk(acprop.ACProp(plain_params(), lr=lr, foreach=foreach), 3)
    exactly([e["param"] for e in snapshot(optimizer)], plain_params())
    lr.fill_(0.5)
    walk(optimizer, range(3, 4))
    assert (snapshot(optimizer)[0]["param"] != plain_params()[0]).all()
