"""Pairs in memory, as they lie in the cache."""

import hashlib

import pytest

from acprop.tasks.data import DataError, sets
from acprop.tasks.data.corpora import corpus_names, load_corpus
from acprop.tasks.data.images import load
from acprop.tasks.data.store import install, staging_folder

from .bitext.packed import harvested

PARTS = {
    "train": [("ein Haus", "a house"), ("zwei\u2028Zeilen", "two\u2028lines")],
    "val": [("drei", "three")],
    "test": [("vier", "four"), ("fünf", "five")],
}


@pytest.fixture
def words(monkeypatch, cache):
    """A set of these pairs in the cache, without any package."""
    data = harvested("one")
    monkeypatch.setitem(sets.SETS, "words", data)
    cache.mkdir()
    contents = [
        (f"{part}.tsv", "".join(f"{a}\t{b}\n" for a, b in pairs).encode())
        for part, pairs in PARTS.items()
    ]
    about = {"route": "folder", "origin": "here"}
    with staging_folder(data, cache, print) as work:
        return install(data, contents, work, about)


@pytest.mark.usefixtures("words")
def test_the_pairs_are_those_of_the_files():
    corpus = load_corpus("words")
    found = {"train": corpus.train, "val": corpus.val, "test": corpus.test}
    assert found == PARTS
    assert corpus.name == "words"
    assert corpus.languages == ("de", "en")
    assert corpus.source["origin"] == "here"


def test_one_hash_stands_for_all_files(words):
    files = sorted(words.glob("*.tsv"))
    lines = [f"{p.name} {hashlib.sha256(p.read_bytes()).hexdigest()}\n" for p in files]
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert load_corpus("words").sha256 == expected


def test_a_set_that_is_no_corpus_is_refused():
    names = ", ".join(corpus_names())
    with pytest.raises(ValueError, match=f"name must be one of {names}, got 'mnist'"):
        load_corpus("mnist")


def test_a_corpus_is_no_set_of_images():
    with pytest.raises(ValueError, match="must be a set of images, got"):
        load("nmt-de-en")


def test_a_corpus_that_was_not_fetched_says_how():
    with pytest.raises(DataError, match="run acprop data fetch nmt-de-en"):
        load_corpus("nmt-de-en")
