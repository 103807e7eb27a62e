"""What users and libraries do to groups, parameters and gradients between two steps.

The kernel that keeps addresses must never move what is no longer there, read what has
no memory, or do anything that the plain loop would not do.
"""

import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

import acprop
from acprop import native

from .walks import exactly, feed, leaf, snapshot, up_to_rounding, walk

# 1. Other parameters in a group, other groups


def replace_params(opt, spare):
    opt.param_groups[0]["params"] = [spare]


def delete_group(opt, spare):
    opt.add_param_group({"params": [spare]})
    del opt.param_groups[0]


def reverse_groups(opt, spare):
    opt.add_param_group({"params": [spare], "lr": 0.5})
    opt.param_groups.reverse()


def exchange_groups(opt, spare):
    """As many groups as before, of as many parameters."""
    opt.param_groups[0] = {**opt.param_groups[0], "params": [spare]}


@pytest.mark.parametrize(
    "change",
    [replace_params, delete_group, reverse_groups, exchange_groups],
    ids=lambda f: f.__name__,
)
def test_only_the_parameters_that_are_in_the_groups_now_move(change):
    """Plans were once kept by the group's number, and the old parameters moved."""
    results = []
    for kernel in ({}, {"foreach": False}):
        kept, spare = leaf(torch.ones(3)), leaf(torch.ones(3))
        opt = walk(acprop.ACProp([kept], lr=0.1, **kernel), 3)
        change(opt, spare)
        before = kept.detach().clone()
        for t in range(3, 6):
            kept.grad = torch.ones(3)
            feed(opt, t)
            opt.step()
        is_gone = all(kept is not p for g in opt.param_groups for p in g["params"])
        assert torch.equal(kept.detach(), before) is is_gone
        assert not torch.equal(spare.detach(), torch.ones(3))
        results.append([kept.detach(), spare.detach()])
    torch.testing.assert_close(*results)


def count_calls(monkeypatch, name: str) -> list[None]:
    """An entry for each call of a method of ours."""
    calls, method = [], getattr(acprop.ACProp, name)
    monkeypatch.setattr(
        acprop.ACProp, name, lambda *args: calls.append(None) or method(*args)
    )
    return calls


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"small_state": True}])
def test_the_first_step_numbers_the_parameters_once(options, monkeypatch):
    """It went through all parameters for each of them."""
    calls = count_calls(monkeypatch, "_number_all")
    walk(acprop.ACProp([leaf(torch.ones(2, 64)) for _ in range(9)], **options), 3)
    assert len(calls) == 1


def test_released_gradients_have_the_options_checked_once(monkeypatch):
    params = [leaf(torch.ones(3)) for _ in range(9)]
    opt = acprop.ACProp(params)
    acprop.release_gradients(opt)
    calls = count_calls(monkeypatch, "_options_of")
    for _ in range(3):
        sum(param.sum() for param in params).backward()
        opt.step()
    assert len(calls) == 1


# 2. Gradients without memory


def test_a_gradient_without_storage_is_a_gradient_of_zeros():
    """torch.autograd hands out such zeros; their address is 0."""
    results = []
    for zeros in (torch._efficientzerotensor, torch.zeros):
        param = leaf(torch.ones(3))
        opt = walk(acprop.ACProp([param]), 3)
        param.grad = zeros(3)
        opt.step()
        walk(opt, range(4, 6))
        results.append(snapshot(opt))
    up_to_rounding(*results)


def test_a_model_of_fake_tensors_takes_fake_steps():
    with FakeTensorMode():
        model = nn.Linear(4, 2)
        opt = acprop.ACProp(model.parameters())
        for _ in range(2):
            model(torch.randn(3, 4)).sum().backward()
            opt.step()
    assert opt.state[model.weight]["momentum_buffer"].shape == (2, 4)


def test_a_fake_gradient_of_a_real_parameter_is_refused_not_read():
    param = leaf(torch.ones(3))
    opt = walk(acprop.ACProp([param]), 2)
    param.grad = FakeTensorMode().from_tensor(torch.ones(3))
    before = param.detach().clone()
    with pytest.raises(
        AssertionError, match="Please convert all Tensors to FakeTensors"
    ):
        opt.step()
    exactly(param.detach(), before)


def test_gradients_of_a_wrapper_subclass_are_used_through_its_operations():
    plain, wrapped = (
        leaf(torch.ones(3)),
        nn.Parameter(TwoTensor(torch.ones(3), torch.ones(3))),
    )
    opts = [acprop.ACProp([p], lr=0.1) for p in (plain, wrapped)]
    for t in range(3):
        g = torch.full((3,), t - 0.5)
        plain.grad, wrapped.grad = g.clone(), TwoTensor(g.clone(), g.clone())
        for opt in opts:
            opt.step()
    torch.testing.assert_close(wrapped.detach().a, plain.detach())
    torch.testing.assert_close(wrapped.detach().b, plain.detach())


# 3. Memory that is shared, turned round or taken away


def overlapping():
    memory = torch.arange(50_000.0)
    return [nn.Parameter(memory[:40_000]), nn.Parameter(memory[10_000:])]


def same():
    memory = torch.arange(40_000.0)
    return [nn.Parameter(memory), nn.Parameter(torch.ones(7)), nn.Parameter(memory)]


@pytest.mark.parametrize("params", [overlapping, same], ids=lambda f: f.__name__)
def test_parameters_that_share_memory_move_one_after_the_other(params):
    """In threads of one call they would race."""
    results = [
        snapshot(walk(acprop.ACProp(params(), lr=0.1, foreach=f), 4))
        for f in (None, False)
    ]
    up_to_rounding(*results)


def test_a_parameter_with_a_pending_negation_is_moved_the_right_way():
    results = []
    for kernel in ({}, {"foreach": False}):
        param = nn.Parameter(torch._neg_view(torch.ones(3)))
        opt = walk(acprop.ACProp([param], lr=0.1, **kernel), 3)
        results.append(
            [p.detach().resolve_neg() for p in opt.param_groups[0]["params"]]
        )
    torch.testing.assert_close(*results)


def test_a_parameter_that_was_transposed_in_place_keeps_its_elements_apart():
    """The same address, the same number of elements, another order."""
    results = []
    for kernel in ({}, {"foreach": False}):
        param = leaf(torch.arange(9.0).reshape(3, 3))
        opt = walk(acprop.ACProp([param], lr=0.1, **kernel), 3)
        param.data = param.data.t()
        for t in range(3, 6):
            param.grad = torch.arange(9.0).reshape(3, 3) - t
            opt.step()
        results.append(param.detach().contiguous())
    torch.testing.assert_close(*results)


def test_gradients_that_another_thread_drops_live_until_the_step_is_done(monkeypatch):
    """The C code runs without the interpreter's lock."""
    if (library := native.load()) is None:
        pytest.skip(f"the C kernel is not here: {native.why_not()}")
    params = [leaf(torch.ones(50)) for _ in range(4)]
    opt = acprop.ACProp(params)
    lost = []

    class Dropping:
        """Does at the worst moment what another thread might do."""

        @staticmethod
        def acprop_step(*where: int) -> int:
            grads = [weakref.ref(p.grad) for p in params]
            for p in params:
                p.grad = None
            lost.append(sum(grad() is None for grad in grads))
            return library.acprop_step(*where)

    monkeypatch.setattr(native, "load", Dropping)
    walk(opt, 3)
    assert lost == [0, 0, 0]


def test_a_lost_compensation_starts_anew_beside_others():
    params = [leaf(torch.ones(5).bfloat16()) for _ in range(2)]
    opt = walk(acprop.ACProp(params), 3)
    del opt.state[params[0]]["compensation"]
    walk(opt, range(3, 6))
    assert "compensation" in opt.state[params[0]]


# 4. Hooks, and what fused=True is asked of


def test_the_hooks_of_a_subclass_with_a_step_of_its_own_run_once():
    class Counted(acprop.ACProp):
        def step(self, closure=None):
            return super().step(closure)

    for cls in (Counted, acprop.ACProp):
        calls = []
        opt = cls([leaf(torch.ones(3))])
        opt.register_step_pre_hook(lambda *_, calls=calls: calls.append("before"))
        opt.register_step_post_hook(lambda *_, calls=calls: calls.append("after"))
        walk(opt, 2)
        assert calls == ["before", "after"] * 2


class Tagged(nn.Parameter):
    """What libraries derive to mark parameters of theirs."""


def frozen_integers():
    return nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False)


@pytest.mark.parametrize(
    "extra",
    [lambda: nn.Parameter(torch.ones(3, device="meta")), frozen_integers],
    ids=["meta", "frozen integers"],
)
def test_fused_is_not_refused_for_a_parameter_that_has_no_gradient(extra):
    param = leaf(torch.ones(3))
    opt = walk_first(acprop.ACProp([param, extra()], fused=True), param)
    assert opt.state[param]["step"] == 2


def walk_first(opt, param):
    for _ in range(2):
        param.grad = torch.ones_like(param)
        opt.step()
    return opt


def test_a_parameter_subclass_takes_the_steps_of_a_parameter():
    results = []
    for kind in (Tagged, nn.Parameter):
        param = kind(torch.ones(3))
        results.append(snapshot(walk_first(acprop.ACProp([param], lr=0.1), param)))
    up_to_rounding(*results)


# 5. Options that are changed by hand

KERNELS = [{}, {"foreach": False}, {"foreach": True}]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


@each_kernel
@pytest.mark.parametrize(
    ("by_hand", "plain"),
    [
        ({"clip": "convention"}, {}),
        ({"eps": None, "average": "convention"}, {}),
        ({"convention": acprop.GUARDED}, {}),
        ({"clip": np.float64(0.5)}, {"clip": 0.5}),
        ({"betas": np.array([0.5, 0.75])}, {"betas": (0.5, 0.75)}),
        (
            {"constraint": acprop.Box(-1.0, torch.tensor([0.5, 0.7, 0.9]))},
            {
                "constraint": {
                    "kind": "box",
                    "lo": -1.0,
                    "hi": torch.tensor([0.5, 0.7, 0.9]),
                }
            },
        ),
    ],
    ids=lambda v: ", ".join(v),
)
def test_an_option_is_read_as_the_constructor_reads_it(by_hand, plain, kernel):
    ends = []
    for change in (by_hand, plain):
        opt = walk(acprop.ACProp([leaf(torch.ones(3))], lr=0.1, **kernel), 3)
        opt.param_groups[0].update(change)
        ends.append(snapshot(walk(opt, range(3, 8))))
    exactly(*ends)


@each_kernel
def test_a_list_of_betas_that_is_changed_in_place_is_noticed(kernel):
    ends = []
    for betas in ([0.9, 0.999], (0.9, 0.999)):
        opt = acprop.ACProp([leaf(torch.ones(3))], lr=0.1, **kernel)
        opt.param_groups[0]["betas"] = betas
        walk(opt, 3)
        if isinstance(betas, list):
            betas[0] = 0.1
        else:
            opt.param_groups[0]["betas"] = (0.1, 0.999)
        ends.append(snapshot(walk(opt, range(3, 18))))
    exactly(*ends)


@each_kernel
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"betas": (2.0, 0.9)}, r"^betas\[0\] must be in \[0, 1\), got 2.0$"),
        ({"weight_decay": -1.0}, r"^weight_decay must be finite and 0 or more, got -1"),
        ({"convention": "papre"}, r"^convention must be one of guarded, "),
        ({"foreach": True, "fused": True}, r"^foreach must be None or False with fus"),
        ({"center": "average", "delay": 0}, r'^center must be None or "m" with '),
        ({"delay": 3, "center": "m"}, r"^delay must stay 1 between steps, got 3; the "),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_before_anything_moves(change, message, kernel):
    params = [leaf(torch.ones(3)), leaf(torch.ones(3))]
    opt = acprop.ACProp([{"params": [p]} for p in params], lr=0.1, **kernel)
    before = snapshot(walk(opt, 3))
    good = dict(opt.param_groups[1])
    opt.param_groups[1].update(change)
    with pytest.raises(ValueError, match=message):
        opt.step()
    exactly(snapshot(opt), before)
    opt.param_groups[1].update(good)
    assert all(entry["step"] == 4 for entry in snapshot(walk(opt, range(3, 4))))


@pytest.mark.parametrize("delay", [1, 2, 5])
@pytest.mark.parametrize("foreach", [False, True, None])
def test_a_window_keeps_its_length(delay, foreach):
    """With another delay it went on as it was, and so with the wrong gradients."""
    param = leaf(torch.ones(3))
    opt = acprop.AdaShift([param], delay=3, foreach=foreach)
    opt.param_groups[0]["delay"] = delay
    opt.param_groups[0]["delay"] = 3  # nothing is kept yet
    before = snapshot(walk(opt, 4))
    other = acprop.AdaShift([leaf(param)])
    other.load_state_dict(opt.state_dict())
    for both in (opt, other):
        both.param_groups[0]["delay"] = delay
        feed(both, 4)
        with pytest.raises(ValueError, match=rf"^delay must stay 3 .* got {delay}; "):
            both.step()
        exactly(snapshot(both), before)


def test_a_gradient_that_turns_sparse_is_refused_by_name():
    params = [("w", leaf(torch.ones(5, 3))), ("v", leaf(torch.ones(2)))]
    opt = walk(acprop.ACProp(params), 3)
    before = snapshot(opt)
    feed(opt, 3)
    params[0][1].grad = torch.ones(5, 3).to_sparse()
    with pytest.raises(RuntimeError, match=r"^the gradient of 'w' must be dense, got"):
        opt.step()
    exactly(snapshot(opt), before)


# 6. Large


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [{}, {"foreach": True}], ids=str)
def test_the_last_elements_of_a_large_tensor_move_like_the_first(kernel):
    """5·10⁷ elements: sums in float32 would have lost count."""
    param = leaf(torch.ones(50_000_000))
    opt = acprop.ACProp([param], lr=0.1, **kernel)
    few = leaf(torch.ones(1))
    peer = acprop.ACProp([few], lr=0.1, foreach=False)
    for g in (1.0, -2.0, 0.5):
        param.grad = torch.full_like(param, g)
        few.grad = torch.full_like(few, g)
        opt.step()
        peer.step()
    torch.testing.assert_close(param.detach().aminmax().min, few.detach()[0])
    torch.testing.assert_close(param.detach().aminmax().max, few.detach()[0])
