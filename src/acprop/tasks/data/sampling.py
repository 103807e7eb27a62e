"""Which images are trained on, which select, and in which order they come.

Two streams of random numbers: one shuffles, one augments. Both are drawn for the global
batch, whoever asks, so that two ranks with half a batch each see what one rank with
the whole batch sees.
"""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from acprop.checks import UserError
from acprop.tasks.data.images import Images

SPLIT_SEED = 2021  # of no run: every run holds out the same images


def split(
    images: Images,
    n_validation: int,
    *,
    n_train: int | None = None,
    n_test: int | None = None,
) -> Images:
    """Hold n_validation images out of the training set, and keep so many of the rest.

    Every part has its share of every class. What is held out does not depend on
    n_train; None keeps all.
    """
    kept, held = hold_out(images.train_y, n_validation)
    if n_train is not None:
        kept = kept[_chosen("n_train", images.train_y[kept], n_train)]
    tested = torch.arange(len(images.test_y))
    if n_test is not None:
        tested = _chosen("n_test", images.test_y, n_test)
    return replace(
        images,
        train_x=images.train_x.index_select(0, kept),
        train_y=images.train_y[kept],
        val_x=images.train_x.index_select(0, held),
        val_y=images.train_y[held],
        test_x=images.test_x.index_select(0, tested),
        test_y=images.test_y[tested],
    )


def _chosen(argument: str, labels: Tensor, n: int) -> Tensor:
    if not 0 < n <= len(labels):
        raise UserError(f"{argument} must be in [1, {len(labels)}], got {n}")
    return hold_out(labels, n)[1]


def hold_out(labels: Tensor, n_held: int) -> tuple[Tensor, Tensor]:
    """Rows to keep and rows to hold out, ascending, the same share of every class.

    Shares that are no whole number are rounded down, and the classes with the largest
    remainders (on a tie the lower class) give one more, until the sum is right.
    """
    n = len(labels)
    if not 0 <= n_held <= n:
        raise UserError(f"n_validation must be in [0, {n}], got {n_held}")
    generator = Generator().manual_seed(SPLIT_SEED)
    counts = torch.bincount(labels)
    wanted = counts * n_held // n
    by_remainder = (counts * n_held % n).sort(descending=True, stable=True).indices
    wanted[by_remainder[: n_held - int(wanted.sum())]] += 1
    is_held = torch.zeros(n, dtype=torch.bool)
    for label, n_of_class in enumerate(wanted.tolist()):  # pyright: ignore
        rows = (labels == label).nonzero().flatten()
        shuffled = rows[torch.randperm(len(rows), generator=generator)]
        is_held[shuffled[:n_of_class]] = True
    return (~is_held).nonzero().flatten(), is_held.nonzero().flatten()
