"""Groups: options of their own, added at any time, refused without a trace."""

import inspect
from copy import deepcopy

import pytest
import torch
from torch import nn

import acprop
from acprop.rule import CONVENTIONS

from .infos import OWN, each_class, each_kernel, each_option
from .walks import exactly, feed, leaf, plain_params, snapshot, typed_params, walk

OVERRIDES = {
    "lr": 0.125,
    "betas": (0.5, 0.75),
    "eps": 0.25,
    "weight_decay": 0.5,
    "convention": "optax",
    "decoupled_weight_decay": None,  # see `override`
    "amsgrad": True,
    "delay": 2,
    "average": "before",
    "nesterov": False,
    "center": None,
    "reduction": "max",
    "clip": 0.125,
    "constraint": acprop.Box(-0.25, 0.25),
    "maximize": True,
    "foreach": True,
    "capturable": True,
    "kahan": False,
    "error_if_nonfinite": True,
}
EACH_OVERRIDE = [
    pytest.param(cls, name, id=f"{cls.__name__}-{name}")
    for cls in OWN
    for name in OVERRIDES
    if name in inspect.signature(cls).parameters
]


def override(cls, name):
    default = inspect.signature(cls).parameters["decoupled_weight_decay"].default
    values = OVERRIDES | {"decoupled_weight_decay": not default}
    return {name: values[name]}


def own_half(optimizer, which):
    """The snapshot of one group, in the order in which `walk` feeds it."""
    return snapshot(optimizer)[3 * which : 3 * which + 3]


@pytest.mark.parametrize(("cls", "name"), EACH_OVERRIDE)
def test_a_group_takes_any_option_as_the_constructor_does(cls, name):
    """And the group beside it goes on as if it were alone."""
    shared = {"weight_decay": 0.25, "lr": 0.25}
    options = override(cls, name)
    both = cls(
        [{"params": typed_params()}, {"params": typed_params(), **options}], **shared
    )
    alone = cls(typed_params(), **shared)
    different = cls(typed_params(), **{**shared, **options})
    for t in range(4):
        for optimizer in (both, alone, different):
            feed(optimizer, t)
        grads = [p.grad for p in both.param_groups[0]["params"]]
        for param, grad in zip(both.param_groups[1]["params"], grads, strict=True):
            param.grad = grad.clone()
        for optimizer in (both, alone, different):
            optimizer.step()
    exactly(own_half(both, 0), snapshot(alone))
    exactly(own_half(both, 1), snapshot(different))
    kept = {k: v for k, v in different.param_groups[0].items() if k != "params"}
    assert str(kept) == str(
        {k: v for k, v in both.param_groups[1].items() if k != "params"}
    )


@pytest.mark.parametrize("name", CONVENTIONS)
@each_class
def test_a_group_of_another_convention_has_that_conventions_eps(cls, name):
    group = {"params": plain_params(), "convention": name}
    assert cls([group]).param_groups[0]["eps"] == CONVENTIONS[name].eps
    given = cls([group], eps=0.5)
    assert given.param_groups[0]["eps"] == 0.5
    own = cls([{**group, "eps": 0.25}], eps=0.5)
    assert own.param_groups[0]["eps"] == 0.25


@each_option
def test_a_group_may_join_while_the_run_goes_on(case):
    weight, bias, temperature = plain_params()
    optimizer = walk(case.make([weight, bias]), 2)
    optimizer.add_param_group({"params": temperature, "lr": 0.5})
    assert optimizer.param_groups[1]["params"] == [temperature]
    assert optimizer.param_groups[1].keys() == optimizer.param_groups[0].keys()
    before = temperature.item()
    walk(optimizer, range(2, 6))  # one more than the longest delay stands still
    steps = [optimizer.state[p]["step"].item() for p in (weight, bias, temperature)]
    assert steps == [6, 6, 4]
    assert temperature.item() != before


@each_class
def test_parameters_refused_by_torch_leave_no_trace(cls):
    params = plain_params()
    optimizer = walk(cls(params), 1)
    shown = repr(optimizer)
    refused = [
        ({"params": params[:1]}, ValueError, "more than one parameter group"),
        ({"params": {params[0]}}, TypeError, "ordered collections"),
        ({"params": [1.0]}, TypeError, "can only optimize Tensors"),
        ({"params": [params[0] * 2]}, ValueError, "can't optimize a non-leaf Tensor"),
        ({"params": [("w", leaf(torch.ones(1)))]}, ValueError, "with/without names"),
        ([leaf(torch.ones(1))], TypeError, "param_group must be a dict"),
    ]
    for group, kind, message in refused:
        with pytest.raises(kind, match=message):
            optimizer.add_param_group(group)
        assert repr(optimizer) == shown


@each_kernel
@each_class
def test_a_group_may_be_empty(cls, foreach):
    weight, *_ = plain_params()
    optimizer = cls([{"params": []}, {"params": [weight]}], foreach=foreach)
    alone = walk(cls(plain_params()[:1], foreach=foreach), 3)
    exactly(snapshot(walk(optimizer, 3)), snapshot(alone))
    fresh = cls([{"params": []}, {"params": [leaf(weight)]}])
    fresh.load_state_dict(deepcopy(optimizer.state_dict()))
    exactly(snapshot(fresh), snapshot(optimizer))


@each_class
def test_the_callers_dicts_stay_as_they_were(cls):
    weight, bias, _ = plain_params()
    given = [{"params": [weight], "lr": 0.5}, {"params": [bias], "lr": 0.25}]
    kept = [dict(group) for group in given]
    cls(given)
    assert [g.keys() for g in given] == [k.keys() for k in kept]


@each_class
def test_params_may_come_from_a_generator(cls):
    params = plain_params()
    optimizer = cls({"params": p} for p in params)
    assert [g["params"] for g in optimizer.param_groups] == [[p] for p in params]
    optimizer = cls(p for p in params)
    assert optimizer.param_groups[0]["params"] == params
    named = cls((str(i), p) for i, p in enumerate(params))
    assert named.param_groups[0]["param_names"] == ["0", "1", "2"]


def test_a_model_may_name_what_is_to_be_spared_from_weight_decay():
    """As timm's models do, wherever in the model they are."""

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Parameter(torch.zeros(1, 1, 4))
            self.head = nn.Linear(4, 2)

        def no_weight_decay(self):
            return {"token"}

    for model, name in ((Named(), "token"), (nn.Sequential(Named()), "0.token")):
        groups = acprop.param_groups(model, 0.1)
        spared = [n for g in groups if g["weight_decay"] == 0 for n, _ in g["params"]]
        assert name in spared
        assert len(spared) == 2
