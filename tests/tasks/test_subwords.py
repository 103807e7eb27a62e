"""Subwords: text comes out as it went in, and the same text gives the same symbols."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.tasks.search import END
from acprop.tasks.subwords import Subwords, learn, learnt

SENTENCES = [
    "the file could not be opened",
    "die Datei konnte nicht geöffnet werden",
    "unknown option in the file %s",
    "unbekannte Option in der Datei %s",
    "ファイルを開けません",
    "không thể mở tập tin",
]


@pytest.fixture(scope="module")
def subwords():
    return Subwords(learn(SENTENCES * 3, 400))


# ▁ is what sentencepiece writes spaces as.
letters = st.characters(exclude_categories=("C", "Z"), exclude_characters="▁")
LEARNT = Subwords(learn(SENTENCES, 350))


@given(st.text(letters, min_size=1))
def test_any_word_comes_out_as_it_went_in(word):
    """Letters of no symbol are spelt in bytes."""
    assert LEARNT.decode(LEARNT.encode([word])) == [word]


def test_sentences_keep_their_words_and_end(subwords):
    symbols = subwords.encode(SENTENCES)
    assert [row[-1] for row in symbols] == [END] * len(SENTENCES)
    assert subwords.decode(symbols) == SENTENCES
    assert subwords.decode([row[:-1] for row in symbols]) == SENTENCES
    assert subwords.n_symbols == 400


def test_frequent_words_need_fewer_symbols_than_letters(subwords):
    (symbols,) = subwords.encode(["the file"])
    assert len(symbols) < len("the file")


def test_the_same_sentences_give_the_same_bytes():
    assert learn(SENTENCES, 350) == learn(SENTENCES, 350)
    assert learn(SENTENCES, 350) != learn(SENTENCES, 340)


def test_what_was_learnt_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    first = learnt(SENTENCES, 350)
    (kept,) = (tmp_path / "subwords").iterdir()
    monkeypatch.setattr("acprop.tasks.subwords.learn", None)
    assert learnt(SENTENCES, 350).sha256 == first.sha256
    kept.unlink()
    with pytest.raises(TypeError):  # nothing to learn with
        learnt(SENTENCES, 350)


def test_a_flipped_bit_in_what_was_kept_is_noticed_and_it_is_learnt_again(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    first = learnt(SENTENCES, 350)
    (kept,) = (tmp_path / "subwords").iterdir()
    whole = kept.read_bytes()
    for at in range(0, len(whole), len(whole) // 5):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert learnt(SENTENCES, 350).sha256 == first.sha256
        assert kept.read_bytes() == whole
    assert "it is made again" in capsys.readouterr().err


@pytest.mark.parametrize("n_symbols", [100, 100_000])
def test_a_vocabulary_that_does_not_suit_the_text_is_refused(n_symbols):
    message = f"n_symbols must suit the sentences, got {n_symbols}: "
    with pytest.raises(ValueError, match=re.escape(message) + r".*\w"):
        learn(SENTENCES, n_symbols)
