"""Settings checked before anything is built: by name, by value, by kind of decay."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from acprop import checks, rule
from acprop.bench.optimizers.entries import ENTRIES, INNER, NOT_OFFERED, Entry
from acprop.plain import Plain

Check = Callable[[str, Any], Any]
# Options that came after runs were kept. At their default they are left out, so that
# the run's id is what it was.
_LATER = {"small_state": False, "state_dtype": None}


def find(name: str) -> Entry:
    """The entry of that name."""
    if name in NOT_OFFERED:
        raise checks.UserError(
            f"optimizer must be one on offer, got {name}; {NOT_OFFERED[name]}"
        )
    return ENTRIES[checks.one_of("optimizer", name, ENTRIES)]


def resolved(name: str, settings: Mapping[str, Any] | None = None) -> Plain:
    """All settings with their values, checked: equal runs have equal ones.

    `betas` may stand for beta1 and beta2.
    """
    entry, given = find(name), dict(settings or {})
    allowed = entry.defaults
    if "inner" in allowed:
        inner = checks.one_of("inner", given.get("inner", allowed["inner"]), INNER)
        allowed = {**INNER[inner].defaults, **allowed}
        entry = replace(INNER[inner], name=f"{name} over {inner}")
    found = {**allowed, **_check_names(entry.name, allowed, _separate_betas(given))}
    for key, value in found.items():
        # Both mean "the method's own", where that is a default.
        is_own = value == allowed[key] and value in (None, "convention")
        if key in _CHECKS and not is_own:
            found[key] = _CHECKS[key](key, value)
    _check_decay(entry, found["decoupled"])
    if find(name).settings.keys() >= _CHOSEN:
        # What it is by default may change; what a run was may not.
        with checks.user_values():
            convention = rule.convention(found["convention"])
            chosen = rule.choose(convention, **{k: found[k] for k in _CHOSEN})
        found |= {k: getattr(chosen, k) for k in _CHOSEN}
    return {k: v for k, v in found.items() if k not in _LATER or v != _LATER[k]}


_CHOSEN = {"average", "nesterov", "center", "delay"}  # the rule of ACProp


def _check_names(name: str, allowed: Plain, given: Plain) -> Plain:
    for key in given:
        if key not in allowed:
            raise checks.UnknownNameError(
                key,
                f"settings of {name} must be among {', '.join(allowed)}, got {key}"
                f"{checks.meant(key, allowed)}",
            )
    return given


def _separate_betas(given: Plain) -> Plain:
    if "betas" not in given:
        return given
    pair = given.pop("betas")
    if not isinstance(pair, list | tuple) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise checks.UserTypeError(f"betas must be a pair of numbers, got {pair!r}")
    if "beta1" in given or "beta2" in given:
        raise checks.UserError("betas must stand alone, got beta1 or beta2 beside it")
    return {**given, "beta1": pair[0], "beta2": pair[1]}


# Who has the decay that these do not have.
_OTHER = {"adam": "; use adamw", "adamw": "; use adam"}


def _check_decay(entry: Entry, decoupled: bool) -> None:
    if entry.decay != "either" and decoupled != (entry.decay == "decoupled"):
        raise checks.UserError(
            f"decoupled must be {not decoupled} for {entry.name}, got {decoupled}: "
            f"{entry.library}'s has {entry.decay} weight decay only"
            f"{_OTHER.get(entry.name, '')}"
        )


def check_eps(name: str, value: Any, dtype: torch.dtype = torch.float32) -> float:
    """0 or more, and no number that becomes 0 in the precision it is used in."""
    checks.not_negative(name, value)
    if value > 0 and torch.tensor(value, dtype=dtype).item() == 0:
        info, precision = torch.finfo(dtype), str(dtype).removeprefix("torch.")
        least = info.smallest_normal * info.eps
        raise checks.UserError(
            f"{name} must not underflow, got {value:g}, which is 0 in {precision}; "
            f"use {least:.1e} or more"
        )
    return float(value)


def _up_to(top: float) -> Check:
    def check_range(name: str, value: Any) -> float:
        if not 0 < checks.number(name, value) <= top:
            raise checks.UserError(f"{name} must be in (0, {top:g}], got {value}")
        return float(value)

    return check_range


# What is not here (convention, average, center, reduction, clip) our own classes check.
_CHECKS: dict[str, Check] = {
    **dict.fromkeys(
        ("lr", "final_lr", "init_lr", "gamma", "muon_ratio"), checks.positive
    ),
    **dict.fromkeys(
        (
            "weight_decay",
            "lr_decay",
            "momentum_decay",
            "initial_accumulator",
            "delta",
            "slow_weight",
            "kappa",
        ),
        checks.not_negative,
    ),
    **dict.fromkeys(
        ("beta1", "beta2", "beta3", "alpha", "rho", "momentum", "wd_ratio"),
        checks.decay,
    ),
    **dict.fromkeys(
        ("decoupled", "nesterov", "amsgrad", "clipped", "small_state", "centered"),
        checks.flag,
    ),
    **dict.fromkeys(
        (
            "k",
            "num_samples",
            "t_alpha_beta3",
            "precondition_frequency",
            "max_precondition_dim",
        ),
        checks.integer,
    ),
    **dict.fromkeys(("delay", "warmup_steps"), partial(checks.integer, least=0)),
    **dict.fromkeys(("slow_step", "hessian_power"), _up_to(1)),
    "partial": _up_to(0.5),
    "state_dtype": partial(checks.one_of, known=("bfloat16",)),
    "eps": check_eps,  # in float32: what every task's parameters are
    "rebound": partial(checks.one_of, known=("constant", "belief")),
}
