"""Debian packages → train, val and test in the cache's own files.

Packages are downloaded and read, never installed. What is made of them depends on their
bytes and their order alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acprop.progress import Bar
from acprop.tasks.data.archives import Named, members
from acprop.tasks.data.bitext import parts
from acprop.tasks.data.bitext.catalogs import Pair, read_catalog
from acprop.tasks.data.bitext.cleaning import sentences
from acprop.tasks.data.routes import download, need, note_archive
from acprop.tasks.data.sets import Bitext, DataError, Dataset


def from_apt(
    data: Dataset, work: Path, bar: Bar, about: dict[str, Any]
) -> Iterator[Named]:
    """Download all, then read them. One that cannot be had ends it, and is named."""
    bar.show(f"{data.name}: {len(data.packages)} packages")
    need("dpkg-deb")
    download("apt", data.packages, work)
    yield from from_folder(work, data, work, bar, about)


def from_folder(
    folder: Path, data: Dataset, _: Path, bar: Bar, about: dict[str, Any]
) -> Iterator[Named]:
    """The packages in this folder."""
    need("dpkg-deb")
    found: list[Path] = []
    for package in data.packages:
        name = f"{package}_*.deb"
        debs = [p for at in (folder / data.name, folder) for p in sorted(at.glob(name))]
        if not debs:
            raise DataError(f"{name} must be there, got nothing")
        found.append(debs[-1])
        # name_version_architecture.deb, where %3a stands for a colon
        version = debs[-1].name.split("_")[1].replace("%3a", ":")
        note_archive(about, data, debs[-1], package=package, version=version)
    bar.show(f"{data.name}: reading {len(found)} packages")
    assert data.bitext is not None
    yield from harvest(found, data.bitext)


def harvest(debs: Sequence[Path], bitext: Bitext) -> Iterator[Named]:
    """The files of the set, from its packages on disk."""
    (language,) = set(bitext.languages) - {"en"}
    found = (
        pair
        for english, other in _messages(debs, language)
        for pair in sentences(english, other, language)
    )
    if bitext.languages[0] != "en":
        found = ((other, english) for english, other in found)
    for part, pairs in parts.split(found).items():
        if not pairs:
            raise DataError(f"{part} must hold pairs of sentences, got none")
        yield f"{part}.tsv", parts.written(pairs)


def _messages(debs: Sequence[Path], language: str) -> Iterator[Pair]:
    """(English, other) as they were written, in the order of the packages."""
    catalog = re.compile(rf"(?:^|/){language}(?:_[A-Z]{{2}})?/LC_MESSAGES/[^/]+\.mo$")
    for deb in debs:
        for _, content in members(deb, lambda n: n if catalog.search(n) else None):
            yield from read_catalog(content)
