"""Held-out images."""

from dataclasses import replace

import pytest
import torch

from acprop.tasks.data.images import Images
from acprop.tasks.data.sampling import hold_out, split


def made(n=100, n_test=20, n_classes=4):
    """Image i has the value i in its first pixel; classes are uneven."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(256, (n, 1, 8, 8), generator=generator).to(torch.uint8)
    x[:, 0, 0, 0] = torch.arange(n)
    y = (torch.rand(n, generator=generator) ** 2 * n_classes).long()
    return Images(
        "made",
        x,
        y,
        x[:0],
        y[:0],
        x[:n_test],
        y[:n_test],
        n_classes=n_classes,
        mean=(0.0,),
        std=(1 / 255,),  # so that normalised pixels are the bytes again
        source={"route": "made"},
    )


def rows(x):
    return x[:, 0, 0, 0].long().tolist()


def test_what_is_held_out_is_not_trained_on_and_nothing_is_lost():
    images = made()
    parts = split(images, 30)
    assert sorted(rows(parts.train_x) + rows(parts.val_x)) == list(range(100))
    assert len(parts.val_x) == len(parts.val_y) == 30
    assert torch.equal(parts.val_y, images.train_y[rows(parts.val_x)])
    assert torch.equal(parts.train_y, images.train_y[rows(parts.train_x)])
    assert torch.equal(parts.test_x, images.test_x)
    assert parts.source == images.source


@pytest.mark.parametrize("n", [0, 1, 7, 50, 99, 100])
def test_every_class_gives_its_share(n):
    labels = made().train_y
    kept, held = hold_out(labels, n)
    assert len(held) == n
    assert len(kept) == 100 - n
    counts, given = (torch.bincount(v, minlength=4) for v in (labels, labels[held]))
    assert (given - counts * n / 100).abs().max() < 1


def test_the_same_images_are_held_out_whatever_else_is_asked():
    images = made()
    held = rows(split(images, 20).val_x)
    assert rows(split(images, 20, n_train=10, n_test=5).val_x) == held


def test_a_smaller_training_set_is_part_of_the_larger():
    images = made()
    small = split(images, 20, n_train=30, n_test=5)
    assert len(small.train_x) == 30
    assert len(small.test_x) == len(small.test_y) == 5
    assert set(rows(small.train_x)) < set(rows(split(images, 20).train_x))


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"n_validation": -1}, r"n_validation must be in \[0, 100\], got -1"),
        ({"n_validation": 101}, "n_validation must be"),
        ({"n_validation": 10, "n_train": 91}, r"n_train must be in \[1, 90\], got 91"),
        ({"n_validation": 10, "n_test": 0}, r"n_test must be in \[1, 20\], got 0"),
    ],
)
def test_a_split_that_cannot_be_is_refused(how, match):
    with pytest.raises(ValueError, match=match):
        split(made(), **how)


def test_images_can_be_replaced_but_not_changed():
    images = made()
    assert replace(images, n_classes=5).n_classes == 5
    with pytest.raises(AttributeError):
        images.n_classes = 5
