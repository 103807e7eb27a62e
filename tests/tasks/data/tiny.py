"""CIFAR-10 in small: the same files and archives, five images a batch."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from acprop.tasks.data import DataError, fetch, sets
from acprop.tasks.data.sets import Archive, Dataset, File, Package

N = 5
NAMES = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (6, N, 3, 32, 32), dtype=np.uint8)
LABELS = RANDOM.integers(0, 10, (6, N), dtype=np.uint8)


def batch(images, labels):
    """The binary format, written out record by record."""
    out = b""
    for image, label in zip(images, labels, strict=True):
        out += bytes([label]) + image.tobytes()
    return out


BYTES = {
    name: batch(IMAGES[i], LABELS[i]) for i, name in enumerate(NAMES)
}  # what every route must end in


def tgz(members):
    """A tar.gz with these members, the same bytes at every call."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def png(images):
    """Each image one row of 1024 pixels."""
    rows = np.stack([image.reshape(3, 1024).T for image in images])
    out = io.BytesIO()
    Image.fromarray(rows).save(out, "png")
    return out.getvalue()


OFFICIAL = tgz({f"cifar-10-batches-bin/{name}": BYTES[name] for name in NAMES})
NPM = tgz(
    {
        f"package/{n.removesuffix('.bin')}.png": png(IMAGES[i])
        for i, n in enumerate(NAMES)
    }
    | {
        "package/train_lables.json": json.dumps(LABELS[:5].ravel().tolist()).encode(),
        "package/test_lables.json": json.dumps(LABELS[5].tolist()).encode(),
    }
)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tiny(address="http://127.0.0.1:9/"):
    """The set; port 9 (discard) is a server that is not there."""
    return Dataset(
        name="tiny",
        title="tiny",
        form="cifar10",
        n_classes=10,
        files=tuple(File(n, sha256(b), len(b)) for n, b in BYTES.items()),
        addresses=(address,),
        archives=(Archive("tiny.tar.gz", "cifar-10-batches-bin", sha256(OFFICIAL)),),
        package=Package(
            "npm",
            "tiny@1.0.0",
            Archive("tiny-1.0.0.tgz", "package", sha256(NPM), pictures=True),
        ),
        layouts=("cifar-10-batches-bin",),
    )


def fake_npm(folder: Path, script: str):
    """A folder for PATH whose npm runs this shell script."""
    folder.mkdir(exist_ok=True)
    (folder / "tiny-1.0.0.tgz").write_bytes(NPM)
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\nhere={folder}\n{script}\n")
    npm.chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


PACK = 'cp "$here/tiny-1.0.0.tgz" .'


def register(address="http://127.0.0.1:9/"):
    sets.SETS["tiny"] = tiny(address)


def holds(cache):
    return {name: (cache / "tiny" / name).read_bytes() for name in BYTES}


def hidden(cache):
    """What unfinished work would leave behind."""
    return [p.name for p in cache.glob(".*") if not p.name.startswith(".lock-")]


def refusal(**how):
    with pytest.raises(DataError) as caught:
        fetch("tiny", **how)
    return str(caught.value)
