"""Which ACProp a run ran: the one place that decides it, from a run's settings.

`optimizer = "acprop"` is a family. What a reader is told is a variant, named by what it
averages, looks ahead to and is centered on; "ACProp (default)" is what `acprop.ACProp`
is unless it is told otherwise, "ACProp (paper)" Algorithm 2. Two editions of records:

    now      average, nesterov, center       "convention" leaves one to the convention
    before   numerator, momentum             numerator "m": averaged before dividing,
                                             momentum above 0: after it; center was m

Which names exist, with their colours, is in `style`. A combination without a name of
its own is described.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from acprop.plain import Plain

# The settings that a variant's name stands for.
RULE = ("average", "nesterov", "center", "numerator", "momentum", "convention")
# The corners of docs/evidence.md's design that are known methods, without look-ahead.
_CORNERS = {
    (False, 0, "before"): "Adam",
    (False, 0, "after"): "LaProp",
    (True, 0, "before"): "AdaBelief",
    (True, 0, "after"): "MVN-Grad",
    (False, 1, "before"): "AdaShift with an average",
    (False, 1, "after"): "ADOPT",
    (True, 1, "before"): "ACProp, average before",
    (True, 1, "after"): "ACProp with an average",
}
# What a corner has unless its words say otherwise; ADOPT has its own.
_USUAL = {"beta2": "0.999", "start": "corrected"}
_ADOPTS = {"beta2": "0.9999", "start": "first"}
_CORNER = ("centered", "delay", "average", "nesterov")
# Who is compared with: the default where it is, else what was the default before, …
DEFAULT_FIRST = (
    "acprop",
    "acprop-before",
    "acprop-after",
    "acprop-bare",
    "acprop-paper",
    "acprop-authors",
    "acprop-optax",
)
# Who stands for the paper's ACProp: its own rule, as its authors ran it, where it is.
PAPER_FIRST = ("acprop-authors", "acprop-paper", "acprop-optax", *DEFAULT_FIRST[:4])
_PUBLISHED = ("paper", "authors", "optax")


class _Variant(NamedTuple):
    average: str | None
    center: str | None
    nesterov: bool


# What ACProp is under a convention: ours, and all that are published.
_OURS, _ALGORITHM_2 = _Variant("after", "average", True), _Variant(None, "m", False)
_NAMED = {
    _OURS: "acprop",
    _OURS._replace(nesterov=False): "acprop-steady",
    _Variant("before", "m", False): "acprop-before",
    _Variant("after", "m", False): "acprop-after",
    _ALGORITHM_2: "acprop-bare",
}


def variant(optimizer: str, settings: Mapping[str, Any]) -> str:
    """A key of `style.OPTIMIZERS`, or words; an optimizer that is not ACProp is itself.

    settings: all of the run's. What is missing is the default.
    """
    if optimizer != "acprop":
        return optimizer
    convention = settings.get("convention", "guarded")
    rule = _old(settings) if "numerator" in settings else _new(settings)
    if convention in _PUBLISHED:
        name = "acprop-paper" if convention == "paper" else f"acprop-{convention}"
        return name if rule == _ALGORITHM_2 else f"{_words(rule)}, {convention}"
    return _NAMED.get(rule) or _words(rule)


def corner_words(settings: Mapping[str, Any], apart: Mapping[str, str]) -> str:
    """Which method a corner of the factorial is: ADOPT, or ADOPT, start = corrected.

    apart: what tells it from other corners, as the name of a contestant has it.
    """
    centered, delay, average, nesterov = (settings[name] for name in _CORNER)
    method = _CORNERS[centered, delay, average]
    usual = _ADOPTS if method == "ADOPT" else _USUAL
    ahead = ["look-ahead"] * nesterov
    rest = {k: v for k, v in apart.items() if k not in _CORNER and usual.get(k) != v}
    return ", ".join([method, *ahead, *(f"{k} = {v}" for k, v in rest.items())])


def is_acprop(name: str) -> bool:
    """Is a variant one of ACProp?"""
    return name.lower().startswith("acprop")


def first_of(names: Iterable[str], order: Iterable[str] = DEFAULT_FIRST) -> str | None:
    """The variant that the others are compared with; None if there is no ACProp."""
    ours = [name for name in names if is_acprop(name)]
    return next((name for name in order if name in ours), next(iter(ours), None))


def without_rule(optimizer: str, settings: Plain) -> Plain:
    """The settings that a variant's name does not stand for."""
    named = {"acprop": RULE, "corner": _CORNER}.get(optimizer, ())
    return {k: v for k, v in settings.items() if k not in named}


def _new(settings: Mapping[str, Any]) -> _Variant:
    """As `acprop.rule.choose` fills in "convention"."""
    published = settings.get("convention", "guarded") in _PUBLISHED
    own = _ALGORITHM_2 if published else _OURS
    given = {name: settings.get(name, "convention") for name in _Variant._fields}
    average, center, nesterov = given.values()
    if average == "convention":
        average = own.average
    is_own = average == own.average
    if nesterov == "convention":
        nesterov = is_own and own.nesterov
    if center == "convention":
        center = own.center if is_own and settings.get("delay", 1) == 1 else "m"
    return _Variant(average, center, nesterov)


def _old(settings: Mapping[str, Any]) -> _Variant:
    numerator = settings["numerator"]
    if numerator == "convention":
        is_ours = settings.get("convention", "guarded") not in _PUBLISHED
        numerator = "m" if is_ours else "g"
    if settings.get("momentum", 0.0):
        return _Variant("after", "m", False)
    return _Variant("before" if numerator == "m" else None, "m", False)


def _words(rule: _Variant) -> str:
    average = {None: "no average", "before": "average before", "after": "average after"}
    center = {None: "uncentered", "m": "", "average": "centered on it"}
    ahead = "look-ahead" if rule.nesterov else ""
    named = [average.get(rule.average, str(rule.average)), ahead]
    parts = ["ACProp", *named, center.get(rule.center, str(rule.center))]
    return ", ".join(part for part in parts if part)
