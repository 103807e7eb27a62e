"""Settings checked before anything is built: by name, by value, by kind of decay."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from acprop.bench.optimizers.entry import Entry, Settings

Check = Callable[[str, Any], Any]


def check(
    entry: Entry, allowed: Mapping[str, Any], given: Mapping[str, Any]
) -> Settings:
    """All settings of an entry in one canonical form, or an error that says what not.

    `betas` may stand for beta1 and beta2.
    """
    told = _unpaired(entry, given)
    for name in told:
        if name not in allowed:
            known = ", ".join(allowed)
            raise ValueError(
                f"settings of {entry.name} must be among {known}, got {name}"
            )
    settings = {**allowed, **told}
    for name, value in settings.items():
        # None means "the method's own", where that is a default.
        if name in _CHECKS and not (value is None and allowed[name] is None):
            settings[name] = _CHECKS[name](name, value)
    _check_decay(entry, settings)
    return settings


def _unpaired(entry: Entry, given: Mapping[str, Any]) -> Settings:
    told = dict(given)
    if "betas" not in told:
        return told
    pair = told.pop("betas")
    if not isinstance(pair, list | tuple) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise TypeError(f"betas must be a pair of numbers, got {pair!r}")
    if "beta1" in told or "beta2" in told:
        raise ValueError(
            f"betas must not be given besides beta1 or beta2, got both for {entry.name}"
        )
    told["beta1"], told["beta2"] = pair
    return told


# Who has the decay that these do not have.
_OTHER = {"adam": "; use adamw", "adamw": "; use adam"}


def _check_decay(entry: Entry, settings: Settings) -> None:
    decoupled = settings["decoupled"]
    if entry.decay == "either" or decoupled == (entry.decay == "decoupled"):
        return
    raise ValueError(
        f"decoupled must be {not decoupled} for {entry.name}, got {decoupled}: "
        f"{entry.library}'s has {entry.decay} weight decay only"
        f"{_OTHER.get(entry.name, '')}"
    )


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(value)


def _above_0(name: str, value: Any) -> float:
    number = _number(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be above 0, got {value}")
    return number


def _not_negative(name: str, value: Any) -> float:
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name} must be 0 or more, got {value}")
    return number


def _below_1(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value}")
    return number


def _up_to(top: float) -> Check:
    def check_range(name: str, value: Any) -> float:
        number = _number(name, value)
        if not 0 < number <= top:
            raise ValueError(f"{name} must be in (0, {top:g}], got {value}")
        return number

    return check_range


def _whole(least: int) -> Check:
    def check_count(name: str, value: Any) -> int:
        number = _number(name, value)
        if number != int(number) or number < least:
            raise ValueError(
                f"{name} must be a whole number, {least} or more, got {value}"
            )
        return int(number)

    return check_count


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def _one_of(*options: str) -> Check:
    def check_choice(name: str, value: Any) -> str:
        if value not in options:
            raise ValueError(
                f"{name} must be one of {', '.join(options)}, got {value!r}"
            )
        return value

    return check_choice


# What is not here (convention, numerator, reduction, clip) our own classes check.
_CHECKS: dict[str, Check] = {
    "lr": _above_0,
    "final_lr": _above_0,
    "init_lr": _above_0,
    "gamma": _above_0,
    "eps": _not_negative,
    "weight_decay": _not_negative,
    "lr_decay": _not_negative,
    "momentum_decay": _not_negative,
    "initial_accumulator": _not_negative,
    "delta": _not_negative,
    "beta1": _below_1,
    "beta2": _below_1,
    "alpha": _below_1,
    "rho": _below_1,
    "momentum": _below_1,
    "slow_step": _up_to(1),
    "wd_ratio": _below_1,
    "partial": _up_to(0.5),
    "hessian_power": _up_to(1),
    "k": _whole(1),
    "delay": _whole(0),
    "warmup_steps": _whole(0),
    "num_samples": _whole(1),
    "decoupled": _flag,
    "nesterov": _flag,
    "amsgrad": _flag,
    "clipped": _flag,
    "rebound": _one_of("constant", "belief"),
}
