"""Nothing of the test set is in the training set, in whatever spelling."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.tasks.data.bitext.parts import PARTS, normalised, part_of, split, written

# Few words, so that the same sentence comes up in many spellings.
spelling = st.tuples(
    st.sampled_from(["alpha", "Beta", "GAMMA", "delta", "épsilon"]),
    st.sampled_from(["", " ", " %s ", "-", " 12 ", "..."]),
    st.sampled_from(["one", "Two", "THREE", "four"]),
).map("".join)
pairs = st.lists(st.tuples(spelling, spelling), max_size=60)

SAME = [
    ("Page 1 of 2", "page %d of %d!"),
    ("Öffnen…", "öffnen"),
    ("ＡＢＣ", "abc"),
    ("file_name", "file name"),
    ("Straße", "STRASSE"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_case_digits_formats_and_punctuation_make_no_other_sentence(one, other):
    assert normalised(one) == normalised(other)


@given(pairs)
def test_nothing_leaks(pairs):
    """DATA.md: without normalising, 2 to 3 % of the test set is in train."""
    parts = split(pairs)
    sources, targets = (
        {p: {normalised(pair[side]) for pair in parts[p]} for p in PARTS}
        for side in (0, 1)
    )
    for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
        assert not sources[one] & sources[other]
        assert not targets[one] & targets[other]


@given(pairs)
def test_every_pair_is_one_that_was_given_and_comes_once(pairs):
    parts = split(pairs)
    kept = [pair for part in PARTS for pair in parts[part]]
    assert set(kept) <= set(pairs)
    both = [tuple(map(normalised, pair)) for pair in kept]
    assert max(Counter(both).values(), default=0) <= 1
    for part in ("val", "test"):
        sources = [normalised(source) for source, _ in parts[part]]
        assert len(sources) == len(set(sources))


@given(pairs, pairs)
def test_more_packages_move_no_source_to_another_part(few, more):
    """So a model of the small set can be tested on the large one."""
    small, large = split(few), split(few + more)
    for part in PARTS:
        others = {normalised(s) for p in PARTS if p != part for s, _ in large[p]}
        assert not {normalised(s) for s, _ in small[part]} & others


def test_a_tenth_is_held_out_half_for_each():
    count = Counter(part_of(f"sentence {i}") for i in range(10_000))
    assert count["val"] == pytest.approx(500, abs=80)
    assert count["test"] == pytest.approx(500, abs=80)


def test_a_part_is_decided_for_ever():
    """These are in papers' tables one day: another hash would mix train and test."""
    assert [part_of(word) for word in ("omega", "psi", "xi")] == list(PARTS)


def test_a_sentence_without_letters_is_none():
    assert split([("1 2 3 4", "5 6 7 8")]) == {part: [] for part in PARTS}


def test_a_part_is_written_a_pair_a_line():
    assert written([("a", "ä"), ("b", "ß")]) == "a\tä\nb\tß\n".encode()
