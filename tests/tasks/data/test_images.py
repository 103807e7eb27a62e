"""From the authors' binary formats to tensors."""

import struct
from dataclasses import replace

import numpy as np
import pytest
import torch

from acprop.tasks.data import DataError, fetch, sets
from acprop.tasks.data.images import load, moments
from acprop.tasks.data.sets import File, describe

from .tiny import BYTES, IMAGES, LABELS, OFFICIAL, sha256

CIFAR100, MNIST = describe("cifar100"), describe("mnist")


def give(monkeypatch, folder, data, content):
    """A small set in a known one's format, fetched from a folder."""
    files = tuple(
        File(file.name, sha256(content[file.name]), len(content[file.name]))
        for file in data.files
    )
    monkeypatch.setitem(sets.SETS, data.name, replace(data, files=files))
    for name, some in content.items():
        (folder / name).write_bytes(some)
    fetch(data.name, folder=folder)


def idx(values):
    head = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    return head + values.tobytes()


def test_cifar10_is_what_was_packed(tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    images = load("tiny")
    assert torch.equal(images.train_x, torch.tensor(IMAGES[:5]).flatten(0, 1))
    assert torch.equal(images.train_y, torch.tensor(LABELS[:5]).flatten().long())
    assert torch.equal(images.test_x, torch.tensor(IMAGES[5]))
    assert torch.equal(images.test_y, torch.tensor(LABELS[5]).long())
    assert images.train_x.dtype == torch.uint8
    assert images.train_y.dtype == torch.int64
    assert images.source["route"] == "folder"
    assert len(images.val_x) == len(images.val_y) == 0


def test_cifar100_takes_the_fine_label(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (7, 3072), dtype=np.uint8)
    coarse, fine = random.integers(0, 20, 7), random.integers(0, 100, 7)
    records = [
        bytes([c, f]) + row.tobytes() for c, f, row in zip(coarse, fine, x, strict=True)
    ]
    content = {"train.bin": b"".join(records), "test.bin": b"".join(records[:2])}
    give(monkeypatch, tmp_path, CIFAR100, content)
    images = load("cifar100")
    assert images.train_y.tolist() == fine.tolist()
    assert images.test_y.tolist() == fine[:2].tolist()
    assert torch.equal(images.train_x, torch.tensor(x).view(7, 3, 32, 32))
    assert images.n_classes == 100
    assert images.mean == moments(images.train_x)[0]


def test_idx_is_read_by_its_header(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (6, 5, 4), dtype=np.uint8)
    y = np.arange(6, dtype=np.uint8)
    parts = (idx(x), idx(y), idx(x[:2]), idx(y[:2]))
    names = [file.name for file in MNIST.files]
    give(monkeypatch, tmp_path, MNIST, dict(zip(names, parts, strict=True)))
    images = load("mnist")
    assert torch.equal(images.train_x, torch.tensor(x).unsqueeze(1))
    assert images.train_y.tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.equal(images.test_x, images.train_x[:2])
    assert images.mean == MNIST.mean


def test_a_set_that_was_cut_is_not_loaded(cache, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    path = cache / "tiny" / "test_batch.bin"
    path.write_bytes(BYTES["test_batch.bin"][:-3073])
    with pytest.raises(DataError, match=r"test_batch.bin must have 15365 bytes"):
        load("tiny")


def test_a_set_that_is_not_there_is_not_loaded():
    with pytest.raises(DataError, match="run acprop data fetch mnist"):
        load("mnist")


def test_moments_are_those_of_every_pixel():
    x = torch.randint(256, (20, 3, 8, 8), generator=torch.Generator().manual_seed(0))
    pixels = x.double().div(255).transpose(0, 1).flatten(1)
    mean, std = moments(x.to(torch.uint8))
    assert mean == pytest.approx(pixels.mean(1).tolist(), abs=1e-14)
    assert std == pytest.approx(pixels.std(1, correction=0).tolist(), abs=1e-14)
