"""A run that is saved and loaded, by any road, is the run that was not interrupted."""

import pickle
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

import acprop
from acprop.rule import CONVENTIONS

from .infos import (
    OWN_CONVENTION,
    each_case_on_every_kernel,
    each_class,
    each_kernel,
    each_option,
)
from .walks import (
    copies,
    exactly,
    leaf,
    mixed_params,
    params_of,
    plain_params,
    snapshot,
    through_a_file,
    typed_params,
    up_to_rounding,
    walk,
)


@each_case_on_every_kernel
def test_a_fresh_optimizer_continues_from_a_file_to_the_last_bit(case):
    """The options travel along: the fresh one is constructed with none of them."""
    optimizer = walk(case.make(typed_params()), 3)
    fresh = case.cls(copies(optimizer))
    fresh.load_state_dict(through_a_file(optimizer.state_dict()))
    exactly(snapshot(fresh), snapshot(optimizer))
    later = range(3, 6)
    exactly(snapshot(walk(fresh, later)), snapshot(walk(optimizer, later)))


@each_class
def test_tensors_of_every_kind_continue_from_memory_to_the_last_bit(cls):
    # Not native: of a view with gaps the copy has none, and would get that kernel.
    optimizer = walk(cls(mixed_params(), amsgrad=True, fused=False), 3)
    fresh = cls(copies(optimizer))
    fresh.load_state_dict(deepcopy(optimizer.state_dict()))
    later = range(3, 6)
    exactly(snapshot(walk(fresh, later)), snapshot(walk(optimizer, later)))


@each_option
def test_a_copied_or_pickled_optimizer_continues_with_its_own_parameters(case):
    optimizer = walk(case.make(typed_params()), 2)
    others = deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
    expected = snapshot(walk(optimizer, range(2, 4)))
    for other in others:
        assert repr(other) == repr(optimizer)
        assert str(other.defaults) == str(optimizer.defaults)
        assert not set(params_of(other)) & set(params_of(optimizer))
        exactly(snapshot(walk(other, range(2, 4))), expected)


@each_option
def test_options_come_back_as_they_were(case):
    optimizer = case.make(plain_params())
    fresh = case.cls(plain_params())
    fresh.load_state_dict(through_a_file(optimizer.state_dict()))
    assert repr(fresh) == repr(optimizer)


def test_a_convention_of_ones_own_comes_back_from_a_file():
    optimizer = acprop.ACProp(plain_params(), convention=OWN_CONVENTION)
    saved = through_a_file(optimizer.state_dict())
    kept = saved["param_groups"][0]["convention"]
    assert acprop.Convention(**kept) == OWN_CONVENTION
    assert kept["name"] not in CONVENTIONS


@each_option
def test_to_save_or_to_load_changes_neither_optimizer_nor_dict(case):
    optimizer = walk(case.make(typed_params()), 2)
    saved, before = optimizer.state_dict(), snapshot(optimizer)
    kept = deepcopy(saved)
    exactly(deepcopy(optimizer.state_dict()["state"]), kept["state"])
    fresh = case.cls(copies(optimizer))
    fresh.load_state_dict(saved)
    assert str(saved["param_groups"]) == str(kept["param_groups"])
    exactly(saved["state"], kept["state"])
    exactly(snapshot(optimizer), before)
    exactly([e["param"] for e in snapshot(fresh)], [e["param"] for e in before])


@pytest.mark.parametrize("kind", [int, float])
@each_kernel
@each_class
def test_a_step_saved_as_a_number_is_understood(cls, foreach, kind):
    """As torch itself saved it until 1.12."""
    optimizer = walk(cls(plain_params(), foreach=foreach), 3)
    saved = deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        state["step"] = kind(state["step"])
    fresh = cls(copies(optimizer), foreach=foreach)
    fresh.load_state_dict(saved)
    exactly(snapshot(fresh), snapshot(optimizer))
    later = range(3, 5)
    exactly(snapshot(walk(fresh, later)), snapshot(walk(optimizer, later)))


@each_option
def test_options_that_an_older_checkpoint_lacks_are_the_optimizers_own(case):
    """Those that the case is about."""
    optimizer = walk(case.make(typed_params()), 2)
    for option in set(case.kwargs) & set(optimizer.defaults):
        fresh = case.make(copies(optimizer))
        fresh.load_state_dict(lacking(option, optimizer))
        assert repr(fresh) == repr(optimizer)
        exactly(snapshot(fresh), snapshot(optimizer))


@each_class
def test_any_option_may_be_missing_from_an_older_checkpoint(cls):
    """torch keeps a list, not_og_supported_flags; here any option was new once."""
    optimizer = walk(cls(plain_params()), 2)
    for option in optimizer.defaults:
        fresh = cls(copies(optimizer))
        fresh.load_state_dict(lacking(option, optimizer))
        assert repr(fresh) == repr(optimizer)
        later = range(2, 4)
        expected = walk(deepcopy(optimizer), later)
        exactly(snapshot(walk(fresh, later)), snapshot(expected))


def lacking(option, optimizer):
    """A checkpoint from before there was this option."""
    older = deepcopy(optimizer.state_dict())
    del older["param_groups"][0][option]
    return older


@each_kernel
@pytest.mark.parametrize(
    ("option", "name", "shape"),
    [
        ({"amsgrad": True}, "max_exp_avg_sq", (4,)),
        ({"delay": 3}, "past", (2, 4)),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", [acprop.ACProp, acprop.AdaShift])
def test_state_that_an_older_checkpoint_lacks_starts_at_zero(
    cls, option, name, shape, foreach
):
    params = [{"params": typed_params()[:1], **option}]
    optimizer = walk(cls(params, foreach=foreach), 2)
    older = deepcopy(optimizer.state_dict())
    del older["state"][0][name]
    fresh = cls([{"params": copies(optimizer), **option}], foreach=foreach)
    fresh.load_state_dict(older)
    exactly(snapshot(fresh)[0][name], torch.zeros(shape))
    walk(fresh, range(2, 4))
    assert snapshot(fresh)[0]["param"].isfinite().all()


def test_compensation_that_an_older_checkpoint_lacks_starts_at_zero():
    optimizer = walk(acprop.ACProp(typed_params(), kahan=False), 2)
    older = optimizer.state_dict()
    del older["param_groups"][0]["kahan"]
    fresh = acprop.ACProp(copies(optimizer))
    fresh.load_state_dict(older)
    exactly(snapshot(fresh)[1]["compensation"], torch.zeros(4, dtype=torch.bfloat16))
    walk(fresh, 1)


@each_kernel
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_goes_on_where_torchs_adamw_stopped(amsgrad, foreach):
    given = {"amsgrad": amsgrad, "lr": 0.02, "betas": (0.8, 0.9), "weight_decay": 0.3}
    torchs = walk(torch.optim.AdamW(plain_params(torch.float64), **given), 3)
    saved = through_a_file(torchs.state_dict())
    # Older torch does not save that AdamW's decay is decoupled; then we must be.
    missing = {"decoupled_weight_decay"} - saved["param_groups"][0].keys()
    ours = acprop.Adam(copies(torchs), foreach=foreach, **dict.fromkeys(missing, True))
    ours.load_state_dict(saved)
    later = range(3, 40)
    up_to_rounding(snapshot(walk(ours, later)), snapshot(walk(torchs, later)))


@each_option
def test_a_flattened_checkpoint_of_torch_distributed_carries_every_option(case):
    """It has only the keys that a group has; a mark beside ε was lost there."""
    how = StateDictOptions(flatten_optimizer_state_dict=True)
    nets = [nn.Linear(3, 2) for _ in range(2)]
    optimizer, fresh = (case.make(net.parameters()) for net in nets)
    walk(optimizer, 2)
    for name in ("lr", "weight_decay", "eps"):
        fresh.param_groups[0][name] = 0.5  # the checkpoint knows better
    kept = get_optimizer_state_dict(nets[0], optimizer, options=how)
    set_optimizer_state_dict(nets[1], fresh, deepcopy(kept), options=how)
    assert repr(fresh) == repr(optimizer)
    for one, other in zip(snapshot(fresh), snapshot(optimizer), strict=True):
        exactly({**one, "param": 0.0}, {**other, "param": 0.0})


SINGLE = [torch.float32, torch.complex64]
DOUBLE = [torch.float64, torch.complex128]


@pytest.mark.parametrize(
    ("saved_as", "loaded_as"),
    [(SINGLE, DOUBLE), (DOUBLE, SINGLE)],
    ids=["to double", "to single"],
)
@each_option
def test_state_takes_the_type_of_the_parameter_that_loads_it(case, saved_as, loaded_as):
    optimizer = walk(case.make([plain_params(dtype)[1] for dtype in saved_as]), 2)
    params = zip(params_of(optimizer), loaded_as, strict=True)
    fresh = case.cls([leaf(param.to(dtype)) for param, dtype in params])
    fresh.load_state_dict(deepcopy(optimizer.state_dict()))
    loaded, wide = snapshot(fresh), loaded_as[0]
    for before, after in zip(snapshot(optimizer), loaded, strict=True):
        assert after["step"].dtype == torch.float32
        for name in after.keys() - {"step", "param"}:
            exactly(after[name], before[name].to(wide))
    for before, after in zip(loaded, snapshot(walk(fresh, 2)), strict=True):
        assert {k: v.dtype for k, v in before.items()} == {
            k: v.dtype for k, v in after.items()
        }


@each_option
def test_a_half_precision_parameter_loads_its_state_in_single_precision(case):
    """torch would round it to the parameter's type: 1 - β2 = 0.001 away."""
    half = torch.bfloat16
    params = [plain_params(half)[0], plain_params(torch.float16)[1]]
    optimizer = walk(case.make(params), 3)
    fresh = case.make(copies(optimizer))
    fresh.load_state_dict(through_a_file(optimizer.state_dict()))
    exactly(snapshot(fresh), snapshot(optimizer))
    assert snapshot(fresh)[0]["exp_avg_sq"].dtype == torch.float32
    loaded = snapshot(fresh)[0].values()
    # There was something to lose, unless m is g itself and s therefore 0.
    assert any((v.to(half) != v).any() for v in loaded) or case.desc == "no mean"


@each_class
def test_names_are_saved_loaded_and_kept(cls):
    def named(*names):
        return cls(list(zip(names, plain_params(), strict=True)))

    optimizer = walk(named("w", "b", "t"), 2)
    saved = through_a_file(optimizer.state_dict())
    assert saved["param_groups"][0]["param_names"] == ["w", "b", "t"]
    other = named("x", "y", "z")
    other.load_state_dict(saved)
    assert other.param_groups[0]["param_names"] == ["w", "b", "t"]
    nameless = cls(plain_params())
    nameless.load_state_dict(saved)
    assert nameless.param_groups[0]["param_names"] == ["w", "b", "t"]
    keeper = named("x", "y", "z")
    keeper.load_state_dict(cls(plain_params()).state_dict())
    assert keeper.param_groups[0]["param_names"] == ["x", "y", "z"]


@each_class
def test_a_checkpoint_of_other_groups_is_refused(cls):
    saved = walk(cls(plain_params()), 1).state_dict()
    split = cls([{"params": [p]} for p in plain_params()])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        split.load_state_dict(saved)
    short = cls(plain_params()[:2])
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        short.load_state_dict(saved)
    assert all(not state for state in short.state.values())


@each_class
def test_state_of_parameters_in_another_order_is_refused(cls):
    """torch does not look at shapes when it loads, and would fail at the next step."""
    saved = walk(cls(plain_params()), 2).state_dict()
    shuffled = cls(plain_params()[::-1])
    with pytest.raises(
        ValueError, match=r"must have (exp_avg|momentum_buffer) of param"
    ):
        shuffled.load_state_dict(saved)
    assert not shuffled.state


@each_class
def test_state_of_a_method_without_m_and_s_is_refused(cls):
    """Going on with s = 0 at a late step would be a huge step."""
    saved = walk(torch.optim.RMSprop(plain_params()), 2).state_dict()
    fresh = cls(plain_params())
    with pytest.raises(ValueError, match="must hold exp_avg or momentum_buffer, and"):
        fresh.load_state_dict(saved)
    assert not fresh.state
