"""Checkpoints: read as they were saved, ours or torch's own, and written for AdamW."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from inspect import signature
from itertools import count
from typing import Any

import torch
from torch.optim import AdamW, Optimizer
from torch.optim.optimizer import StateDict

from acprop import rule as rules
from acprop.optim.options import OPTIONS, RULE_OPTIONS, Group, rule_of
from acprop.optim.params import HALF, real, wide_dtype
from acprop.optim.state import (
    EXACT,
    WIDE,
    State,
    complete,
    keeps_corrected_maximum,
    translate,
    wanted,
    weight_seen,
)

# Note [Types of loaded state]
# torch casts floating-point state to the parameter's type when it is loaded. For a
# bfloat16 parameter that would round m and s to 8 bits, and 1 - β2 = 0.001 away. For a
# complex parameter it casts nothing: m and s would keep another precision, or stay
# complex if torch.optim saved them. So the saved values are put back in the type of the
# arithmetic afterwards.

# A running mean in a checkpoint, as numbers or as codes.
_MEANS = ("exp_avg", "exp_avg_code", "momentum_buffer", "momentum_buffer_code")


@contextmanager
def translated(
    optimizer: Optimizer, options_of: Callable[[Group], Group]
) -> Generator[None]:
    """Inside, torch's `load_state_dict` reads what any of the family or AdamW saved.

    options_of: the options of a saved group, checked and completed.
    """
    saved: dict[Any, Any] = {}
    ours = optimizer.param_groups

    def prepare(_: Optimizer, final: StateDict) -> StateDict | None:
        _check_saved(final, optimizer)
        saved.update(final)
        if len(final["param_groups"]) != len(ours):
            return None  # torch's own error follows
        groups: list[Group] = []
        for theirs, group in zip(final["param_groups"], ours, strict=True):
            # How small state is, is ours.
            new = {**theirs, **{n: group[n] for n in ("small_state", "state_dtype")}}
            if _is_foreign(theirs):  # there these mean something else
                for option in (*RULE_OPTIONS, "eps", "foreach", "fused", "momentum"):
                    new.pop(option, None)
            groups.append({**new, **options_of(new)})
        return {**final, "param_groups": groups}

    # Registered last and first, so that the user's own hooks see and decide
    # everything: the dict before it is loaded, the state after it was restored.
    before = optimizer.register_load_state_dict_pre_hook(prepare)
    after = optimizer.register_load_state_dict_post_hook(
        lambda _: _restore(saved, optimizer), prepend=True
    )
    try:
        yield
    finally:
        before.remove()
        after.remove()


def _check_saved(saved: StateDict, optimizer: Optimizer) -> None:
    """Refuse what could not be continued, before anything is replaced."""
    ids = [i for group in saved["param_groups"] for i in group["params"]]
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for i, param in zip(ids, params, strict=False):  # torch compares the lengths
        state = saved["state"].get(i)
        if not state:
            continue
        found = [name for name in _MEANS if name in state]
        if not found or not {"exp_avg_sq", "exp_avg_sq_code"} & state.keys():
            raise ValueError(
                f"state_dict must hold exp_avg or momentum_buffer, and exp_avg_sq, "
                f"of parameter {i}, got {', '.join(map(str, state))}; it is of "
                "another optimizer"
            )
        shape = tuple(real(state[found[0]]).shape)
        if shape != tuple(real(param).shape):
            raise ValueError(
                f"state_dict must have {found[0]} of parameter {i} in the shape of "
                f"the parameter, {tuple(real(param).shape)}, got {shape}; "
                "are the parameters in the order in which they were saved?"
            )


def _restore(saved: StateDict, optimizer: Optimizer) -> None:
    """See Note [Types of loaded state]."""
    numbers = count()
    groups = zip(optimizer.param_groups, saved["param_groups"], strict=True)
    for group, theirs in groups:
        for param, i in zip(group["params"], theirs["params"], strict=True):
            number, state = next(numbers), optimizer.state.get(param)
            if not state:
                continue
            odd = param.dtype in HALF or param.is_complex()
            for name, value in saved["state"][i].items():
                if name in EXACT:
                    state[name] = value.to(param.device)
                elif odd and name in WIDE:
                    state[name] = real(value).to(param.device, wide_dtype(real(param)))
            adopts = _is_foreign(theirs) and keeps_corrected_maximum(group)
            if adopts and "max_exp_avg_sq" in state:
                seen = weight_seen(state, group)
                state["max_exp_avg_sq"] = state["max_exp_avg_sq"] / seen
            names = wanted(group, rule_of(group), param)
            complete(state, param, group, names, number)


def _is_foreign(group: Group) -> bool:
    """Is this a parameter group of another optimizer?"""
    return not {"convention", "average", "clip"} & group.keys()


# ---- for AdamW ----------------------------------------------------------------------

_STATE = {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer"}
# Ours that AdamW does not have, or does not mean alike.
_OWN = (
    OPTIONS.keys() - signature(AdamW).parameters.keys() - {"decoupled_weight_decay"}
) | {"foreach", "fused"}


def to_adamw(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of ours as `torch.optim.AdamW` can go on from it.

        torch.optim.AdamW(params).load_state_dict(acprop.to_adamw(opt.state_dict()))

    The other way needs nothing: our `load_state_dict` reads AdamW's checkpoints.
    A convention's own ε becomes AdamW's: there it is a tuning knob, and ours far too
    small a number for one. Not for complex parameters, whose state we keep as real
    numbers: AdamW refuses it.
    """
    _check_ours(state_dict)
    groups = {i: group for group in state_dict["param_groups"] for i in group["params"]}
    return {
        **state_dict,
        "state": {
            i: _adamws(kept, groups[i]) for i, kept in state_dict["state"].items()
        },
        "param_groups": [_adamws_group(group) for group in state_dict["param_groups"]],
    }


def _check_ours(state_dict: dict[str, Any]) -> None:
    is_dict = isinstance(state_dict, dict)  # pyright: ignore[reportUnnecessaryIsInstance]
    groups: list[Group] = state_dict.get("param_groups", []) if is_dict else []
    if not groups or "state" not in state_dict or any(map(_is_foreign, groups)):
        given = list(state_dict)[:3] if is_dict else state_dict
        raise ValueError(
            "state_dict must be of an optimizer of acprop's, with state and "
            f"param_groups, got {given!r}; pass opt.state_dict(), not flattened"
        )


def _adamws_group(group: Group) -> Group:
    own = group["eps"] == rules.convention(group["convention"]).eps
    kept = {name: value for name, value in group.items() if name not in _OWN}
    return {**kept, "eps": 1e-8 if own else group["eps"]}


def _adamws(kept: State, group: Group) -> State:
    if any(str(name).endswith("_code") for name in kept):
        raise ValueError(
            "state_dict must have small_state=False to be read by AdamW, got 8-bit "
            "codes; load it into an optimizer with small_state=False first"
        )
    state = {
        name: value.float() if value.dtype == torch.bfloat16 else value
        for name, value in kept.items()
        if name in _STATE
    }
    translate(state, {"exp_avg"}, group)
    if "max_exp_avg_sq" in state and keeps_corrected_maximum(group):
        state["max_exp_avg_sq"] = state["max_exp_avg_sq"] * weight_seen(state, group)
    return state
