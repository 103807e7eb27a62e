"""A set of images: whole in memory, straight from the binary files, or in folders.

idx        16 or 8 bytes of header, big-endian, then the bytes
cifar10    records of 1 label and 3072 bytes: R, G, B, each row by row
cifar100   records of 1 coarse label, 1 fine label and 3072 bytes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from acprop.checks import UserError
from acprop.tasks.data import store
from acprop.tasks.data.pictures import Pictures, listed
from acprop.tasks.data.sets import Dataset, describe

Pixels = Tensor | Pictures
Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """uint8 images [N, C, H, W] with int64 labels; mean and std of pixels / 255.

    Of a set in folders they are decoded when they are needed.
    val_x, val_y: none until ``split`` holds them out of the training set.
    source: route, origin, checksums and time, as the cache recorded them.
    """

    name: str
    train_x: Pixels
    train_y: Tensor
    val_x: Pixels
    val_y: Tensor
    test_x: Pixels
    test_y: Tensor
    n_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: dict[str, Any]

    def part(self, name: Literal["train", "val", "test"]) -> tuple[Pixels, Tensor]:
        return getattr(self, f"{name}_x"), getattr(self, f"{name}_y")


def load(name: str, *, size: int = 224, cache: Path | None = None) -> Images:
    """Open a fetched set. Sizes are checked, bytes by ``verify``.

    size: the side to which pictures in folders are cut.
    """
    data = describe(name)
    mean, std, n_classes = data.mean, data.std, data.n_classes
    if data.form == "folders":
        source = store.source_of(name, cache)
        (train_x, train_y), (test_x, test_y) = (
            listed(Path(source["origin"], part), size) for part in ("train", "val")
        )
        n_classes = source["n_classes"]
    elif data.form in ("idx", "cifar10", "cifar100"):
        folder, source = store.complete(name, cache)
        (train_x, train_y), (test_x, test_y) = _read(data, folder)
        if not mean:
            mean, std = moments(train_x)
    else:
        raise UserError(f"dataset must be a set of images, got {name!r}")
    return Images(
        name=name,
        train_x=train_x,
        train_y=train_y,
        val_x=train_x.index_select(0, torch.arange(0)),
        val_y=train_y[:0],
        test_x=test_x,
        test_y=test_y,
        n_classes=n_classes,
        mean=mean,
        std=std,
        source=source,
    )


def moments(x: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of x / 255 per channel, from a histogram: exact."""
    means: list[float] = []
    stds: list[float] = []
    values = torch.arange(256, dtype=torch.float64) / 255
    for channel in x.unbind(1):
        share = torch.bincount(channel.reshape(-1), minlength=256).double()
        share /= share.sum()
        means.append(float((share * values).sum()))
        stds.append(float((share * (values - means[-1]) ** 2).sum().sqrt()))
    return tuple(means), tuple(stds)


def _read(data: Dataset, folder: Path) -> tuple[Pair, Pair]:
    paths = [folder / file.name for file in data.files]
    if data.form == "idx":
        x, y, test_x, test_y = map(_idx, paths)
        return (x.unsqueeze(1), y.long()), (test_x.unsqueeze(1), test_y.long())
    n_labels = 1 if data.form == "cifar10" else 2
    return _records(paths[:-1], n_labels), _records(paths[-1:], n_labels)


def _idx(path: Path) -> Tensor:
    """The header is 0, 0, 8 (bytes), the number of axes, and the length of each."""
    content = np.fromfile(path, np.uint8)
    begin = 4 + 4 * int(content[3])
    shape = content[4:begin].view(">u4").astype(int)
    return torch.from_numpy(content[begin:].reshape(shape))  # pyright: ignore


def _records(paths: Sequence[Path], n_labels: int) -> Pair:
    """Labels (the last of each record: the fine one) and images of some batches."""
    content = np.concatenate([np.fromfile(path, np.uint8) for path in paths])
    records = torch.from_numpy(content).view(-1, n_labels + 3072)  # pyright: ignore
    x, y = records[:, n_labels:].contiguous(), records[:, n_labels - 1]
    return x.view(-1, 3, 32, 32), y.long()
