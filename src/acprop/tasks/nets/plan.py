"""What a network shall be: classes, image, stem, size.

The factors shrink or widen a published network; at 1 they give it exactly:

    channels = max(8, 8·round(width·published / 8))     multiples of 8 suit SIMD lanes
    blocks   = max(1, round(depth·published))           per stage

so both are steps, not lines: two factors close together may give the same network.
"""

from typing import Literal, NamedTuple

Stem = Literal["cifar", "imagenet"]
Image = tuple[int, int, int]


class Plan(NamedTuple):
    """One network to build; `image` is (channels, height, width)."""

    n_classes: int
    image: Image
    stem: Stem
    width: float
    depth: float

    def channels(self, published: int) -> int:
        """Scale a published number of channels by `width`."""
        return channels(published, self.width)

    def blocks(self, published: int) -> int:
        """Scale a stage's published number of blocks by `depth`."""
        return max(1, round(self.depth * published))


def channels(published: int, width: float) -> int:
    """Scale a published number of channels."""
    return max(8, 8 * round(width * published / 8))
