"""What the optimizer keeps for one parameter: which tensors, and how they are made."""

from typing import Any

import torch
from torch import Tensor

from acprop import rule as rules
from acprop.optim import _torch_internals, codes, dither
from acprop.optim.codes import CODERS, Codes
from acprop.optim.options import Group, rule_of
from acprop.optim.params import (
    HALF,
    ParamWithState,
    real,
    to_bfloat16,
    wide_dtype,
)
from acprop.rule import Rule

State = dict[str, Any]

# Of these one form may be made of another, and each may be kept in codes. A mean that
# no option asks for any more is dropped, so that it cannot come back years old.
_CODED = frozenset(f"{name}_{part}" for name in CODERS for part in Codes._fields)
_MOMENTS = _CODED | CODERS.keys()
# In the type of the arithmetic, whatever the parameter's; in types of their own.
WIDE = frozenset({*CODERS, "max_exp_avg_sq", "past"})
EXACT = _CODED | {"stream"}


def wanted(group: Group, rule: Rule, param: Tensor) -> set[str]:
    """The names of the state that a group's options ask for in this parameter."""
    coded = group["small_state"] and codes.pays(param)
    names = {"step", "exp_avg_sq"}
    if rule.keeps_m:
        names.add("exp_avg")
    if rule.keeps_average:
        names.add("momentum_buffer")
    if coded:
        for name in (mean_of(rule), "exp_avg_sq"):
            names.remove(name)
            names |= {f"{name}_{part}" for part in Codes._fields}
    if group["amsgrad"]:
        names.add("max_exp_avg_sq")
    if group["delay"] > 1:
        names.add("past")
    if group["kahan"] and param.dtype in HALF:
        names.add("compensation")
    rounded = group["stochastic_rounding"] is not None and param.dtype in HALF
    if coded or rounded or wants_half(group, param):
        names.add("stream")
    return names


def wants_half(group: Group, param: Tensor) -> bool:
    """Are the moments of this parameter kept in bfloat16?"""
    return group["state_dtype"] is not None and wide_dtype(param) == torch.float32


def fits(state: State, names: set[str], half: bool) -> bool:
    """Is all there that is wanted, and no moment that is not?

    half: shall the moments be bfloat16?
    """
    return (
        names <= state.keys()
        and (_MOMENTS & state.keys()) <= names
        and ("exp_avg_sq" not in names or _is_half(state["exp_avg_sq"]) == half)
    )


def _is_half(moment: Tensor) -> bool:
    return moment.dtype == torch.bfloat16


def mean_of(rule: Rule) -> str:
    """The running mean that comes first: m, or M where the rule keeps no m."""
    return "exp_avg" if rule.keeps_m else "momentum_buffer"


# What `ParamWithState` holds of the state, in its order.
_KEPT = ParamWithState._fields[2:-2]


def values_of(state: State, names: set[str], rule: Rule) -> list[Tensor | None]:
    """The state in the order of `ParamWithState`; what is not wanted is None."""
    values: list[Tensor | None] = []
    for field in _KEPT:
        name = f"{mean_of(rule)}_scale" if field == "mean_scale" else field
        coded = f"{name}_code"
        name = coded if coded in names else name
        values.append(state[name] if name in names else None)
    return values


def complete(
    state: State, param: Tensor, group: Group, names: set[str], number: int
) -> None:
    """Make the state of a parameter, or what it lacks after a change of options.

    names: what is `wanted`.
    number: of the parameter in the optimizer; the random bits depend on it.
    """
    if param.dtype == torch.float16 and group["stochastic_rounding"] is not None:
        raise RuntimeError(
            "stochastic_rounding must be None for float16 parameters, got "
            f"{group['stochastic_rounding']}; use bfloat16, or kahan=True"
        )
    step = state.get("step", 0.0)
    if not isinstance(step, Tensor):
        state["step"] = torch.tensor(
            float(step),
            dtype=_torch_internals.step_dtype(),
            # On the host unless a graph needs it: a launch costs more than an add.
            device=param.device if group["capturable"] else "cpu",
        )
    if "stream" in names and "stream" not in state:
        state["stream"] = torch.tensor(number, device=param.device)
    half = wants_half(group, param)
    if not fits(state, names & _MOMENTS, half):
        if len(state) > 1:  # more than a counter
            _to_numbers(state, param)
            translate(state, {n.removesuffix("_code") for n in names}, group)
        if "exp_avg_sq_code" in names:
            _to_codes(state, param, mean_of(rule_of(group)))
        elif half:
            _to_half(state, param)
    for name in sorted(names - state.keys()):
        state[name] = _zeros(name, param, group)


def check_window(state: State, delay: int) -> None:
    """Refuse another delay than that of the window of gradients that is kept."""
    kept = 1 + len(state["past"]) if "past" in state else 1
    if state and max(delay, 1) != kept:
        raise ValueError(
            f"delay must stay {kept} between steps, got {delay}; the gradients that it "
            "needs are not kept: make a new optimizer"
        )


def _zeros(name: str, param: Tensor, group: Group) -> Tensor:
    if name == "compensation":
        return torch.zeros_like(param, memory_format=torch.preserve_format)
    value = real(param)
    dtype = wide_dtype(value)
    if name in CODERS and wants_half(group, param):
        dtype = torch.bfloat16
    if name in ("exp_avg_sq", "max_exp_avg_sq") and group["reduction"]:
        return torch.zeros((), dtype=dtype, device=param.device)
    zeros = torch.zeros_like(value, dtype=dtype, memory_format=torch.preserve_format)
    if name == "past":
        return torch.stack([zeros] * (group["delay"] - 1))
    return zeros


# ---- from one running mean to another ------------------------------------------------
# Some rules keep m, the mean of gradients, others M, the mean of normalised gradients.
# With the denominator of the last step, D = √(s/(1 - β2^t)), one is about the other:
#
#     M = clip(m / D, ±c_t)        0 where D is 0
#     m = M · D
#
# s stays what it is. Then the next step is about as long as the last one was.


def translate(state: State, wanted: set[str], group: Group) -> None:
    """Make of the running mean that a state has the one that is wanted instead.

    The other one is dropped unless it is wanted too.
    """
    # Of the newest in an average: a mean has 1 - β1, where RMSprop's sum has 1.
    weight = 1 - float(group["betas"][0]) if group["as_rmsprop"] else 1.0
    if "exp_avg_sq" in state:
        if "momentum_buffer" in wanted - state.keys() and "exp_avg" in state:
            state["momentum_buffer"] = _normalised(state, group) / weight
        elif "exp_avg" in wanted - state.keys() and "momentum_buffer" in state:
            mean = state["momentum_buffer"] * weight
            state["exp_avg"] = mean * _denominator(state, group)
    for name in {"exp_avg", "momentum_buffer"} - wanted:
        state.pop(name, None)


def _normalised(state: State, group: Group) -> Tensor:
    m, root = state["exp_avg"], _denominator(state, group)
    mean = torch.where(root > 0, m / root, torch.zeros_like(m))
    # As every u was: where s knew of no surprise m / D has no limit of its own.
    if group["clip"] is None:
        return mean
    growing = group["clip"] == "t**0.25"
    bound = float(state["step"]) ** 0.25 if growing else group["clip"]
    return mean.clamp(-bound, bound)


def _denominator(state: State, group: Group) -> Tensor:
    seen = weight_seen(state, group)
    radicand = state["exp_avg_sq"] / seen
    if group["amsgrad"] and "max_exp_avg_sq" in state:
        top = state["max_exp_avg_sq"]
        top = top if keeps_corrected_maximum(group) else top / seen
        radicand = torch.maximum(radicand, top)
    return radicand.sqrt()


def weight_seen(state: State, group: Group) -> float:
    """1 - β2^t, the weight of all gradients in s."""
    return 1 - float(group["betas"][1]) ** float(state["step"]) or 1.0


def keeps_corrected_maximum(group: Group) -> bool:
    """Is AMSGrad's maximum one of corrected second moments?"""
    return rules.convention(group["convention"]).amsgrad == "corrected"


# ---- from numbers to codes and back -------------------------------------------------


def _to_codes(state: State, param: Tensor, mean: str) -> None:
    """Make codes of a running mean and s."""
    # As a step would, but for the sign: no two of them draw the same bits.
    key = dither.key(-state["step"], state["stream"])
    for name in (mean, "exp_avg_sq"):
        made = codes.zeros(param, CODERS[name].dtype)
        if name in state:
            numbers = _local(state.pop(name))
            sixteen = dither.bits(numbers, key, dither.offset_of(param))
            new = CODERS[name].encode(numbers, sixteen, 0.0)
            _local(made.code).copy_(new.code)
            _local(made.scale).copy_(new.scale)
        state[f"{name}_code"], state[f"{name}_scale"] = made


def _to_half(state: State, param: Tensor) -> None:
    """Round the moments to bfloat16 at random."""
    key = dither.key(-state["step"], state["stream"])
    for name in CODERS.keys() & state.keys():
        numbers = _local(state[name])
        sixteen = dither.bits(numbers, key, dither.offset_of(param))
        near = to_bfloat16(numbers, sixteen)
        state[name] = state[name].to(torch.bfloat16)
        _local(state[name]).copy_(near)


def _to_numbers(state: State, param: Tensor) -> None:
    """Make numbers of codes and of bfloat16, where there are any."""
    for name, coder in CODERS.items():
        if name in state and _is_half(state[name]):
            state[name] = state[name].to(torch.float32)
        if f"{name}_code" not in state:
            continue
        code, scale = state.pop(f"{name}_code"), state.pop(f"{name}_scale")
        state[name] = torch.zeros_like(
            param, dtype=wide_dtype(param), memory_format=torch.preserve_format
        )
        numbers = coder.decode(Codes(_local(code), _local(scale)))
        _local(state[name]).copy_(numbers)


def _local(tensor: Any) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "placements") else tensor
