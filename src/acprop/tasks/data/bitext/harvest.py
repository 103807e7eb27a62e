"""Debian packages → train, val and test in the cache's own files.

Packages are downloaded and read, never installed. What is made of them depends on their
bytes and their order alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from acprop.tasks.data.bitext import parts
from acprop.tasks.data.bitext.catalogs import Pair, read_catalog
from acprop.tasks.data.bitext.cleaning import sentences
from acprop.tasks.data.convert import Named, members
from acprop.tasks.data.dataset import Bitext, DataError, Dataset
from acprop.tasks.data.progress import DownloadBar
from acprop.tasks.data.routes import Origin, download, need, version_of


def from_apt(
    data: Dataset, work: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """Download all, then read them. One that cannot be had ends it, and is named."""
    bar.begin(f"{data.name}: {len(data.packages)} packages")
    download("apt", data.packages, work)
    yield from from_folder(work, data, work, bar, origin)


def from_folder(
    folder: Path, data: Dataset, _: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """The packages in this folder."""
    need("dpkg-deb")
    places = [place for name in (data.name, ".") if (place := folder / name).is_dir()]
    found: list[Path] = []
    missing: list[str] = []
    for package in data.packages:
        debs = [p for at in places for p in sorted(at.glob(f"{package}_*.deb"))]
        found.extend(debs[-1:])
        missing.extend([] if debs else [f"{package}_*.deb"])
    if missing:
        few = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise DataError(
            f"it must hold {len(data.packages)} packages, got {len(found)}; "
            f"{few} cannot be found"
        )
    for package, path in zip(data.packages, found, strict=True):
        origin.add_archive(path, package=package, version=version_of(path))
    bar.begin(f"{data.name}: reading {len(found)} packages")
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
