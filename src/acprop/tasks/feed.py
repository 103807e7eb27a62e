"""What a vision task is fed with: images in memory, or pictures in folders."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Generator, Tensor

from acprop.tasks.data import describe, source_of
from acprop.tasks.data.augment import crop_and_flip, draw_crops, normalised
from acprop.tasks.data.images import Images, load
from acprop.tasks.data.pictures import ImageFolder, draw_boxes
from acprop.tasks.data.sampling import split, split_rows

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = ("train", "val", "test")


class Feed(ABC):
    """Rows in, normalised images and labels out.

    shape: channels, height, width. labels: of each part.
    """

    shape: tuple[int, int, int]
    n_classes: int
    labels: dict[Part, Tensor]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: dict[str, Any]

    @abstractmethod
    def pixels(self, part: Part, rows: Tensor, luck: Any) -> Tensor:
        """Bytes of these rows, augmented if there is `luck`."""

    @abstractmethod
    def draw(self, n: int, generator: Generator) -> Any:
        """The luck of n images."""

    def training(
        self, rows: Tensor, draw: Generator | None, *, part: slice
    ) -> tuple[Tensor, Tensor]:
        """The rows `part` of a global batch, augmented if there is a `draw`.

        It is drawn for the whole batch, so that a rank sees the numbers of its slice.
        """
        luck = None if draw is None else self.draw(len(rows), draw).take(part)
        return self._read("train", rows[part], luck)

    def evaluation_rows(self, part: Part, rows: slice) -> tuple[Tensor, Tensor]:
        """Some of the images for validation or for the test."""
        return self._read(part, torch.arange(len(self.labels[part]))[rows], None)

    def _read(self, part: Part, rows: Tensor, luck: Any) -> tuple[Tensor, Tensor]:
        x = normalised(self.pixels(part, rows, luck), self.mean, self.std)
        return x, self.labels[part][rows]


def feed(
    name: str, *, n_train: int | None, n_validation: int, n_test: int | None, size: int
) -> Feed:
    """Open a fetched dataset. size: side of the images, for pictures in folders."""
    if describe(name).form == "folders":
        return PictureFeed(name, n_train, n_validation, n_test, size)
    return MemoryFeed(split(load(name), n_validation, n_train=n_train, n_test=n_test))


class MemoryFeed(Feed):
    """A dataset that fits into memory, as bytes."""

    def __init__(self, images: Images) -> None:
        self.images = images
        _, channels, height, width = images.train_x.shape
        self.shape = (channels, height, width)
        self.n_classes, self.source = images.n_classes, images.source
        self.mean, self.std = images.mean, images.std
        self.x = {"train": images.train_x, "val": images.val_x, "test": images.test_x}
        self.labels = {
            "train": images.train_y,
            "val": images.val_y,
            "test": images.test_y,
        }

    def draw(self, n: int, generator: Generator) -> Any:
        return draw_crops(n, generator=generator)

    def pixels(self, part: Part, rows: Tensor, luck: Any) -> Tensor:
        # index_select copies whole images; x[rows] would go byte by byte
        x = self.x[part].index_select(0, rows)
        return x if luck is None else crop_and_flip(x, luck)


class PictureFeed(Feed):
    """ImageNet: decoded when needed."""

    def __init__(
        self,
        name: str,
        n_train: int | None,
        n_validation: int,
        n_test: int | None,
        size: int,
    ) -> None:
        data, self.source = describe(name), source_of(name)
        self.mean, self.std = data.mean, data.std
        train, test = (
            ImageFolder(Path(self.source["origin"], part)) for part in ("train", "val")
        )
        self.n_classes, self.shape = len(train.classes), (3, size, size)
        rows = split_rows((train.labels, test.labels), n_validation, n_train, n_test)
        self.rows: dict[Part, Tensor] = dict(zip(PARTS, rows, strict=True))
        self.folders: dict[Part, ImageFolder] = dict(
            zip(PARTS, (train, train, test), strict=True)
        )
        self.labels = {p: self.folders[p].labels[self.rows[p]] for p in PARTS}

    def draw(self, n: int, generator: Generator) -> Any:
        return draw_boxes(n, generator=generator)

    def pixels(self, part: Part, rows: Tensor, luck: Any) -> Tensor:
        rows = self.rows[part][rows]
        return self.folders[part].read(rows, size=self.shape[1], boxes=luck)
