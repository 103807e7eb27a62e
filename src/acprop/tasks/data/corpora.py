"""Pairs of sentences, whole in memory: what a translator learns from.

    corpus = load_corpus("nmt-de-en")
    german, english = corpus.train[0]

The cache holds one file for each part, a pair a line, the two sides separated by a tab.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acprop import checks
from acprop.tasks.data import store
from acprop.tasks.data.bitext.catalogs import Pair
from acprop.tasks.data.bitext.parts import PARTS
from acprop.tasks.data.sets import SETS


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """(source, target) sentences in three parts.

    languages: what is read, what is written.
    source: route, origin, packages and sha256, as the cache recorded them.
    """

    name: str
    languages: tuple[str, str]
    train: list[Pair]
    val: list[Pair]
    test: list[Pair]
    source: dict[str, Any]

    @property
    def sha256(self) -> str:
        """One hash of all files that the pairs come from."""
        lines = "".join(f"{n} {h}\n" for n, h in sorted(self.source["sha256"].items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def corpus_names() -> tuple[str, ...]:
    """The sets that are pairs of sentences."""
    return tuple(name for name, data in SETS.items() if data.form == "pairs")


def load_corpus(name: str, *, cache: Path | None = None) -> Corpus:
    """Read a fetched set into memory. Sizes are checked, bytes by ``verify``."""
    data = SETS[checks.one_of("name", name, corpus_names())]
    folder, source = store.complete(name, cache)
    train, val, test = (_read(folder / f"{part}.tsv") for part in PARTS)
    return Corpus(name, data.languages, train, val, test, source)


def _read(path: Path) -> list[Pair]:
    # Not splitlines(): it also breaks at characters that a sentence may hold.
    lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    return [
        (source, target) for source, _, target in (x.partition("\t") for x in lines)
    ]
