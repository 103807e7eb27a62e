"""What a vision task is fed with: rows in, normalised images and labels out."""

from typing import Literal, final

import torch
from torch import Generator, Tensor

from acprop.tasks.data.augment import crop_and_flip, draw_crops, normalised
from acprop.tasks.data.images import Images
from acprop.tasks.data.pictures import Pictures, draw_boxes


@final
class Feed:
    """Images in memory, or pictures in folders."""

    def __init__(self, images: Images) -> None:
        self.images = images

    def training(
        self, rows: Tensor, draw: Generator | None, *, part: slice
    ) -> tuple[Tensor, Tensor]:
        """The rows `part` of a global batch, augmented if there is a `draw`.

        It is drawn for the whole batch, so that a rank sees the numbers of its slice.
        """
        x, here, n = self.images.train_x, rows[part], len(rows)
        if isinstance(x, Pictures):
            boxes = None if draw is None else draw_boxes(n, generator=draw).take(part)
            pixels = x.read(here, boxes)
        else:
            # index_select copies whole images; x[here] would go byte by byte
            pixels = x.index_select(0, here)
            if draw is not None:
                crops = draw_crops(n, generator=draw).take(part)
                pixels = crop_and_flip(pixels, crops)
        return self._normalised(pixels), self.images.train_y[here]

    def evaluation_rows(
        self, part: Literal["val", "test"], rows: slice
    ) -> tuple[Tensor, Tensor]:
        """Some of the images for validation or for the test."""
        x, y = self.images.part(part)
        if isinstance(x, Pictures):
            return self._normalised(x.read(torch.arange(len(y))[rows])), y[rows]
        return self._normalised(x[rows]), y[rows]

    def _normalised(self, pixels: Tensor) -> Tensor:
        return normalised(pixels, self.images.mean, self.images.std)
