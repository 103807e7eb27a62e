"""Verses are paired where both Bibles count them alike."""

import pytest

from acprop.tasks.data import DataError
from acprop.tasks.data.bitext.bible import verses


def books(chapters):
    text = (
        "".join(
            f'<CHAPTER cnumber="{n}">' + "".join(f"<VERS>{v}</VERS>" for v in found)
            for n, found in chapters.items()
        )
        .replace("<CHAPTER", "</CHAPTER><CHAPTER")
        .removeprefix("</CHAPTER>")
    )
    book = f'<BIBLEBOOK bnumber="1">{text}</CHAPTER></BIBLEBOOK>'
    return {"1Mo.xml": f"\ufeff<XMLBIBLE>{book}</XMLBIBLE>".encode()}


def test_a_chapter_that_is_counted_differently_is_left_out_whole():
    english = books({1: ["In the beginning", "And the earth"], 2: ["one", "two"]})
    german = books({1: ["Am Anfang", "Und die Erde"], 2: ["eins"], 3: ["drei"]})
    assert list(verses(english, german)) == [
        ("In the beginning", "Am Anfang"),
        ("And the earth", "Und die Erde"),
    ]


def test_words_in_brackets_lose_them_and_notes_go():
    english = books({1: ["that [it was] good&lt;Written from Athens.&gt;"]})
    german = books({1: ["daß es gut war"]})
    assert list(verses(english, german)) == [("that it was good", "daß es gut war")]


def test_a_broken_book_is_named():
    with pytest.raises(DataError, match=r"1Mo\.xml must be XML, got a broken file"):
        list(verses({"1Mo.xml": b"<XMLBIBLE>"}, {}))
