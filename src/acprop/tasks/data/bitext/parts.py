"""Train, val and test of harvested pairs, of which nothing leaks.

Software says the same thing many times: "page %d of %d", "Page 1 of 2". Two sentences
that differ only in case, digits, formats and punctuation are one sentence here, and a
hash of it alone decides its part: the order of the packages, or twice as many of them,
move no sentence from test to train.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from acprop.tasks.data.bitext.catalogs import Pair

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = ("train", "val", "test")
TEST_ENDS, VAL_ENDS = 5, 10  # per cent

FORMAT = re.compile(r"%[sd]")
NO_LETTERS = re.compile(r"[\W\d_]+")


def normalised(sentence: str) -> str:
    """Lower case, letters only, one blank between words."""
    text = unicodedata.normalize("NFKC", FORMAT.sub(" ", sentence)).casefold()
    return NO_LETTERS.sub(" ", text).strip()


def part_of(source: str) -> Part:
    """Where a normalised source belongs, for ever."""
    draw = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8]) % 100
    return "test" if draw < TEST_ENDS else "val" if draw < VAL_ENDS else "train"


def split(pairs: Iterable[Pair]) -> dict[Part, list[Pair]]:
    """(source, target) pairs in three parts, without repetition.

    Of a source in val or test the first translation is kept. A translation that is in
    test is in neither of the others, and one that is in val is not in train: a model
    that learned to say it would be right for the wrong source.
    """
    parts: dict[Part, dict[tuple[str, str], Pair]] = {part: {} for part in PARTS}
    held: set[str] = set()
    for source, target in pairs:
        key = normalised(source), normalised(target)
        part = part_of(key[0])
        if not all(key) or (part != "train" and key[0] in held):
            continue
        if part != "train":
            held.add(key[0])
        parts[part].setdefault(key, (source, target))
    kept: dict[Part, list[Pair]] = {}
    taken: set[str] = set()
    for part in reversed(PARTS):
        kept[part] = [p for k, p in parts[part].items() if k[1] not in taken]
        taken |= {target for _, target in parts[part]}
    return {part: kept[part] for part in PARTS}


def written(pairs: Iterable[Pair]) -> bytes:
    """The file of one part: a pair a line, a tab between its sides."""
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
