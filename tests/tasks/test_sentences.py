"""Batches of so many symbols: none is too large, no sentence is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END
from acprop.tasks.sentences import CorpusPart, padded

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1)


def of_symbols(read, written, tokens=200):
    """A part whose sentences are their own symbols."""
    texts = list(zip(read, written, strict=True))
    return CorpusPart(texts, list, tokens)


def of_lengths(pairs, tokens=200):
    sides = zip(*pairs, strict=True)
    return of_symbols(
        *([[5] * (n - 1) + [END] for n in side] for side in sides), tokens
    )


@given(lengths, st.integers(30, 200))
def test_every_sentence_is_in_one_batch_and_no_batch_is_too_large(pairs, tokens):
    part = of_lengths(pairs, tokens)
    assert sorted(i for rows in part.batches for i in rows) == list(range(len(pairs)))
    for rows in part.batches:
        (read, _), after = part.lesson(rows)
        assert read.numel() <= tokens
        assert after.numel() <= tokens


@given(lengths, st.integers(30, 200))
def test_one_more_row_would_have_been_too_much(pairs, tokens):
    for rows, later in pairwise(of_lengths(pairs, tokens).batches):
        assert (len(rows) + 1) * max(pairs[later[0]]) > tokens


def test_a_sentence_longer_than_a_batch_is_refused():
    message = "^tokens must be 12 or more, the symbols of the longest sentence, got 11$"
    with pytest.raises(ValueError, match=message):
        of_lengths([(3, 4), (12, 2)], 11)


def test_a_place_is_asked_for_what_follows_it():
    part = of_symbols([[7, END], [8, 9, END]], [[4, 5, 6, END], [3, END]])
    (read, before), after = part.lesson([1, 0])
    assert read.tolist() == [[8, 9, END], [7, END, PAD]]
    assert before.tolist() == [[BEGIN, 3, PAD, PAD], [BEGIN, 4, 5, 6]]
    assert after.tolist() == [[3, END, PAD, PAD], [4, 5, 6, END]]


def test_no_rows_are_one_that_teaches_nothing():
    (read, _), after = of_lengths([(3, 4)]).lesson([])
    assert read.tolist() == [[END]]
    assert after.tolist() == [[PAD]]


def test_rows_are_filled_up():
    assert padded([[1, 2, 3], [4]]).tolist() == [[1, 2, 3], [4, PAD, PAD]]
