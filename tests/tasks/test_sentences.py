"""Batches of so many symbols: none is too large, no sentence is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END
from acprop.tasks.sentences import Sentences, lesson, padded

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1)


def of_lengths(pairs):
    return Sentences(
        *([[5] * (n - 1) + [END] for n in side] for side in zip(*pairs, strict=True))
    )


@given(lengths, st.integers(30, 200))
def test_every_sentence_is_in_one_batch_and_no_batch_is_too_large(pairs, tokens):
    sentences = of_lengths(pairs)
    batches = sentences.batches(tokens)
    assert sorted(i for rows in batches for i in rows) == list(range(len(pairs)))
    for rows in batches:
        found = lesson(sentences, rows)
        assert found.read.numel() <= tokens
        assert found.after.numel() <= tokens


@given(lengths, st.integers(30, 200))
def test_one_more_row_would_have_been_too_much(pairs, tokens):
    sentences = of_lengths(pairs)
    batches = sentences.batches(tokens)
    for rows, later in pairwise(batches):
        assert (len(rows) + 1) * sentences.length(later[0]) > tokens


def test_a_sentence_longer_than_a_batch_is_refused():
    message = "^tokens must be 12 or more, the symbols of the longest sentence, got 11$"
    with pytest.raises(ValueError, match=message):
        of_lengths([(3, 4), (12, 2)]).batches(11)


def test_a_place_is_asked_for_what_follows_it():
    sentences = Sentences([[7, END], [8, 9, END]], [[4, 5, 6, END], [3, END]])
    found = lesson(sentences, [1, 0])
    assert found.read.tolist() == [[8, 9, END], [7, END, PAD]]
    assert found.before.tolist() == [[BEGIN, 3, PAD, PAD], [BEGIN, 4, 5, 6]]
    assert found.after.tolist() == [[3, END, PAD, PAD], [4, 5, 6, END]]


def test_no_rows_are_one_that_teaches_nothing():
    found = lesson(of_lengths([(3, 4)]), [])
    assert found.read.tolist() == [[END]]
    assert found.after.tolist() == [[PAD]]


def test_rows_are_filled_up():
    assert padded([[1, 2, 3], [4]]).tolist() == [[1, 2, 3], [4, PAD, PAD]]
