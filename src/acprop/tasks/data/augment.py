"""Random crop, flip and normalisation of a whole batch at once.

The random numbers are drawn first, for the global batch, and handed over: a rank of
several takes its rows of them, so that what happens to an image does not depend on
how many ranks there are.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

PADDING = 4


class Crops(NamedTuple):
    """Random numbers for a batch: where the window lies in the padded image."""

    top: Tensor  # [B] int64 in 0 … 2·PADDING
    left: Tensor
    flip: Tensor  # [B] bool

    def take(self, rows: slice) -> "Crops":
        """The part of the global batch that a rank works on."""
        return Crops(self.top[rows], self.left[rows], self.flip[rows])


def draw_crops(n: int, *, generator: Generator) -> Crops:
    """Windows and flips for n images, evenly distributed."""
    top, left = torch.randint(2 * PADDING + 1, (2, n), generator=generator).unbind()
    return Crops(top, left, torch.rand(n, generator=generator) < 0.5)


def crop_and_flip(x: Tensor, crops: Crops) -> Tensor:
    """Pad [B, C, H, W] with zeros, cut a window of the old size, mirror some.

        y[b, c, i, j] = padded[b, c, top_b + i, left_b + j]
        and j runs backwards where flip_b

    One gather with computed places does both: it needs no loop over the images, and
    the same code runs on every device.
    """
    n, n_channels, height, width = x.shape
    top, left, flip = (t.to(x.device) for t in crops)
    padded = pad(x, (PADDING,) * 4)
    rows = torch.arange(height, device=x.device)
    columns = torch.arange(width, device=x.device)
    columns = torch.where(flip[:, None], width - 1 - columns, columns)
    places = (top[:, None] + rows)[:, :, None] * padded.shape[3]
    places = places + (left[:, None] + columns)[:, None, :]
    places = places.view(n, 1, -1).expand(n, n_channels, -1)
    return padded.flatten(2).gather(2, places).view(x.shape)


def normalised(x: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """(x/255 - mean)/std per channel, float32, as one multiplication and one sum."""
    m, s = (torch.tensor(t, device=x.device).view(-1, 1, 1) for t in (mean, std))
    return x.to(torch.float32).mul_(1 / (255 * s)).sub_(m / s)
