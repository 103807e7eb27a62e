"""Averages and wrappers of others around ACProp, and the family around nothing new.

The paper says that ACProp combines with Lookahead, SWA and AdamP's projection: each is
run here with real code of torch or pytorch_optimizer, and compared with what it means.
"""

import copy

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn

import acprop

LR = 1e-2


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))


def backward(net: nn.Module, step: int) -> torch.Tensor:
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    return loss


def train(net: nn.Module, opt: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        opt.zero_grad()
        backward(net, step)
        opt.step()


def values(net: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in net.parameters()]


def same(ours: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for a, b in zip(ours, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_stochastic_weight_averaging_averages_the_weights_of_acprop():
    """AveragedModel holds the mean of the weights; SWALR leads every group's lr."""
    net = model()
    opt = acprop.ACProp(acprop.param_groups(net, 0.1), lr=LR)
    averaged, schedule = AveragedModel(net), SWALR(opt, swa_lr=LR / 4, anneal_epochs=3)
    seen = []
    for step in range(6):
        train(net, opt, range(step, step + 1))
        averaged.update_parameters(net)
        schedule.step()
        seen.append(values(net))
    means = [torch.stack(of).mean(0) for of in zip(*seen, strict=True)]
    same(values(averaged.module), means)
    assert [group["lr"] for group in opt.param_groups] == [LR / 4] * 2


def test_an_exponential_average_follows_the_weights_of_acprop():
    net = model()
    opt = acprop.ACProp(net.parameters(), lr=LR)
    averaged = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    expected = None
    for step in range(5):
        train(net, opt, range(step, step + 1))
        averaged.update_parameters(net)
        now = values(net)
        old = expected or now
        expected = [0.5 * a + 0.5 * b for a, b in zip(old, now, strict=True)]
    same(values(averaged.module), expected)


def peers():
    return pytest.importorskip("pytorch_optimizer", reason="needs acprop[bench]")


def test_lookahead_pulls_acprop_back_every_k_steps():
    net, plain = model(), model()
    opt = peers().Lookahead(acprop.ACProp(net.parameters(), lr=LR), k=3, alpha=0.5)
    slow = values(plain)
    alone = acprop.ACProp(plain.parameters(), lr=LR)
    for start in (0, 3):
        steps = range(start, start + 3)
        train(net, opt, steps)
        train(plain, alone, steps)
        slow = [s + 0.5 * (p - s) for s, p in zip(slow, values(plain), strict=True)]
        with torch.no_grad():
            for p, s in zip(plain.parameters(), slow, strict=True):
                p.copy_(s)
        same(values(net), slow)


def test_sharpness_aware_minimization_takes_acprops_step_from_the_worse_place():
    net, plain = model(), model()
    opt = peers().SAM(net.parameters(), acprop.ACProp, rho=0.05, lr=LR)
    alone = acprop.ACProp(plain.parameters(), lr=LR)
    for step in range(4):
        opt.zero_grad()
        backward(net, step)
        opt.first_step(zero_grad=True)
        backward(net, step)
        opt.second_step(zero_grad=True)
        alone.zero_grad()
        backward(plain, step)
        here = values(plain)
        norm = torch.stack([p.grad.norm() for p in plain.parameters()]).norm()
        with torch.no_grad():
            for p in plain.parameters():
                p.add_(p.grad * 0.05 / norm)
        alone.zero_grad()
        backward(plain, step)
        with torch.no_grad():
            for p, x in zip(plain.parameters(), here, strict=True):
                p.copy_(x)
        alone.step()
        same(values(net), values(plain))


def test_schedule_free_averages_where_acprop_goes():
    """z walks with the gradient at y, between z and the mean x of where z has been."""
    net, at_y, walker = model(), model(), model()
    inner = acprop.ACProp(net.parameters(), lr=LR)
    opt = peers().ScheduleFreeWrapper(inner, momentum=0.5, weight_lr_power=0.0)
    opt.train()
    alone = acprop.ACProp(walker.parameters(), lr=LR)
    x = values(walker)
    for step in range(5):
        train(net, opt, range(step, step + 1))
        at_y.zero_grad()
        backward(at_y, step)
        for z, y in zip(walker.parameters(), at_y.parameters(), strict=True):
            z.grad = y.grad
        alone.step()
        z = values(walker)
        x = [a + (b - a) / (step + 1) for a, b in zip(x, z, strict=True)]
        with torch.no_grad():
            for y, a, b in zip(at_y.parameters(), x, z, strict=True):
                y.copy_((a + b) / 2)
        same(values(net), values(at_y))
    opt.eval()
    same(values(net), x)


def test_a_projection_as_adamps_takes_the_radial_part_out_of_acprops_step():
    """As the paper proposes: of a weight before a normalisation only the direction
    matters. The same hook serves any optimizer."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(3, 5))
    opt = acprop.ACProp([weight], lr=LR)
    before = {}

    def remember(*_):
        before["x"] = weight.detach().clone()

    def project(*_):
        with torch.no_grad():
            x = before["x"]
            move = weight - x
            unit = x / x.norm(dim=1, keepdim=True)
            weight.copy_(x + move - (move * unit).sum(1, keepdim=True) * unit)

    opt.register_step_pre_hook(remember)
    opt.register_step_post_hook(project)
    for step in range(4):
        weight.grad = torch.randn(3, 5, generator=torch.Generator().manual_seed(step))
        opt.step()
        move = weight.detach() - before["x"]
        assert (move * before["x"]).sum(1).abs().max() < 1e-6
        assert move.abs().max() > 1e-3


def test_a_step_inside_the_backward_pass_is_the_step_after_it():
    """One optimizer for each parameter, run by a hook when its gradient is ready."""
    net, plain = model(), model()
    inside = {p: acprop.ACProp([p], lr=LR, weight_decay=0.1) for p in net.parameters()}

    def step_and_forget(param: torch.Tensor) -> None:
        inside[param].step()
        param.grad = None

    for param in net.parameters():
        param.register_post_accumulate_grad_hook(step_and_forget)
    for step in range(5):
        backward(net, step)
        assert all(p.grad is None for p in net.parameters())
    train(plain, acprop.ACProp(plain.parameters(), lr=LR, weight_decay=0.1), range(5))
    assert all(map(torch.equal, values(net), values(plain)))


@pytest.mark.parametrize("name", ["Lookahead", "ScheduleFreeWrapper"])
def test_a_wrapped_run_resumes_from_the_state_of_wrapper_and_model(name):
    net = model()
    make = getattr(peers(), name)
    opt = make(acprop.ACProp(net.parameters(), lr=LR))
    getattr(opt, "train", lambda: None)()
    train(net, opt, range(3))
    fresh = copy.deepcopy(net)
    other = make(acprop.ACProp(fresh.parameters(), lr=LR))
    other.load_state_dict(copy.deepcopy(opt.state_dict()))
    train(net, opt, range(3, 7))
    train(fresh, other, range(3, 7))
    same(values(fresh), values(net))
