"""What a network shall be: classes, image, stem, size.

The factors shrink or widen a published network; at 1 they give it exactly:

    channels = max(8, 8·round(width·published / 8))     multiples of 8 suit SIMD lanes
    blocks   = max(1, round(depth·published))           per stage

so both are steps, not lines: two factors close together may give the same network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from acprop import checks
from acprop.checks import UserError

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
        checks.integer("n_classes", self.n_classes, least=2)
        _check_image(self.image)
        checks.positive("width", self.width)
        checks.positive("depth", self.depth)
        checks.decay("dropout", self.dropout)

    def channels(self, published: int) -> int:
        """Scale a published number of channels by `width`."""
        return channels(published, self.width)

    def blocks(self, published: int) -> int:
        """Scale a stage's published number of blocks by `depth`."""
        return max(1, round(self.depth * published))


def channels(published: int, width: float) -> int:
    """Scale a published number of channels."""
    return max(8, 8 * round(width * published / 8))


def _check_image(image: object) -> None:
    # A list too: that is how a study's file gives it.
    sides = cast(Sequence[object], image) if isinstance(image, tuple | list) else ()
    if len(sides) != 3:
        raise UserError(f"image must be (channels, height, width), got {image!r}")
    for name, side in zip(("channels", "height", "width"), sides, strict=True):
        checks.integer(f"image's {name}", side)
