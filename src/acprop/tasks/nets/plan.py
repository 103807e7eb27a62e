"""What a network is asked to be: classes, image, stem, size.

The factors shrink or widen a published network; at 1 they give it exactly:

    channels = max(8, 8·round(width·published / 8))     multiples of 8 suit SIMD lanes
    blocks   = max(1, round(depth·published))           per stage

so both are steps, not lines: two factors close together may give the same network.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

Stem = Literal["cifar", "imagenet"]
Image = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """One network to build; `image` is (channels, height, width)."""

    n_classes: int
    image: Image
    stem: Stem
    width: float
    depth: float
    dropout: float

    def __post_init__(self) -> None:
        _check_count("n_classes", self.n_classes, least=2)
        _check_image(self.image)
        for name in ("width", "depth", "dropout"):
            _check_number(name, getattr(self, name))
        for name in ("width", "depth"):
            factor: float = getattr(self, name)
            if not (math.isfinite(factor) and factor > 0):
                raise ValueError(f"{name} must be finite and above 0, got {factor}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")

    def channels(self, published: int) -> int:
        """Scale a published number of channels by `width`."""
        return max(8, 8 * round(self.width * published / 8))

    def blocks(self, published: int) -> int:
        """Scale a stage's published number of blocks by `depth`."""
        return max(1, round(self.depth * published))


def _check_count(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more, got {value}")


def _check_image(image: object) -> None:
    # A list too: that is how a study's file gives it.
    sides = cast(Sequence[object], image) if isinstance(image, tuple | list) else ()
    if len(sides) != 3:
        raise ValueError(f"image must be (channels, height, width), got {image!r}")
    for name, side in zip(("channels", "height", "width"), sides, strict=True):
        _check_count(f"image's {name}", side, least=1)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r}")
