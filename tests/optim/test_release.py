"""Gradients that are used and freed during the backward pass."""

import copy

import pytest
import torch
from torch import nn

import acprop


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(16, 16) for _ in range(4)), nn.Linear(16, 1))


def backward(net: nn.Module, i: int) -> None:
    torch.manual_seed(100 + i)
    net(torch.randn(8, 16)).square().mean().backward()


def train(net: nn.Module, opt, steps: range) -> None:
    for i in steps:
        opt.zero_grad()
        backward(net, i)
        opt.step()


def pair(**options):
    """A network with released gradients, and its twin without."""
    net = model()
    twin = copy.deepcopy(net)
    made = [acprop.ACProp(n.named_parameters(), **options) for n in (net, twin)]
    handle = acprop.release_gradients(made[0])
    return net, made[0], twin, made[1], handle


def assert_equal(net: nn.Module, twin: nn.Module) -> None:
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1, "amsgrad": True, "average": "before"},
        {"foreach": True, "delay": 2},
        {"foreach": False, "convention": "authors"},
        {"small_state": True},
    ],
    ids=str,
)
def test_the_steps_are_the_ordinary_ones_bit_for_bit(options):
    net, opt, twin, other, _ = pair(**options)
    train(net, opt, range(5))
    train(twin, other, range(5))
    assert_equal(net, twin)


def test_a_schedule_goes_on_as_ever():
    net, opt, twin, other, _ = pair(lr=0.1)
    both = [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in (opt, other)]
    for i in range(4):
        for n, o, schedule in zip((net, twin), (opt, other), both, strict=True):
            train(n, o, range(i, i + 1))
            schedule.step()
    assert_equal(net, twin)


def test_at_no_time_is_there_more_than_one_gradient():
    net, opt, *_ = pair()
    alive = []
    for param in net.parameters():
        param.register_post_accumulate_grad_hook(
            lambda _: alive.append(sum(p.grad is not None for p in net.parameters()))
        )
    backward(net, 0)
    # This hook runs after the release of the parameter it belongs to.
    assert max(alive) == 0
    assert len(alive) == len(list(net.parameters()))
    assert len(opt.state) == len(alive)


def test_a_checkpoint_continues():
    net, opt, twin, other, _ = pair()
    train(net, opt, range(3))
    train(twin, other, range(3))
    saved = copy.deepcopy(opt.state_dict())
    net = copy.deepcopy(net)
    opt = acprop.ACProp(net.named_parameters(), lr=1.0)
    acprop.release_gradients(opt)
    opt.load_state_dict(saved)
    train(net, opt, range(3, 5))
    train(twin, other, range(3, 5))
    assert_equal(net, twin)


def test_accumulation_is_refused_before_it_does_harm():
    net, opt, *_ = pair()
    backward(net, 0)
    before = copy.deepcopy(net)
    with pytest.raises(RuntimeError, match=r"^opt.step\(\) must be called after every"):
        backward(net, 1)
    assert_equal(net, before)
    opt.step()
    backward(net, 1)


def test_removed_it_steps_after_the_backward_pass_again():
    net, opt, twin, other, handle = pair()
    train(net, opt, range(2))
    handle.remove()
    backward(net, 2)
    assert all(p.grad is not None for p in net.parameters())
    opt.step()
    opt.zero_grad()
    train(net, opt, range(3, 5))
    train(twin, other, range(5))
    assert_equal(net, twin)


def test_a_bad_gradient_is_named_and_changes_nothing():
    net = model()
    opt = acprop.ACProp(net.named_parameters(), error_if_nonfinite=True)
    acprop.release_gradients(opt)
    before = copy.deepcopy(net)
    with pytest.raises(RuntimeError, match=r"^the gradient of '4\.\w+' must be finite"):
        (net(torch.ones(1, 16)) * float("inf")).sum().backward()
    assert_equal(net, before)


def test_a_bad_gradient_behind_others_is_told_as_it_is():
    """Of six parameters five had moved where the message was: nothing was changed."""
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(3)))
    opt = acprop.ACProp(net.named_parameters(), error_if_nonfinite=True)
    acprop.release_gradients(opt)
    before = copy.deepcopy(net)
    net[0].weight.register_hook(lambda g: g / 0)
    with pytest.raises(RuntimeError, match=r"it was not changed, but 5 parameters"):
        net(torch.ones(1, 2)).sum().backward()
    pairs = zip(net.parameters(), before.parameters(), strict=True)
    assert [torch.equal(a, b) for a, b in pairs] == [True] + [False] * 5
    assert net[0].weight.grad is None
    opt.step()  # which ends the pass: the next one is as any other
    net[0].weight._backward_hooks.clear()
    backward_of_ones(net, opt)
    assert not torch.equal(net[0].weight, before[0].weight)


# Groups that change


def backward_of_ones(net: nn.Module, opt) -> None:
    net(torch.ones(1, 2)).sum().backward()
    opt.step()


def three_groups(**options):
    """A group for each layer."""
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(3)))
    groups = [{"params": layer.parameters(), "lr": 0.1} for layer in net]
    return net, acprop.ACProp(groups, **options)


def test_groups_in_another_order_are_found():
    """Gradients were dropped, and nothing moved."""
    ends = []
    for released in (False, True):
        net, opt = three_groups()
        if released:
            acprop.release_gradients(opt)
        opt.param_groups.reverse()
        for group in opt.param_groups:
            group["params"].reverse()
        for _ in range(3):
            opt.zero_grad()
            backward_of_ones(net, opt)
        ends.append(net)
    assert_equal(*ends)
    assert not torch.equal(ends[0][0].weight, three_groups()[0][0].weight)


def test_a_deleted_group_stays_where_it_is():
    net, opt = three_groups()
    acprop.release_gradients(opt)
    del opt.param_groups[1]
    before = copy.deepcopy(net)
    backward_of_ones(net, opt)
    layers = zip(net, before, strict=True)
    moved = [not torch.equal(a.weight, b.weight) for a, b in layers]
    assert moved == [True, False, True]
    assert net[1].weight.grad is not None  # no longer ours to free


def test_a_frozen_parameter_waits_until_it_is_thawed():
    ends = []
    for released in (False, True):
        net, opt = three_groups()
        net[1].requires_grad_(False)
        if released:
            acprop.release_gradients(opt)
        for i in range(4):
            net[1].requires_grad_(i > 1)
            if not released:
                opt.zero_grad()
            backward_of_ones(net, opt)
        assert all((p.grad is None) == released for p in net.parameters())
        ends.append(net)
    assert_equal(*ends)


def test_a_group_that_is_added_later_is_released_too():
    ends = []
    for released in (False, True):
        net, opt = three_groups()
        last = opt.param_groups.pop()
        if released:
            acprop.release_gradients(opt)
        opt.add_param_group({"params": last["params"], "lr": 0.1})
        for _ in range(3):
            if not released:
                opt.zero_grad()
            backward_of_ones(net, opt)
        ends.append(net)
    assert_equal(*ends)


def test_another_librarys_optimizer_is_refused():
    opt = torch.optim.SGD(model().parameters())
    with pytest.raises(TypeError, match=r"^optimizer must be one of acprop's, got SGD"):
        acprop.release_gradients(opt)
