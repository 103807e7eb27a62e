"""A run that changes its optimizer midway: one running mean made of another.

Some rules keep m, the mean of gradients, others M, the mean of normalised gradients.
With the denominator of the last step, D = √(s/(1 - β2^t)), one is about the other:

    M = clip(m / D, ±c_t)        0 where D is 0
    m = M · D

s stays what it is. Then the next step is about as long as the last one was.
"""

from typing import Any

import torch
from torch import Tensor

from acprop import rule as rules
from acprop.optim.options import FIELDS, Group

State = dict[str, Any]


def translate(state: State, wanted: set[str], group: Group) -> None:
    """Make of the running mean that a state has the one that is wanted instead.

    The other one is dropped unless it is wanted too.
    """
    if "exp_avg_sq" in state:
        if "momentum_buffer" in wanted - state.keys() and "exp_avg" in state:
            state["momentum_buffer"] = _normalised(state, group)
        elif "exp_avg" in wanted - state.keys() and "momentum_buffer" in state:
            mean = state["momentum_buffer"] * _weight(group)
            state["exp_avg"] = mean * _denominator(state, group)
    for name in {"exp_avg", "momentum_buffer"} - wanted:
        state.pop(name, None)


def _normalised(state: State, group: Group) -> Tensor:
    m, root = state["exp_avg"], _denominator(state, group)
    mean = torch.where(root > 0, m / root, torch.zeros_like(m))
    # As every u was: where s knew of no surprise m / D has no limit of its own.
    if group["clip"] is not None:
        growing = group["clip"] == "t**0.25"
        bound = float(state["step"]) ** 0.25 if growing else group["clip"]
        mean = mean.clamp(-bound, bound)
    return mean / _weight(group)


def _weight(group: Group) -> float:
    """Of the newest in an average: a mean has 1 - β1, where RMSprop's sum has 1."""
    return 1 - float(group["betas"][0]) if group["as_rmsprop"] else 1.0


def _denominator(state: State, group: Group) -> Tensor:
    seen = _seen(state, group)
    radicand = state["exp_avg_sq"] / seen
    if group["amsgrad"] and "max_exp_avg_sq" in state:
        top = state["max_exp_avg_sq"]
        radicand = torch.maximum(radicand, top if _corrects(group) else top / seen)
    return radicand.sqrt()


def _seen(state: State, group: Group) -> float:
    return 1 - float(group["betas"][1]) ** float(state["step"]) or 1.0


def _corrects(group: Group) -> bool:
    """Is AMSGrad's maximum one of corrected second moments?"""
    return rules.convention(group["convention"]).amsgrad == "corrected"


def is_foreign(group: Group) -> bool:
    """Is this a parameter group of another optimizer?"""
    return not {"convention", "average", "clip"} & group.keys()


def adopt(state: State, group: Group) -> None:
    """Read the state of torch's Adam, AdamW or NAdam as one of our convention."""
    if "max_exp_avg_sq" in state and _corrects(group):
        state["max_exp_avg_sq"] = state["max_exp_avg_sq"] / _seen(state, group)


_STATE = {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer"}
# Ours that AdamW does not have, or does not mean alike.
_OWN = FIELDS.keys() - {
    "lr",
    "betas",
    "eps",
    "weight_decay",
    "amsgrad",
    "decoupled_weight_decay",
    "maximize",
    "capturable",
    "differentiable",
}


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
    if not groups or "state" not in state_dict or any(map(is_foreign, groups)):
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
    state = {name: value for name, value in kept.items() if name in _STATE}
    translate(state, {"exp_avg"}, group)
    if "max_exp_avg_sq" in state and _corrects(group):
        state["max_exp_avg_sq"] = state["max_exp_avg_sq"] * _seen(state, group)
    return state
