"""TED talks in the formats of their official archives → train, val and test.

train.tags.de-en.de              WIT3: a sentence a line, between tags about the talk
IWSLT14.TED.dev2010.de-en.de.xml WIT3: a sentence in each <seg>
train.en                         Stanford's IWSLT15: a sentence a line, with entities
all_talks_train.tsv              Qi et al.: a column for each language
"""

import csv
import html
import io
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from acprop.tasks.data.archives import Named
from acprop.tasks.data.bitext.catalogs import Pair
from acprop.tasks.data.bitext.parts import written
from acprop.tasks.data.sets import DataError, Dataset

# Lines about the talk. Title and description are translated too: their text is kept, as
# fairseq does.
ABOUT = re.compile(
    r"^\s*<(?:url|talkid|keywords|speaker|reviewer|translator|doc|/doc)\b"
)
HEADING = re.compile(r"</?(?:title|description)>")
SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL)
NOTHING = "__NULL__"  # a talk that was not translated
EVERY = 23  # fairseq's validation: every 23rd pair
LONGEST, RATIO = 175, 1.5  # fairseq's limits for training pairs, in tokens
TOKEN = re.compile(r"\w+|[^\w\s]")


def prepare(held: dict[str, bytes], data: Dataset) -> Iterator[Named]:
    """The cache's files from those of the archive."""
    missing = [name for name in data.members if name not in held]
    if missing:
        raise DataError(f"{', '.join(missing)} must be there, got nothing")
    train, val, test = (
        [p for name in names for p in _pairs(name, held, data)]
        for names in (data.train, data.val, data.test)
    )
    if data.lower:
        train = [pair for pair in train if _is_fit(pair)]
    if not data.val:
        val = train[EVERY - 1 :: EVERY]
        train = [pair for i, pair in enumerate(train, 1) if i % EVERY]
    for part, pairs in {"train": train, "val": val, "test": test}.items():
        if not pairs:
            raise DataError(f"{part} must hold pairs of sentences, got none")
        if data.lower:
            pairs = [(source.lower(), target.lower()) for source, target in pairs]
        yield f"{part}.tsv", written(pairs)


def _is_fit(pair: Pair) -> bool:
    """fairseq drops long training pairs and those of unlike length."""
    a, b = (len(TOKEN.findall(side)) for side in pair)
    return max(a, b) <= LONGEST and max(a, b) <= RATIO * min(a, b)


def _pairs(name: str, held: dict[str, bytes], data: Dataset) -> Iterator[Pair]:
    """Pairs of one file or one pair of files; those with an empty side are left out."""
    if name.endswith(".tsv"):
        sides = _columns(name, held[name], data.languages)
    else:
        names = [name.format(language) for language in data.languages]
        lines = [_sentences(each, held[each]) for each in names]
        if len(lines[0]) != len(lines[1]):
            raise DataError(
                f"{names[0]} and {names[1]} must have as many sentences, got "
                f"{len(lines[0])} and {len(lines[1])}"
            )
        sides = zip(*lines, strict=True)
    for source, target in sides:
        if source and target:
            yield source, target


def _sentences(name: str, content: bytes) -> list[str]:
    text = _decoded(name, content)
    if name.endswith(".xml"):
        return [_plain(found) for found in SEGMENT.findall(text)]
    lines = text.removesuffix("\n").split("\n") if text else []
    if ".tags." in PurePosixPath(name).name:
        lines = [HEADING.sub("", line) for line in lines if not ABOUT.search(line)]
    return [_plain(line) for line in lines]


def _columns(name: str, content: bytes, languages: tuple[str, str]) -> Iterator[Pair]:
    lines = io.StringIO(_decoded(name, content), newline="\n")
    table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    lacking = [n for n in languages if n not in (table.fieldnames or ())]
    if lacking:
        raise DataError(f"{name} must have a column {lacking[0]}, got none")
    for row in table:
        sides = [row[language] or "" for language in languages]
        if not any(NOTHING in side for side in sides):
            yield _plain(sides[0]), _plain(sides[1])


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} must be UTF-8, got {error.reason}") from None


def _plain(text: str) -> str:
    """Entities as characters, no tab and no line break."""
    return " ".join(html.unescape(text).split())
