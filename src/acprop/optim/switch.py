"""A run that changes its optimizer midway: one running mean made of another.

Some rules keep m, the mean of gradients, others M, the mean of normalised gradients.
With the denominator of the last step, D = √(s/(1 - β2^t)), one is about the other:

    M = m / D        0 where D is 0
    m = M · D

s stays what it is. Then the next step is about as long as the last one was.
"""

from typing import Any

import torch
from torch import Tensor

from acprop.optim.options import Group

State = dict[str, Any]


def translate(state: State, wanted: set[str], group: Group) -> None:
    """Make of the running mean that a state has the one that is wanted instead."""
    if "exp_avg_sq" not in state:
        return
    if "momentum_buffer" in wanted - state.keys() and "exp_avg" in state:
        root = _denominator(state, group)
        m = state["exp_avg"]
        state["momentum_buffer"] = torch.where(root > 0, m / root, torch.zeros_like(m))
    elif "exp_avg" in wanted - state.keys() and "momentum_buffer" in state:
        state["exp_avg"] = state["momentum_buffer"] * _denominator(state, group)
    else:
        return
    for name in {"exp_avg", "momentum_buffer"} - wanted:
        state.pop(name, None)


def _denominator(state: State, group: Group) -> Tensor:
    seen = 1 - float(group["betas"][1]) ** float(state["step"])
    return (state["exp_avg_sq"] / (seen or 1.0)).sqrt()


def to_adamw(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of ours as `torch.optim.AdamW` can go on from it.

        torch.optim.AdamW(params).load_state_dict(acprop.to_adamw(opt.state_dict()))

    The other way needs nothing: our `load_state_dict` reads AdamW's checkpoints.
    """
    groups = {i: group for group in state_dict["param_groups"] for i in group["params"]}
    state: dict[Any, State] = {}
    for i, kept in state_dict["state"].items():
        if any(str(name).endswith("_code") for name in kept):
            raise ValueError(
                "state_dict must have small_state=False to be read by AdamW, got 8-bit "
                "codes; load it into an optimizer with small_state=False first"
            )
        known = {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer"}
        state[i] = {name: value for name, value in kept.items() if name in known}
        translate(state[i], {"exp_avg"}, groups[i])
        state[i].pop("momentum_buffer", None)
    return {**state_dict, "state": state}
