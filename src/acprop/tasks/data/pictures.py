"""Pictures of any size to tensors of one size, with Pillow.

For testing, the short side is scaled to 8/7 of the size (256 for 224) and the middle is
cut out. For training, a box of random area and shape is cut out and scaled (Szegedy et
al. 2015): area a share in [0.08, 1] of the picture, width/height in [3/4, 4/3] evenly
in the logarithm, ten tries until it fits, and the middle if none does.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor

from acprop.tasks.data.folders import listing

N_TRIES = 10
AREA = (0.08, 1.0)
LOG_RATIO = (math.log(3 / 4), math.log(4 / 3))
Box = tuple[float, float, float, float]


class Boxes(NamedTuple):
    """Random numbers for a batch: per picture ten tries of four, and the flip."""

    numbers: Tensor  # [B, 10, 4] in [0, 1): area, shape, top, left
    flip: Tensor  # [B] bool

    def take(self, rows: slice) -> "Boxes":
        """The part of the global batch that a rank works on."""
        return Boxes(self.numbers[rows], self.flip[rows])


def draw_boxes(n: int, *, generator: Generator) -> Boxes:
    numbers = torch.rand(n, N_TRIES, 4, generator=generator)
    return Boxes(numbers, torch.rand(n, generator=generator) < 0.5)


class Pictures:
    """Pictures in files, decoded when they are needed.

    shape: of all of them, once they are scaled to `size`.
    """

    def __init__(self, files: Sequence[str], size: int) -> None:
        self.files, self.size = files, size
        self.shape = (len(files), 3, size, size)

    def index_select(self, _: int, rows: Tensor) -> "Pictures":
        """Some of them, as of a tensor; none is decoded."""
        return Pictures([self.files[int(row)] for row in rows], self.size)

    def read(self, rows: Tensor, boxes: Boxes | None = None) -> Tensor:
        """uint8 [B, 3, size, size]: random boxes if given, else the middle.

        By as many threads as there are cores: Pillow decodes outside the interpreter's
        lock.
        """

        def one(i: int) -> Tensor:
            with Image.open(self.files[int(rows[i])]) as opened:
                picture = opened.convert("RGB")
            tries = None if boxes is None else boxes.numbers[i].tolist()  # pyright: ignore
            pixels = np.array(_scaled(picture, self.size, tries))  # pyright: ignore
            x = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()  # pyright: ignore
            return x.flip(-1) if boxes is not None and boxes.flip[i] else x

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return torch.stack(list(pool.map(one, range(len(rows)))))


def listed(folder: Path, size: int) -> tuple[Pictures, Tensor]:
    """The pictures under folder/<class>/, with the class's number as the label."""
    found = listing(folder)
    files = [f"{folder}/{name}/{picture}" for name, some in found for picture in some]
    counts = torch.tensor([len(some) for _, some in found])
    return Pictures(files, size), torch.arange(len(found)).repeat_interleave(counts)


def _scaled(
    picture: Image.Image, size: int, tries: Sequence[Sequence[float]] | None
) -> Image.Image:
    if tries is None:
        box = middle(picture.width, picture.height, share=7 / 8)
    else:
        box = random_box(picture.width, picture.height, tries)
    return picture.resize((size, size), Image.Resampling.BILINEAR, box=box)


def middle(width: int, height: int, *, share: float = 1.0) -> Box:
    """The square in the middle whose side is this share of the short side."""
    side = min(width, height) * share
    left, top = (width - side) / 2, (height - side) / 2
    return left, top, left + side, top + side


def random_box(width: int, height: int, tries: Sequence[Sequence[float]]) -> Box:
    """The first of the tries that fits; the middle square if none does."""
    for area, shape, down, right in tries:
        pixels = width * height * (AREA[0] + (AREA[1] - AREA[0]) * area)
        ratio = math.exp(LOG_RATIO[0] + (LOG_RATIO[1] - LOG_RATIO[0]) * shape)
        w, h = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = int(right * (width - w + 1)), int(down * (height - h + 1))
            return left, top, left + w, top + h
    return middle(width, height)
