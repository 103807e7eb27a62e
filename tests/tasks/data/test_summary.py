"""A set in numbers, whatever it is."""

import pytest

from acprop.tasks.data import DataError, fetch, sets, summarise

from .bitext.packed import DE, catalog, deb, harvested
from .tiny import LABELS, OFFICIAL


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.setitem(sets.SETS, "words", harvested("one"))
    deb(tmp_path, "one", {f"{DE}/a.mo": catalog(200)})
    return fetch("words", folder=tmp_path)


def test_pairs_are_counted_and_a_few_are_shown(words):
    found = summarise("words", n=3)
    lines = {
        part: (words / f"{part}.tsv").read_text("utf-8").splitlines()
        for part in ("train", "val", "test")
    }
    assert found["n_pairs"] == {part: len(held) for part, held in lines.items()}
    assert found["mean_length"]["train"] == {"de": 8.0, "en": 7.0}
    assert len(found["examples"]) == 3
    assert all("\t".join(pair) in lines["train"] for pair in found["examples"])
    assert found["source"]["archives"][0]["package"] == "one"


@pytest.mark.usefixtures("words")
def test_the_examples_are_the_same_at_every_call():
    assert summarise("words") == summarise("words")
    assert summarise("words", n=0)["examples"] == []
    assert len(summarise("words", n=10**6)["examples"]) <= 200


def test_images_have_a_shape_and_classes(tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    found = summarise("tiny")
    assert found["shape"] == [3, 32, 32]
    assert found["n_images"] == {"train": 25, "test": 5}
    counts = [int((LABELS[:5] == k).sum()) for k in range(10)]
    assert found["n_per_class"] == counts


def test_what_was_not_fetched_cannot_be_shown():
    with pytest.raises(DataError, match="run acprop data fetch moby-dick"):
        summarise("moby-dick")


def test_fewer_than_no_examples_are_refused():
    with pytest.raises(ValueError, match="n must be 0 or more, got -1"):
        summarise("tiny", n=-1)
