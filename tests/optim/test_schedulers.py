"""Learning-rate schedulers find in our classes what they find in torch.optim.Adam."""

import pytest
import torch
from torch.optim.lr_scheduler import CyclicLR, OneCycleLR, SequentialLR, StepLR

import acprop

from .infos import INFOS, each_class, each_kernel
from .walks import exactly, feed, plain_params, snapshot, walk


def run(optimizer, scheduler, n_steps):
    """Step both; return the (lr, β1, β2) of every step."""
    seen = []
    for t in range(n_steps):
        group = optimizer.param_groups[0]
        seen.append((float(group["lr"]), *group["betas"]))
        feed(optimizer, t)
        optimizer.step()
        scheduler.step()
    return seen


CYCLES = {
    "one cycle": lambda opt: OneCycleLR(opt, max_lr=0.1, total_steps=12),
    "one cycle, given": lambda opt: OneCycleLR(
        opt, max_lr=0.1, total_steps=12, base_momentum=0.5, max_momentum=0.7
    ),
    "one cycle, lr only": lambda opt: OneCycleLR(
        opt, max_lr=0.1, total_steps=12, cycle_momentum=False
    ),
    "cyclic": lambda opt: CyclicLR(opt, base_lr=0.01, max_lr=0.1, step_size_up=4),
    "cyclic, lr only": lambda opt: CyclicLR(
        opt, base_lr=0.01, max_lr=0.1, step_size_up=4, cycle_momentum=False
    ),
}


@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES)
@pytest.mark.parametrize(
    "cls", [info.optim_cls for info in INFOS if info.name != "RMSprop"]
)
def test_a_cycle_moves_lr_and_beta1_as_it_moves_adams(cls, cycle):
    """cycle_momentum writes betas[0] where an optimizer has betas."""
    ours, adam = cls(plain_params(), lr=0.01), torch.optim.Adam(plain_params(), lr=0.01)
    expected = run(adam, cycle(adam), 12)
    assert run(ours, cycle(ours), 12) == expected
    assert len({lr for lr, *_ in expected}) > 2


@pytest.mark.parametrize("cycle", CYCLES.values(), ids=CYCLES)
def test_a_cycle_moves_the_learning_rate_of_rmsprop(cycle):
    ours = acprop.RMSprop(plain_params(), lr=0.01)
    adam = torch.optim.Adam(plain_params(), lr=0.01)
    expected = [lr for lr, *_ in run(adam, cycle(adam), 12)]
    assert [lr for lr, *_ in run(ours, cycle(ours), 12)] == expected


@each_kernel
@each_class
def test_what_a_scheduler_writes_is_what_the_step_uses(cls, foreach):
    """By hand, the same numbers written before the same steps."""
    scheduled = cls(plain_params(), lr=0.01, foreach=foreach)
    by_hand = cls(plain_params(), lr=0.01, foreach=foreach)
    numbers = run(scheduled, CYCLES["one cycle"](scheduled), 12)
    for t, (lr, *betas) in enumerate(numbers):
        by_hand.param_groups[0].update(lr=lr, betas=tuple(betas))
        feed(by_hand, t)
        by_hand.step()
    exactly(snapshot(by_hand), snapshot(scheduled))
    constant = walk(cls(plain_params(), lr=0.01, foreach=foreach), 12)
    assert (snapshot(constant)[0]["param"] != snapshot(scheduled)[0]["param"]).any()


@each_class
def test_a_schedule_over_groups_keeps_their_ratio(cls):
    weight, bias, _ = plain_params()
    optimizer = cls([{"params": weight, "lr": 0.1}, {"params": bias, "lr": 0.2}])
    first = StepLR(optimizer, step_size=1, gamma=0.5)
    second = StepLR(optimizer, step_size=1, gamma=0.1)
    both = SequentialLR(optimizer, [first, second], milestones=[2])
    rates = []
    for t in range(4):
        rates.append([group["lr"] for group in optimizer.param_groups])
        feed(optimizer, t)
        optimizer.step()
        both.step()
    assert all(b == 2 * a for a, b in rates)
    assert rates[0] == [0.1, 0.2]
    assert rates[1] == [0.05, 0.1]


@each_class
def test_a_schedule_continues_after_loading(cls):
    def make():
        optimizer = cls(plain_params(), lr=torch.tensor(0.5))
        return optimizer, StepLR(optimizer, step_size=1, gamma=0.5)

    optimizer, scheduler = make()
    run(optimizer, scheduler, 3)
    fresh, other = make()
    other.load_state_dict(scheduler.state_dict())
    fresh.load_state_dict(optimizer.state_dict())
    assert float(fresh.param_groups[0]["lr"]) == 0.0625
    assert run(fresh, other, 1)[0][0] == 0.0625
    assert float(fresh.param_groups[0]["lr"]) == 0.03125
