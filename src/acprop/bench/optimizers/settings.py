"""Settings checked before anything is built: by name, by value, by kind of decay."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from acprop import checks
from acprop.bench.optimizers.entry import Entry
from acprop.plain import Plain

Check = Callable[[str, Any], Any]
# Options that came after runs were kept. At their default they are left out, so that
# the run's id is what it was.
_LATER = {"small_state": False}


def check(entry: Entry, allowed: Mapping[str, Any], given: Mapping[str, Any]) -> Plain:
    """All settings of an entry in one canonical form, or an error that names one.

    `betas` may stand for beta1 and beta2.
    """
    separate = _separate_betas(entry, given)
    for name in separate:
        if name not in allowed:
            known = ", ".join(allowed)
            raise checks.UnknownNameError(
                name,
                f"settings of {entry.name} must be among {known}, got {name}"
                f"{checks.meant(name, allowed)}",
            )
    settings = {**allowed, **separate}
    for name, value in settings.items():
        # Both mean "the method's own", where that is a default.
        own = value == allowed[name] and value in (None, "convention")
        if name in _CHECKS and not own:
            settings[name] = _CHECKS[name](name, value)
    _check_decay(entry, settings)
    return {k: v for k, v in settings.items() if k not in _LATER or v != _LATER[k]}


def _separate_betas(entry: Entry, given: Mapping[str, Any]) -> Plain:
    settings = dict(given)
    if "betas" not in settings:
        return settings
    pair = settings.pop("betas")
    if not isinstance(pair, list | tuple) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise checks.UserTypeError(f"betas must be a pair of numbers, got {pair!r}")
    if "beta1" in given or "beta2" in given:
        raise checks.UserError(
            f"betas must stand alone, without beta1 or beta2, got both for {entry.name}"
        )
    settings["beta1"], settings["beta2"] = pair
    return settings


# Who has the decay that these do not have.
_OTHER = {"adam": "; use adamw", "adamw": "; use adam"}


def _check_decay(entry: Entry, settings: Plain) -> None:
    decoupled = settings["decoupled"]
    if entry.decay == "either" or decoupled == (entry.decay == "decoupled"):
        return
    raise checks.UserError(
        f"decoupled must be {not decoupled} for {entry.name}, got {decoupled}: "
        f"{entry.library}'s has {entry.decay} weight decay only"
        f"{_OTHER.get(entry.name, '')}"
    )


def eps_in(name: str, value: Any, dtype: torch.dtype = torch.float32) -> float:
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


def _whole(least: int) -> Check:
    return partial(checks.integer, least=least)


def _one_of(*known: str) -> Check:
    return partial(checks.one_of, known=known)


# What is not here (convention, average, center, reduction, clip) our own classes check.
_CHECKS: dict[str, Check] = {
    "lr": checks.positive,
    "final_lr": checks.positive,
    "init_lr": checks.positive,
    "gamma": checks.positive,
    "eps": eps_in,  # in float32: what every task's parameters are
    "weight_decay": checks.not_negative,
    "lr_decay": checks.not_negative,
    "momentum_decay": checks.not_negative,
    "initial_accumulator": checks.not_negative,
    "delta": checks.not_negative,
    "beta1": checks.decay,
    "beta2": checks.decay,
    "alpha": checks.decay,
    "rho": checks.decay,
    "momentum": checks.decay,
    "slow_step": _up_to(1),
    "wd_ratio": checks.decay,
    "partial": _up_to(0.5),
    "hessian_power": _up_to(1),
    "k": _whole(1),
    "delay": _whole(0),
    "warmup_steps": _whole(0),
    "num_samples": _whole(1),
    "decoupled": checks.flag,
    "nesterov": checks.flag,
    "amsgrad": checks.flag,
    "clipped": checks.flag,
    "small_state": checks.flag,
    "rebound": _one_of("constant", "belief"),
}
