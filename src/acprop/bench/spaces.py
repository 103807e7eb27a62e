"""Search spaces: where each optimizer's settings are looked for, as data.

A file of studies/spaces/ has one table for each optimizer, and one more for a variant
of it that differs in a setting that is not searched. All ranges are logarithmic. Their
names are those of settings, or "1-" and the name of a decay.

ε is given as the smallest denominator e that it leaves, so that the same range means
the same for everyone. What an optimizer is given depends on where it puts ε:

    outside  √s + ε, or max(√s, ε)              ε = e
    inside   √(s + ε)                           ε = e²
    stored   s grows by ε at every step,        ε = e²·(1 - β2)
             and so never falls below ε/(1 - β2)

Trials stand at scrambled Sobol points of the unit cube, the same for every optimizer,
each taking the coordinates that its space has: no one's trials lie better than
another's. A design has a version; its points never change.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from scipy.stats import qmc  # pyright: ignore[reportMissingTypeStubs]

from acprop import checks, rule
from acprop.bench.documents import Strict, at, load
from acprop.bench.optimizers import find, resolved
from acprop.plain import Plain

FOLDER = "spaces"  # in the folder of studies
SOBOL = "sobol-1"
_SEED = 2021  # of the scrambling, part of the version
# The coordinates of a point; some optimizers have another name for one of them.
COORDINATES = ("lr", "weight_decay", "eps", "1-beta1", "1-beta2")
_ALSO = {"1-momentum": "1-beta1", "1-alpha": "1-beta2", "1-rho": "1-beta2"}
Coordinate = Literal[
    "lr", "weight_decay", "eps", "1-beta1", "1-beta2", "1-momentum", "1-alpha", "1-rho"
]
_PLACES = {"outside": "outside", "inside": "inside", "accumulated": "stored"}


def sobol(n: int) -> list[dict[str, float]]:
    """The first n points; more of them begin with the same ones."""
    checks.integer("trials", n)
    made = qmc.Sobol(len(COORDINATES), scramble=True, rng=_SEED)  # pyright: ignore
    points: list[list[float]] = made.random_base2(math.ceil(math.log2(n))).tolist()  # pyright: ignore
    return [dict(zip(COORDINATES, point, strict=True)) for point in points[:n]]


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
    eps_place: Literal["outside", "inside", "stored"] | None = None
    ranges: dict[
        Coordinate,
        Annotated[
            list[Annotated[float, Field(gt=0, allow_inf_nan=False)]],
            Field(min_length=2, max_length=2),
        ],
    ]

    def point(self, shares: Mapping[str, float]) -> Plain:
        """Settings at a point: for each range, the share of the way through it."""
        return self.settings(
            {
                name: low * (high / low) ** shares[_ALSO.get(name, name)]
                for name, (low, high) in self.ranges.items()
            }
        )

    def settings(self, drawn: Mapping[str, float]) -> Plain:
        """Settings for the values that were drawn from the ranges.

        Of three digits: readable, and the same on any machine.
        """
        made = dict(self.fixed)
        for name, value in drawn.items():
            if name.startswith("1-"):  # 1 - 0.0213 has digits that nobody drew
                made[name[2:]] = _rounded(1 - _rounded(value), 12)
            elif name != "eps":
                made[name] = _rounded(value)
        if "eps" in drawn:
            eps = drawn["eps"] if self.eps_place == "outside" else drawn["eps"] ** 2
            if self.eps_place == "stored":
                eps *= 1 - {**find(self.optimizer).defaults, **made}["beta2"]
            made["eps"] = _rounded(eps)
        return made

    def searched(self) -> set[str]:
        """The names of the settings that trials differ in."""
        return {name.removeprefix("1-") for name in self.ranges}


class SpaceFile(Strict):
    """note: who chose these ranges, and how.

    extends: another file, whose spaces are these ones too; that one stands alone.
    """

    version: int
    note: str
    extends: str = ""
    spaces: list[Space]


@dataclass(frozen=True, slots=True)
class Spaces:
    """A file of spaces.

    digest: of its text and of what it extends, so that records can say which it was.
    """

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
    file, text = _read(studies, name)
    spaces = file.spaces
    if file.extends:
        checks.one_of("extends", file.extends, space_names(studies))
        base, text_of_base = _read(studies, file.extends)
        if base.extends:
            raise checks.UserError(
                f"extends must be a file that stands alone, got {file.extends}, which "
                f"extends {base.extends}"
            )
        spaces, text = base.spaces + spaces, text_of_base + text
    digest = hashlib.sha256(text).hexdigest()
    return Spaces(name, file.version, digest, tuple(spaces))


def _read(studies: Path, name: str) -> tuple[SpaceFile, bytes]:
    path = studies / FOLDER / f"{name}.toml"
    file = load(path, SpaceFile, f"{FOLDER}/{name}.toml", _check)
    return file, path.read_bytes()


def _check(file: SpaceFile) -> None:
    """Both corners of a space must be settings that the optimizer takes."""
    for i, space in enumerate(file.spaces):
        with at("spaces", i):
            known = {**find(space.optimizer).defaults, **space.fixed, **space.variant}
            _check_eps_place(space, known)
            for name, (low, high) in space.ranges.items():
                with at("ranges", name):
                    if not low < high:
                        raise checks.UserError(f"low must be below {high}, got {low}")
            for share in (0.0, 1.0):
                point = space.point(dict.fromkeys(COORDINATES, share))
                resolved(space.optimizer, {**space.variant, **point})


def _check_eps_place(space: Space, known: Plain) -> None:
    place = space.eps_place
    if ("eps" in space.ranges) != (place is not None):
        raise checks.UserError(
            f"eps_place must be given where eps is searched, and else not, got {place}"
        )
    if place is not None and find(space.optimizer).library == "acprop":
        own = _PLACES[rule.convention(known["convention"]).eps_placement]
        if own != place:
            raise checks.UserError(
                f"eps_place must be {own}, where convention {known['convention']} has "
                f"it, got {place}"
            )


def _rounded(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")
