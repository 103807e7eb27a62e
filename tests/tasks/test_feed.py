"""Feeds: images in memory, pictures in folders, and what a rank gets of a batch."""

import re
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Generator

from acprop.bench.optimizers import build
from acprop.tasks.data import fetch, sets
from acprop.tasks.data.augment import normalised
from acprop.tasks.data.images import Images, load
from acprop.tasks.data.sampling import split
from acprop.tasks.data.sets import File
from acprop.tasks.feed import Feed
from acprop.tasks.vision import VisionSettings, VisionTask

SIZES = {"train": 12, "val": 5, "test": 7}


@pytest.fixture
def images():
    draw = Generator().manual_seed(0)
    parts = SIZES
    x = {
        f"{part}_x": torch.randint(0, 256, (n, 3, 8, 8), generator=draw).byte()
        for part, n in parts.items()
    }
    y = {
        f"{part}_y": torch.randint(0, 4, (n,), generator=draw)
        for part, n in parts.items()
    }
    moments = {"mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.25)}
    return Images(name="noise", n_classes=4, source={}, **x, **y, **moments)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """train/<class>/*.JPEG and val/<class>/*.JPEG, fetched as ImageNet."""
    draw = Generator().manual_seed(0)
    place = tmp_path / "pictures"
    for part, n in (("train", 6), ("val", 3)):
        for wnid in ("n01440764", "n01443537"):
            (place / part / wnid).mkdir(parents=True)
            for i in range(n):
                pixels = torch.randint(0, 256, (40, 48, 3), generator=draw).byte()
                picture = Image.fromarray(pixels.numpy())
                picture.save(place / part / wnid / f"{wnid}_{i}.JPEG")
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    fetch("imagenet", folder=place, progress=False)
    return place


def pictures(n_train=None, n_validation=4, n_test=None):
    images = load("imagenet", size=32)
    return Feed(split(images, n_validation, n_train=n_train, n_test=n_test))


def seeded():
    return Generator().manual_seed(7)


def assert_halves_are_the_whole(fed):
    rows = torch.tensor([3, 0, 6, 5])
    x, y = fed.training(rows, seeded(), part=slice(0, 4))
    halves = [
        fed.training(rows, seeded(), part=part) for part in (slice(0, 2), slice(2, 4))
    ]
    assert torch.equal(x, torch.cat([half for half, _ in halves]))
    assert torch.equal(y, torch.cat([half for _, half in halves]))
    plain, same = fed.training(rows, None, part=slice(0, 4))
    assert torch.equal(y, same)
    assert not torch.equal(x, plain)


def test_two_ranks_get_the_halves_of_the_batch_that_one_gets(images):
    assert_halves_are_the_whole(Feed(images))


@pytest.mark.usefixtures("folder")
def test_two_ranks_get_the_halves_of_a_batch_of_pictures():
    assert_halves_are_the_whole(pictures())


def test_rows_in_memory_are_those_asked_for(images):
    fed = Feed(images)
    rows = torch.tensor([11, 2])
    x, y = fed.training(rows, None, part=slice(0, 2))
    by_hand = (images.train_x[[11, 2], 1].float() / 255 - 0.5) / 0.3
    assert torch.allclose(x[:, 1], by_hand, atol=1e-5)
    assert torch.equal(y, images.train_y[[11, 2]])


@pytest.mark.parametrize("part", ["val", "test"])
def test_what_is_judged_is_the_part_asked_for_and_never_augmented(images, part):
    x, y = Feed(images).evaluation_rows(part, slice(2, 5))
    how = images.mean, images.std
    assert torch.equal(x, normalised(getattr(images, f"{part}_x")[2:5], *how))
    assert torch.equal(y, getattr(images, f"{part}_y")[2:5])


@pytest.mark.usefixtures("folder")
def test_pictures_held_out_are_not_trained_on():
    fed = pictures(n_train=6, n_test=4)
    parts = [fed.images.part(name) for name in ("train", "val", "test")]
    assert [len(x.files) for x, _ in parts] == [len(y) for _, y in parts] == [6, 4, 4]
    assert not set(parts[0][0].files) & set(parts[1][0].files)
    x, y = fed.evaluation_rows("val", slice(0, 4))
    assert x.shape == (4, 3, 32, 32)
    assert y.tolist() == [0, 0, 1, 1]  # as many of each class


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_train": 9}, "n_train must be in [1, 8], got 9"),
        ({"n_test": 7}, "n_test must be in [1, 6], got 7"),
        ({"n_validation": 13}, "n_validation must be in [0, 12], got 13"),
    ],
)
def test_more_pictures_than_there_are_is_refused(asked, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pictures(**asked)


def train(settings, n_steps=2):
    task = VisionTask(settings)
    session = task.begin(0, build("acprop", {"lr": 1e-3}))
    losses = [session.train_step()["loss"] for _ in range(n_steps)]
    return task, losses, session.evaluate()


SMALL = {"batch": 4, "width": 0.125, "depth": 0.5, "n_validation": 4}


def test_a_resnet_is_trained_on_imagenets_folders(folder):
    settings = VisionSettings("imagenet", "resnet18", stem="imagenet", size=32, **SMALL)
    task, losses, seen = train(settings)
    assert len(task.feed.images.train_y) == 8
    assert all(np.isfinite(losses))
    assert losses == train(settings)[1]
    assert seen["samples"] == 8
    assert 0 <= seen["test_accuracy"] <= 1
    about = task.source["imagenet"]
    assert (about["route"], about["origin"]) == ("folder", str(folder))


def test_a_resnet_is_trained_on_cifar100s_binary_files(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    content = {
        name: b"".join(bytes([i % 20, i % 100]) + random.bytes(3072) for i in range(n))
        for name, n in (("train.bin", 112), ("test.bin", 10))
    }
    files = tuple(
        File(name, sha256(some).hexdigest(), len(some))
        for name, some in content.items()
    )
    monkeypatch.setitem(
        sets.SETS, "cifar100", replace(sets.SETS["cifar100"], files=files)
    )
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    for name, some in content.items():
        (tmp_path / name).write_bytes(some)
    fetch("cifar100", folder=tmp_path, progress=False)
    task, losses, seen = train(VisionSettings("cifar100", "resnet18", **SMALL))
    assert task.feed.images.n_classes == 100
    assert all(np.isfinite(losses))
    # 100 classes, nothing learnt yet: about -log(1/100)
    assert seen["test_loss"] == pytest.approx(np.log(100), rel=0.5)
