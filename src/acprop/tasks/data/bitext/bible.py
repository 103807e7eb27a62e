"""Two Bibles in Zefania XML, verse by verse.

Chapters that the two count differently are left out whole: from the first verse that
one of them splits, all others would be paired wrongly.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from acprop.tasks.data.bitext.catalogs import Pair
from acprop.tasks.data.dataset import DataError

NOTE = re.compile(r"<[^<>]*>")
Chapters = dict[tuple[str, str], list[str]]


def chapters(books: Mapping[str, bytes]) -> Chapters:
    """(number of the book, number of the chapter) → its verses; files by name."""
    found: Chapters = {}
    for name, content in sorted(books.items()):
        try:
            root = ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            raise DataError(
                f"{name} must be XML, got a broken file ({error})"
            ) from None
        for book in root.iter("BIBLEBOOK"):
            for chapter in book.iter("CHAPTER"):
                key = book.get("bnumber", ""), chapter.get("cnumber", "")
                found[key] = [_text(verse) for verse in chapter.iter("VERS")]
    return found


def _text(verse: ElementTree.Element) -> str:
    """Without the King James Version's [words of its own] and <notes on an epistle>."""
    return NOTE.sub("", "".join(verse.itertext())).replace("[", "").replace("]", "")


def verses(english: Mapping[str, bytes], other: Mapping[str, bytes]) -> Iterator[Pair]:
    """Pairs of verses of the chapters that both count in the same way."""
    theirs = chapters(other)
    for key, ours in chapters(english).items():
        if len(ours) == len(theirs.get(key, ())):
            yield from zip(ours, theirs[key], strict=True)
