"""What torch's own suite asks of torch.optim, asked of our classes."""

import warnings

import pytest
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum

import acprop

from .infos import (
    EPS,
    INFOS,
    SCHEDULERS,
    each_case_on_every_kernel,
    each_class,
    each_kernel,
    each_option,
)
from .walks import (
    exactly,
    leaf,
    params_of,
    plain_params,
    snapshot,
    typed_params,
    up_to_rounding,
    walk,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a peer warns of is its own affair
    import pytorch_optimizer

N_STEPS = 60
WITH_L2 = {"weight_decay": 0.1}
WITH_BETAS = {"betas": (0.5, 0.9), "eps": EPS, "lr": 0.05}
VARIANTS = [
    {},
    WITH_L2,
    {"amsgrad": True},
    {"maximize": True},
    {**WITH_L2, "amsgrad": True, "maximize": True},
    {**WITH_BETAS, **WITH_L2, "amsgrad": True},
]


def doubles():
    return plain_params(torch.float64)


def renamed(entries, **names):
    """A peer's snapshot under our names for its state."""
    return [{names.get(k, k): v for k, v in entry.items()} for entry in entries]


def without(entries, *names):
    return [{k: v for k, v in e.items() if k not in names} for e in entries]


@each_kernel
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_adam_takes_the_steps_of_torchs_adam(variant, foreach):
    ours = walk(acprop.Adam(doubles(), foreach=foreach, **variant), N_STEPS)
    torchs = walk(torch.optim.Adam(doubles(), foreach=foreach, **variant), N_STEPS)
    up_to_rounding(snapshot(ours), snapshot(torchs))


@each_kernel
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_adam_with_decoupled_decay_takes_the_steps_of_torchs_adamw(variant, foreach):
    decay = {"weight_decay": 0.1, **variant}
    ours = acprop.Adam(doubles(), foreach=foreach, decoupled_weight_decay=True, **decay)
    torchs = torch.optim.AdamW(doubles(), foreach=foreach, **decay)
    up_to_rounding(snapshot(walk(ours, N_STEPS)), snapshot(walk(torchs, N_STEPS)))


@each_kernel
@pytest.mark.parametrize(
    "variant",
    [
        {},
        WITH_L2,
        {"maximize": True},
        {**WITH_L2, "maximize": True},
        {"alpha": 0.9, "eps": EPS, "lr": 0.05},
        {"momentum": 0.9},
        {"momentum": 0.5, **WITH_L2, "maximize": True},
    ],
    ids=str,
)
def test_rmsprop_takes_the_steps_of_torchs_rmsprop(variant, foreach):
    ours = walk(acprop.RMSprop(doubles(), foreach=foreach, **variant), N_STEPS)
    torchs = walk(torch.optim.RMSprop(doubles(), foreach=foreach, **variant), N_STEPS)
    expected = renamed(snapshot(torchs), square_avg="exp_avg_sq")
    up_to_rounding(without(snapshot(ours), "exp_avg"), expected)


@pytest.mark.parametrize("foreach", [False, True, None])
@pytest.mark.parametrize("eps", [1e-8, EPS])
@pytest.mark.parametrize("alpha", [0.99, 0.5])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_centered_rmsprop_is_torchs_to_a_rounding(momentum, alpha, eps, foreach):
    """Ours averages (g - m)² and divides by α, torch subtracts m² from the mean of g².

    Both are one number; what torch loses by subtracting is allowed for.
    """
    given = {"centered": True, "momentum": momentum, "alpha": alpha, "eps": eps}
    ours = walk(acprop.RMSprop(doubles(), foreach=foreach, **given), N_STEPS)
    torchs = walk(torch.optim.RMSprop(doubles(), **given), N_STEPS)
    for mine, theirs in zip(snapshot(ours), snapshot(torchs), strict=True):
        theirs = renamed([theirs], grad_avg="exp_avg")[0]
        both = [
            [{k: e[k] for k in ("param", "exp_avg", "step")}] for e in (mine, theirs)
        ]
        up_to_rounding(*both, factor=100)


@each_kernel
def test_a_group_of_rmsprop_may_be_in_torchs_words(foreach):
    ends = []
    for cls in (acprop.RMSprop, torch.optim.RMSprop):
        weight, bias, _ = doubles()
        group = {"params": [bias], "momentum": 0.5, "centered": True, "alpha": 0.75}
        opt = cls([{"params": [weight]}, group], alpha=0.9, foreach=foreach)
        ends.append([entry["param"] for entry in snapshot(walk(opt, N_STEPS))])
    torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-12)


@each_kernel
@pytest.mark.parametrize(
    ("variant", "theirs"),
    [
        ({}, {}),
        ({"weight_decay": 0.1}, {"weight_decay": 0.1}),
        (
            {"weight_decay": 0.1, "decoupled_weight_decay": False},
            {"weight_decay": 0.1, "weight_decouple": False},
        ),
        ({"amsgrad": True}, {"ams_bound": True}),
        ({"maximize": True}, {"maximize": True}),
        (WITH_BETAS, WITH_BETAS),
    ],
    ids=str,
)
def test_adabelief_takes_the_steps_of_pytorch_optimizers(variant, theirs, foreach):
    ours = walk(acprop.AdaBelief(doubles(), foreach=foreach, **variant), N_STEPS)
    peer = pytorch_optimizer.AdaBelief(
        doubles(), rectify=False, foreach=foreach, **theirs
    )
    expected = renamed(
        snapshot(walk(peer, N_STEPS)),
        exp_avg_var="exp_avg_sq",
        max_exp_avg_var="max_exp_avg_sq",
    )
    up_to_rounding(without(snapshot(ours), "step"), expected)


class Regression:
    """‖Wx + Vx + b‖² for one x: a problem with an obvious downhill."""

    def __init__(self):
        torch.manual_seed(0)
        contiguous = leaf(torch.randn(6, 5))
        with_gaps = torch.randn(6, 5, 2)[..., 0].requires_grad_()
        assert not with_gaps.is_contiguous()
        self.weights = [contiguous, with_gaps]
        self.bias = leaf(torch.randn(6))
        self.input = torch.randn(5)

    def loss(self):
        return (sum(self.weights).mv(self.input) + self.bias).square().sum()

    def descend(self, optimizer, schedulers=()):
        """Take ten steps; return by how much the loss grew."""
        before = self.loss().item()
        for _ in range(10):
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            optimizer.step()
            for scheduler in schedulers:
                _advance(scheduler, loss.item())
        return self.loss().item() - before


def _advance(scheduler, loss):
    plateau = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
    scheduler.step(*([loss] if plateau else []))


@each_case_on_every_kernel
def test_ten_steps_go_in_the_right_direction(case):
    problem = Regression()
    growth = problem.descend(case.make([*problem.weights, problem.bias]))
    assert case.sign * growth > 0


@each_option
def test_groups_with_learning_rates_of_their_own_go_in_the_right_direction(case):
    problem = Regression()
    bias = {"params": problem.bias, "lr": 3e-3}
    optimizer = case.make([{"params": problem.weights}, bias])
    start = problem.bias.detach().clone()
    assert case.sign * problem.descend(optimizer) > 0
    assert optimizer.param_groups[1]["lr"] == 3e-3
    assert not torch.equal(problem.bias, start)


@pytest.mark.parametrize("lr", [0.01, torch.tensor(0.01)], ids=["number", "tensor"])
@pytest.mark.parametrize("schedulers", SCHEDULERS, ids=range(len(SCHEDULERS)))
@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
def test_a_schedule_keeps_the_direction(info, schedulers, lr):
    assert schedulers in info.scheduler_inputs
    problem = Regression()
    lr = lr.clone() if isinstance(lr, torch.Tensor) else lr
    optimizer = info.optim_cls([*problem.weights, problem.bias], lr=lr)
    made = [scheduler(optimizer) for scheduler in schedulers]
    rates = []
    optimizer.register_step_pre_hook(
        lambda *_: rates.append(float(optimizer.param_groups[0]["lr"]))
    )
    assert problem.descend(optimizer, made) < 0
    assert len(set(rates)) > 1
    assert type(optimizer.param_groups[0]["lr"]) is type(lr)


def _refused(moment):
    return [
        pytest.param(info, error, id=f"{info.name}-{error.optimizer_error_input.desc}")
        for info in INFOS
        for error in info.optim_error_inputs_func("cpu", torch.float32)
        if error.error_on is moment
    ]


@pytest.mark.parametrize(
    ("info", "error"), _refused(OptimizerErrorEnum.CONSTRUCTION_ERROR)
)
def test_what_cannot_be_meant_is_refused_at_construction(info, error):
    """torch's own refusals come through unchanged, and warnings are errors here."""
    given = error.optimizer_error_input
    params = [leaf(torch.ones(2))] if given.params is None else given.params
    with pytest.raises(error.error_type, match=error.error_regex):
        info.optim_cls(params, **given.kwargs)


@each_kernel
@pytest.mark.parametrize(("info", "error"), _refused(OptimizerErrorEnum.STEP_ERROR))
def test_a_gradient_that_cannot_be_used_is_refused_and_changes_nothing(
    info, error, foreach
):
    given = error.optimizer_error_input
    optimizer = info.optim_cls(given.params, foreach=foreach, **given.kwargs)
    before = snapshot(optimizer)
    with pytest.raises(error.error_type, match=error.error_regex):
        optimizer.step()
    exactly(snapshot(optimizer), before)


@each_option
def test_the_library_is_silent(case, capfd):
    optimizer = walk(case.make(plain_params()), 2)
    assert repr(optimizer).startswith(f"{case.cls.__name__} (")
    assert capfd.readouterr() == ("", "")


@each_case_on_every_kernel
def test_two_runs_from_the_same_point_end_at_the_same_point(case):
    one, other = (walk(case.make(typed_params()), 2) for _ in range(2))
    exactly(snapshot(one), snapshot(other))


@each_class
def test_defaults_and_groups_hold_the_same_options(cls):
    """Schedulers, Trainer and FSDP look an option up in either place."""
    optimizer = cls(plain_params())
    group = {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
    assert group.keys() == optimizer.defaults.keys()
    assert params_of(optimizer) == optimizer.param_groups[0]["params"]
