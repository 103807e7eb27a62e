"""BLEU: known values, the signature, the tokenizer."""

import math

import pytest
from sacrebleu.metrics.bleu import BLEU

from acprop.tasks.bleu import Bleu

REFERENCES = ["the cat is on the mat", "there is a dog here now"]


def test_the_score_is_that_of_papineni_et_al():
    """Geometric mean of the n-gram precisions, times e^(1 - r/c) where it is short."""
    written = ["the cat is on a mat", "there is a dog"]
    # Matches of 1- to 4-grams, and how many there are; 10 words for 12.
    found, of = (9, 6, 4, 2), (10, 8, 6, 4)
    mean = math.exp(sum(math.log(m / n) for m, n in zip(found, of, strict=True)) / 4)
    expected = 100 * mean * math.exp(1 - 12 / 10)
    assert Bleu("en")(written, REFERENCES) == pytest.approx(expected)


@pytest.mark.parametrize(("written", "score"), [(REFERENCES, 100), (["x", "y"], 0)])
def test_it_is_a_hundred_for_the_references_and_nothing_for_nothing(written, score):
    assert Bleu("en")(written, REFERENCES) == pytest.approx(score)


def test_the_signature_says_how_it_was_computed():
    bleu = Bleu("vi")
    bleu(REFERENCES, REFERENCES)
    assert "tok:13a|" in bleu.signature
    assert "case:mixed|" in bleu.signature


def test_japanese_is_cut_by_its_own_tokenizer_or_refused(monkeypatch):
    asked = []

    def without_mecab(tokenize):
        asked.append(tokenize)
        raise RuntimeError("needs more")

    monkeypatch.setattr("acprop.tasks.bleu.BLEU", without_mecab)
    with pytest.raises(ValueError, match=r"got 'ja' without ja-mecab; run pip install"):
        Bleu("ja")
    assert asked == ["ja-mecab"]
    assert BLEU(tokenize="13a") is not None
