"""Every hook that torch.optim offers is called, in order, and may do its work."""

from copy import deepcopy

import pytest
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from .infos import each_class, each_kernel
from .walks import exactly, feed, params_of, plain_params, snapshot, typed_params, walk


@each_kernel
@each_class
def test_step_hooks_stand_around_the_step(cls, foreach):
    optimizer, seen = cls(plain_params(), foreach=foreach), []
    param = params_of(optimizer)[0]

    def before(hooked, args, kwargs):
        assert hooked is optimizer
        assert (args, kwargs) == ((optimizer,), {})
        seen.append(("before", dict(hooked.state[param]) if hooked.state else None))

    def after(hooked, args, kwargs):
        assert hooked is optimizer
        assert (args, kwargs) == ((optimizer,), {})
        seen.append(("after", hooked.state[param]["step"].item()))

    handles = [
        optimizer.register_step_pre_hook(before),
        optimizer.register_step_post_hook(after),
    ]
    walk(optimizer, 1)
    assert seen == [("before", None), ("after", 1.0)]
    for handle in handles:
        handle.remove()
    walk(optimizer, 1)
    assert len(seen) == 2


@each_class
def test_a_step_hook_may_replace_the_closure(cls):
    optimizer = cls(plain_params())
    optimizer.register_step_pre_hook(
        lambda hooked, _, kwargs: ((hooked, lambda: 7.0), kwargs)
    )
    assert optimizer.step() == 7.0


@each_class
def test_a_step_hook_may_not_return_anything_else(cls):
    optimizer = cls(plain_params())
    optimizer.register_step_pre_hook(lambda *_: 1)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


@each_class
def test_hooks_on_all_optimizers_come_outside_those_on_one(cls):
    optimizer, seen = cls(plain_params()), []
    handles = [
        optimizer.register_step_pre_hook(lambda *_: seen.append("own before")),
        optimizer.register_step_post_hook(lambda *_: seen.append("own after")),
        register_optimizer_step_pre_hook(lambda *_: seen.append("all before")),
        register_optimizer_step_post_hook(lambda *_: seen.append("all after")),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    optimizer.step()
    assert seen == ["all before", "own before", "own after", "all after"]


@each_class
def test_state_dict_hooks_may_prepare_and_replace_what_is_saved(cls):
    optimizer, seen = walk(cls(plain_params()), 1), []
    optimizer.register_state_dict_pre_hook(lambda hooked: seen.append(hooked))
    optimizer.register_state_dict_post_hook(
        lambda _, saved: saved.update(epoch=3)  # in place, and returns None
    )
    optimizer.register_state_dict_post_hook(lambda _, saved: {**saved, "best": 0.5})
    optimizer.register_state_dict_post_hook(
        lambda _, saved: {**saved, "first": "best" not in saved}, prepend=True
    )
    saved = optimizer.state_dict()
    assert seen == [optimizer]
    assert (saved["epoch"], saved["best"], saved["first"]) == (3, 0.5, True)
    assert saved["state"].keys() == {0, 1, 2}


@each_class
def test_a_load_hook_may_replace_what_is_loaded(cls):
    """The half-precision state that is put back must be that of the replacement."""
    optimizer = walk(cls(typed_params()), 2)
    good, bad = optimizer.state_dict(), deepcopy(optimizer.state_dict())
    for state in bad["state"].values():
        state["exp_avg_sq"].fill_(7.0)
    bad["param_groups"][0]["lr"] = 9.0
    fresh = cls(typed_params())
    fresh.register_load_state_dict_pre_hook(lambda *_: deepcopy(good))
    fresh.load_state_dict(bad)
    exactly(dict(fresh.state_dict())["state"], good["state"])
    assert fresh.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


@each_class
def test_a_load_hook_may_change_the_dict_in_place(cls):
    optimizer = walk(cls(typed_params()), 2)
    fresh = cls(typed_params())

    def start_over(_, loaded):
        loaded["state"] = {}

    handle = fresh.register_load_state_dict_pre_hook(start_over)
    saved = optimizer.state_dict()
    fresh.load_state_dict(saved)
    assert not fresh.state
    assert saved["state"]  # the hook was given a copy
    handle.remove()
    fresh.load_state_dict(saved)
    exactly(fresh.state_dict()["state"], saved["state"])


@each_class
def test_a_hook_after_loading_sees_what_was_loaded_and_has_the_last_word(cls):
    optimizer = walk(cls(typed_params()), 2)
    saved, seen = optimizer.state_dict(), []
    fresh = cls(typed_params())

    def after(hooked):
        seen.append(deepcopy(hooked.state_dict()["state"]))
        for param in params_of(hooked):
            state = hooked.state[param]
            state["exp_avg_sq"] = torch.zeros_like(state["exp_avg_sq"])

    fresh.register_load_state_dict_post_hook(after, prepend=True)
    fresh.load_state_dict(saved)
    exactly(seen[0], saved["state"])
    assert all((entry["exp_avg_sq"] == 0).all() for entry in snapshot(fresh))


@each_class
def test_loading_leaves_no_hooks_behind(cls):
    optimizer = walk(cls(plain_params()), 1)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({**saved, "param_groups": []})
    assert not optimizer._optimizer_load_state_dict_pre_hooks
    assert not optimizer._optimizer_load_state_dict_post_hooks


@each_class
def test_names_can_be_matched_by_a_hook(cls):
    """The recipe of torch's documentation for parameters in another order."""
    names = ["w", "b", "t"]
    optimizer = walk(cls(list(zip(names, plain_params(), strict=True))), 2)
    reordered = cls(list(zip(names, plain_params(), strict=True))[::-1])

    def match(hooked, loaded):
        (saved,), (own,) = loaded["param_groups"], hooked.param_groups
        index = {name: i for i, name in enumerate(saved["param_names"])}
        state = {
            i: loaded["state"][index[name]] for i, name in enumerate(own["param_names"])
        }
        group = {**saved, "param_names": own["param_names"]}
        return {"state": state, "param_groups": [group]}

    reordered.register_load_state_dict_pre_hook(match)
    reordered.load_state_dict(optimizer.state_dict())
    without_params = [
        [{k: v for k, v in e.items() if k != "param"} for e in snapshot(o)]
        for o in (reordered, optimizer)
    ]
    exactly(without_params[0][::-1], without_params[1])
    feed(reordered, 3)
    reordered.step()
