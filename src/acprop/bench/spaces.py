"""Search spaces: where each optimizer's settings are looked for, as data.

A file of studies/spaces/ has one table for each optimizer, and one more for a variant
of it that differs in a setting that is not searched. All ranges are logarithmic. Their
names are those of settings, or "1-" and the name of a decay.

ε is given as the smallest denominator e that it leaves, so that the same range means
the same for everyone. What an optimizer is told depends on where it puts ε:

    outside  √s + ε, or max(√s, ε)              ε = e
    inside   √(s + ε)                           ε = e²
    stored   s grows by ε at every step,        ε = e²·(1 - β2)
             and so never falls below ε/(1 - β2)
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from acprop import checks, rule
from acprop.bench.documents import Mistake, Strict, load
from acprop.bench.optimizers import ENTRIES, find, resolved
from acprop.plain import Plain

FOLDER = "spaces"  # in the folder of studies
# The coordinates of a point; some optimizers have another name for one of them.
COORDINATES = ("lr", "weight_decay", "eps", "1-beta1", "1-beta2")
_ALSO = {"1-momentum": "1-beta1", "1-alpha": "1-beta2", "1-rho": "1-beta2"}
DIGITS = 3  # a setting that is drawn has no more: readable, the same on any machine
Place = Literal["outside", "inside", "stored"]
_PLACES: dict[str, Place] = {
    "outside": "outside",
    "inside": "inside",
    "accumulated": "stored",
}


class Space(Strict):
    """Of one optimizer, or of one variant of it.

    variant: settings that an arm must have for this space to be its own.
    fixed: settings that every trial has.
    eps_place: where ε stands, if it is searched.
    ranges: the lowest and the highest value of what is searched.
    """

    optimizer: str
    variant: Plain = Field(default_factory=dict)
    fixed: Plain = Field(default_factory=dict)
    eps_place: Place | None = None
    ranges: dict[str, list[float]]

    def point(self, shares: Mapping[str, float]) -> Plain:
        """Settings at a point: for each range, the share of the way through it."""
        drawn: Plain = {}
        for name, (low, high) in self.ranges.items():
            share = shares[_ALSO.get(name, name)]
            drawn[name] = low * (high / low) ** share
        return self.settings(drawn)

    def settings(self, drawn: Mapping[str, float]) -> Plain:
        """Settings for the values that were drawn from the ranges."""
        made: Plain = dict(self.fixed)
        for name, value in drawn.items():
            if name.startswith("1-"):
                made[name[2:]] = 1 - _rounded(value)
            elif name != "eps":
                made[name] = _rounded(value)
        if "eps" in drawn:
            made["eps"] = _rounded(self._eps(drawn["eps"], made))
        # 1 - 0.0213 has digits that nobody drew
        return {k: _clean(v) if f"1-{k}" in drawn else v for k, v in made.items()}

    def _eps(self, floor: float, made: Plain) -> float:
        if self.eps_place == "inside":
            return floor**2
        if self.eps_place == "stored":
            known = {**find(self.optimizer).defaults, **made}
            return floor**2 * (1 - float(known["beta2"]))
        return floor

    def searched(self) -> set[str]:
        """The names of the settings that trials differ in."""
        return {name.removeprefix("1-") for name in self.ranges}


class SpaceFile(Strict):
    """note: who chose these ranges, and how."""

    version: int
    note: str
    spaces: list[Space]


@dataclass(frozen=True, slots=True)
class Spaces:
    """A file of spaces; digest: of its text, so that records can say which it was."""

    name: str
    version: int
    digest: str
    spaces: tuple[Space, ...]

    def of(self, optimizer: str, settings: Mapping[str, Any]) -> Space:
        """The space of an optimizer with these settings: the most particular one."""
        entry = find(optimizer)
        known = {**entry.defaults, **settings}
        fit = [
            space
            for space in self.spaces
            if space.optimizer == (entry.variant_of or optimizer)
            and all(known.get(k) == v for k, v in space.variant.items())
        ]
        if not fit:
            raise checks.UserError(
                f"optimizer must have a space in {self.name}.toml, got {optimizer} "
                f"{dict(settings)}; add one there"
            )
        return max(fit, key=lambda space: len(space.variant))


def space_names(studies: Path) -> list[str]:
    """The files there are, as "wide-1"."""
    return sorted(path.stem for path in (studies / FOLDER).glob("*.toml"))


def read_spaces(studies: Path, name: str) -> Spaces:
    """Read and check one file. studies: the folder of studies."""
    checks.one_of("space", name, space_names(studies))
    path = studies / FOLDER / f"{name}.toml"
    file = load(
        path,
        SpaceFile,
        name=f"{FOLDER}/{name}.toml",
        what="space",
        mistakes=_mistakes,
    )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Spaces(name, file.version, digest, tuple(file.spaces))


def _mistakes(file: SpaceFile) -> Iterator[Mistake]:
    for i, space in enumerate(file.spaces):
        here = ("spaces", i)
        try:
            find(space.optimizer)
        except ValueError as error:
            yield Mistake((*here, "optimizer"), str(error))
            continue
        found = [
            *_in_settings(space, here),
            *_in_ranges(space, (*here, "ranges")),
            *_about_eps(space, here),
        ]
        yield from found
        if not found:
            yield from _at_the_ends(space, here)


def _in_settings(space: Space, here: tuple[str | int, ...]) -> Iterator[Mistake]:
    for key in ("variant", "fixed"):
        try:
            resolved(space.optimizer, {**space.fixed, **getattr(space, key)})
        except checks.UnknownNameError as error:
            yield Mistake((*here, key, error.name), str(error))
        except (ValueError, TypeError) as error:
            yield Mistake((*here, key), str(error))


def _in_ranges(space: Space, here: tuple[str | int, ...]) -> Iterator[Mistake]:
    allowed = resolved(space.optimizer)  # also those of what Lookahead wraps
    known = [*COORDINATES, *_ALSO]
    usable = [name for name in known if name.removeprefix("1-") in allowed]
    for name, ends in space.ranges.items():
        if name not in usable:
            yield Mistake(
                (*here, name),
                f"ranges of {space.optimizer} must be among {', '.join(usable)}, "
                f"got {name}{checks.meant(name, usable)}",
            )
        elif len(ends) != 2 or not 0 < ends[0] < ends[1] < math.inf:
            yield Mistake(
                (*here, name),
                f"{name} must be a lower and a higher value above 0, got {ends}",
            )


def _about_eps(space: Space, here: tuple[str | int, ...]) -> Iterator[Mistake]:
    if ("eps" in space.ranges) != (space.eps_place is not None):
        yield Mistake(
            here,
            "eps_place must be given where eps is searched and nowhere else, got "
            f"{space.eps_place} for {space.optimizer}",
        )
        return
    if space.eps_place is None or find(space.optimizer).library != "acprop":
        return
    known = {**ENTRIES[space.optimizer].defaults, **space.fixed, **space.variant}
    place = _PLACES[rule.convention(known["convention"]).eps_placement]
    if place != space.eps_place:
        yield Mistake(
            (*here, "eps_place"),
            f"eps_place must be {place}, where convention {known['convention']} has "
            f"it, got {space.eps_place}",
        )


def _at_the_ends(space: Space, here: tuple[str | int, ...]) -> Iterator[Mistake]:
    """Both corners of the space must be settings that the optimizer takes."""
    for share in (0.0, 1.0):
        point = space.point(dict.fromkeys(COORDINATES, share))
        try:
            resolved(space.optimizer, {**space.variant, **point})
        except (ValueError, TypeError) as error:
            yield Mistake((*here, "ranges"), str(error))
            return


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _clean(value: float) -> float:
    return float(f"{value:.12g}")
