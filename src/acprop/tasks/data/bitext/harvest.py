"""Debian packages → train, val and test in the cache's own files.

Packages are downloaded and read, never installed. What is made of them depends on their
bytes and their order alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from acprop.tasks.data.archives import Named, members
from acprop.tasks.data.bitext import parts
from acprop.tasks.data.bitext.catalogs import Pair, read_catalog
from acprop.tasks.data.bitext.cleaning import sentences
from acprop.tasks.data.sets import DataError


def harvest(debs: Sequence[Path], languages: tuple[str, str]) -> Iterator[Named]:
    """The files of the set, from its packages on disk."""
    (language,) = set(languages) - {"en"}
    found = (
        pair
        for english, other in _messages(debs, language)
        for pair in sentences(english, other, language)
    )
    if languages[0] != "en":
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
