"""Autograd runs through a step: its derivatives are those of finite differences."""

import inspect

import pytest
import torch
from torch.autograd import gradcheck

import acprop
from acprop.rule import CONVENTIONS

from .infos import EPS, each_class
from .walks import exactly, plain_params, snapshot, walk

RULES = {
    "acprop": (acprop.ACProp, {}),
    "acprop, paper": (acprop.ACProp, {"average": None}),
    "acprop, before": (acprop.ACProp, {"average": "before", "nesterov": True}),
    "acprop, after": (acprop.ACProp, {"average": "after", "center": "m"}),
    "acprop, delay 3": (acprop.ACProp, {"delay": 3}),
    "acprop, before, delay 2": (acprop.ACProp, {"delay": 2, "average": "before"}),
    "adabelief": (acprop.AdaBelief, {}),
    "adashift": (acprop.AdaShift, {}),
    "adashift, max": (acprop.AdaShift, {"reduction": "max"}),
    "adashift, mean, delay 2": (acprop.AdaShift, {"reduction": "mean", "delay": 2}),
    "adam": (acprop.Adam, {}),
    "rmsprop": (acprop.RMSprop, {}),
    "rmsprop, centered": (acprop.RMSprop, {"centered": True, "momentum": 0.9}),
}
OPTIONS = {
    "amsgrad": {"amsgrad": True},
    "L2": {"weight_decay": 0.3, "decoupled_weight_decay": False},
    "decoupled": {"weight_decay": 0.3, "decoupled_weight_decay": True},
    "maximize": {"maximize": True},
    "betas": {"betas": (0.6, 0.8)},
    "clip": {"clip": 0.7},
    "capturable": {"capturable": True},
}

# All of it away from the kinks: from ties under a maximum, and from the bounds of clip,
# which here hold some elements and let others pass.
X = [0.3, -1.1, 0.8]
GRADIENTS = [[0.5, -1.9, 0.25], [-0.65, 0.35, 1.2]]
WARM = {
    "exp_avg": [0.2, -0.3, 0.6],
    "exp_avg_sq": [0.9, 0.4, 1.3],
    "max_exp_avg_sq": [0.5, 1.4, 0.7],
    "past": [[0.7, -0.2, 0.45], [0.15, 0.55, -0.85]],
    "momentum_buffer": [0.3, -0.1, 0.25],
}


def tensor(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def steps(cls, options, names, warm_steps):
    """A function of lr, x, both gradients and the state, for gradcheck to poke at."""

    def run(lr, x, first, second, *state):
        param = x.clone()
        optimizer = cls([param], lr=lr, eps=EPS, differentiable=True, **options)
        for name, value in zip(names, state, strict=True):
            optimizer.state[param]["step"] = torch.tensor(float(warm_steps))
            optimizer.state[param][name] = value.clone()
        for grad in (first, second):
            param.grad = grad
            optimizer.step()
        after = optimizer.state[param]
        return param, *(after[name] for name in sorted(after) if name != "step")

    return run


def state_of(cls, options):
    """The warm state that these options keep."""
    optimizer = walk(cls([tensor(X)], **options), 1)
    (kept,) = optimizer.state.values()
    values = {name: torch.tensor(value) for name, value in WARM.items()}
    return {
        # A reduced second moment is one number, a shorter window has a shorter past.
        name: tensor(values[name].flatten()[: kept[name].numel()].tolist())
        .detach()
        .view(kept[name].shape)
        .requires_grad_()
        for name in kept
        if name in WARM
    }


def check(cls, options, *, warm):
    state = state_of(cls, options) if warm else {}
    run = steps(cls, options, state, warm_steps=9)
    inputs = tensor(0.1), tensor(X), *map(tensor, GRADIENTS), *state.values()
    assert gradcheck(run, inputs)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("rule", RULES)
def test_two_steps_have_the_derivatives_of_finite_differences(rule, convention, warm):
    """With respect to lr, parameter, gradients and every piece of state."""
    cls, options = RULES[rule]
    check(cls, {**options, "convention": convention}, warm=warm)


@pytest.mark.parametrize(
    ("rule", "option"),
    [
        (rule, option)
        for rule in [rule for rule in RULES if "delay 2" not in rule][::2]
        for option, values in OPTIONS.items()
        if values.keys() <= inspect.signature(RULES[rule][0]).parameters.keys()
    ],
)
def test_every_option_has_the_derivatives_of_finite_differences(rule, option):
    cls, options = RULES[rule]
    check(cls, {**options, **OPTIONS[option]}, warm=True)


@each_class
def test_a_differentiable_step_is_the_same_step(cls):
    differentiable = cls([p.clone() for p in plain_params()], differentiable=True)
    plain = cls(plain_params(), foreach=False)
    exactly(snapshot(walk(differentiable, 3)), snapshot(walk(plain, 3)))


@each_class
def test_a_plain_step_leaves_no_graph(cls):
    """Gradients that require grad, as after create_graph=True, are nobody's concern."""
    optimizer = cls(plain_params())
    for param in optimizer.param_groups[0]["params"]:
        param.grad = (param * 2).detach().requires_grad_() * 3
    optimizer.step()
    for entry in snapshot(optimizer):
        assert not any(value.requires_grad for value in entry.values())
    for param in optimizer.param_groups[0]["params"]:
        assert param.is_leaf


@each_class
def test_a_learning_rate_can_be_learned(cls):
    """One hypergradient step on the lr makes the second loss smaller."""
    lr = torch.tensor(0.05, dtype=torch.float64, requires_grad=True)

    def loss(lr):
        param = tensor(X).clone()
        optimizer = cls([param], lr=lr, eps=EPS, differentiable=True)
        for _ in range(3):
            # Of a clone, because the step will write over what autograd remembers.
            value = param.clone().square().sum()
            (param.grad,) = torch.autograd.grad(value, param, create_graph=True)
            optimizer.step()
        return param.square().sum()

    before = loss(lr)
    before.backward()
    assert loss(lr.detach() - 1e-3 * lr.grad).item() < before.item()
