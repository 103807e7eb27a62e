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


def test_another_librarys_optimizer_is_refused():
    opt = torch.optim.SGD(model().parameters())
    with pytest.raises(TypeError, match=r"^optimizer must be one of acprop's, got SGD"):
        acprop.release_gradients(opt)
