"""All packages of a set → train, val and test in the cache's own files.

Packages are downloaded and read, never installed. What is made of them depends on their
bytes and their order alone.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from acprop.tasks.data.bitext import bible, manuals, parts
from acprop.tasks.data.bitext.catalogs import Pair, read_catalog
from acprop.tasks.data.bitext.cleaning import sentences
from acprop.tasks.data.convert import Named, members
from acprop.tasks.data.dataset import Bitext, DataError

ENGLISH_HELP = "en-US"


def harvest(paths: Sequence[tuple[Path, str]], bitext: Bitext) -> Iterator[Named]:
    """The files of the set, from its packages on disk, each with its kind."""
    (language,) = set(bitext.languages) - {"en"}
    found = (
        pair
        for english, other in _messages(paths, language)
        for pair in sentences(english, other, language)
    )
    if bitext.languages[0] != "en":
        found = ((other, english) for english, other in found)
    for part, pairs in parts.split(found).items():
        if not pairs:
            raise DataError(f"{part} must hold pairs of sentences, got none")
        yield f"{part}.tsv", parts.written(pairs)


def _messages(paths: Sequence[tuple[Path, str]], language: str) -> Iterator[Pair]:
    """(English, other) as they were written, in the order of the packages."""
    catalog = re.compile(rf"(?:^|/){language}(?:_[A-Z]{{2}})?/LC_MESSAGES/[^/]+\.mo$")
    pages: dict[str, dict[str, bytes]] = {ENGLISH_HELP: {}, language: {}}
    books: dict[str, dict[str, bytes]] = {"en": {}, language: {}}
    for path, kind in paths:
        if kind == "tar":
            name, texts = _bible(path)
            books.get(name, {}).update(texts)
            continue
        for name, content in _fitting(path, rf"{catalog.pattern}|\.html$"):
            page = manuals.PAGE.search(name)
            if page and page["language"] in pages:
                pages[page["language"]][page["page"]] = content
            elif catalog.search(name):
                yield from read_catalog(content)
    english, other = pages[ENGLISH_HELP], pages[language]
    for page in sorted(english.keys() & other.keys()):
        yield from manuals.aligned(english[page], other[page])
    yield from bible.verses(books["en"], books[language])


def _fitting(path: Path, pattern: str) -> Iterator[Named]:
    """Files of a package whose name fits."""
    fits = re.compile(pattern).search
    return members(path, lambda name: name if fits(name) else None)


def _bible(path: Path) -> tuple[str, dict[str, bytes]]:
    """Its language, and its books by file name."""
    held = dict(_fitting(path, r"\.(xml|json)$"))
    about = json.loads(held.pop("package/package.json"))
    books = {PurePosixPath(name).name: text for name, text in held.items()}
    return about["xmlbible"]["language"], books
