"""What a vision task is fed with: images in memory, or pictures in folders."""

import os
from typing import Any, Protocol

from torch import Generator, Tensor

from acprop.tasks.data import describe
from acprop.tasks.data.augment import augmented, normalised
from acprop.tasks.data.images import Folders, Images, load, load_folders
from acprop.tasks.data.pictures import draw_boxes
from acprop.tasks.data.sampling import split, split_rows


class Feed(Protocol):
    """Rows in, normalised images and labels out.

    shape: channels, height, width. n_evaluation: how many images "val" and "test" have.
    """

    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def n_train(self) -> int: ...
    @property
    def n_evaluation(self) -> dict[str, int]: ...
    @property
    def source(self) -> dict[str, Any]: ...
    def training(
        self, rows: Tensor, draw: Generator | None, *, n: int, part: slice
    ) -> tuple[Tensor, Tensor]:
        """The rows `part` of a global batch of n, augmented if there is a `draw`."""
        ...

    def evaluation_rows(self, name: str, rows: slice) -> tuple[Tensor, Tensor]: ...


def feed(
    name: str, *, n_train: int | None, n_validation: int, n_test: int | None, size: int
) -> Feed:
    """Open a fetched dataset. size: side of the images, for pictures in folders."""
    if describe(name).form == "folders":
        return Pictures(load_folders(name), n_train, n_validation, n_test, size)
    images = split(load(name), n_validation, n_train=n_train, n_test=n_test)
    return Memory(images)


class Memory:
    """A dataset that fits into memory, as bytes."""

    def __init__(self, images: Images) -> None:
        self.images = images
        _, channels, height, width = images.train_x.shape
        self.shape = (channels, height, width)
        self.n_classes, self.source = images.n_classes, images.source
        self.n_train = len(images.train_y)
        self.n_evaluation = {"val": len(images.val_y), "test": len(images.test_y)}

    def training(
        self, rows: Tensor, draw: Generator | None, *, n: int, part: slice
    ) -> tuple[Tensor, Tensor]:
        here = rows[part]
        # index_select copies whole images; x[here] would go byte by byte
        x = self.images.train_x.index_select(0, here)
        if draw is not None:
            x = augmented(x, draw, n=n, part=part)
        return normalised(x, self.images), self.images.train_y[here]

    def evaluation_rows(self, name: str, rows: slice) -> tuple[Tensor, Tensor]:
        x, y = (
            (self.images.val_x, self.images.val_y)
            if name == "val"
            else (self.images.test_x, self.images.test_y)
        )
        return normalised(x[rows], self.images), y[rows]


class Pictures:
    """ImageNet: decoded when needed, by as many threads as there are cores."""

    def __init__(
        self,
        folders: Folders,
        n_train: int | None,
        n_validation: int,
        n_test: int | None,
        size: int,
    ) -> None:
        self.folders, self.size = folders, size
        self.shape = (3, size, size)
        self.n_classes, self.source = folders.n_classes, folders.source
        labels = folders.train_y, folders.test_y
        kept, held, tested = split_rows(labels, n_validation, n_train, n_test)
        self.kept, self.n_train = kept, len(kept)
        self.rows = {"val": held, "test": tested}
        self.n_evaluation = {name: len(rows) for name, rows in self.rows.items()}
        self.n_threads = os.cpu_count() or 1

    def training(
        self, rows: Tensor, draw: Generator | None, *, n: int, part: slice
    ) -> tuple[Tensor, Tensor]:
        here = self.kept[rows[part]]
        boxes = None if draw is None else draw_boxes(n, generator=draw).take(part)
        return self._read("train", here, boxes)

    def evaluation_rows(self, name: str, rows: slice) -> tuple[Tensor, Tensor]:
        where = "train" if name == "val" else "test"
        return self._read(where, self.rows[name][rows], None)

    def _read(self, where: str, rows: Tensor, boxes: Any) -> tuple[Tensor, Tensor]:
        folder = self.folders.train if where == "train" else self.folders.test
        x = folder.read(rows, size=self.size, boxes=boxes, n_threads=self.n_threads)
        return normalised(x, self.folders), folder.labels[rows]
