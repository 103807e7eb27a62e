"""Paragraphs of LibreOffice's help meet by their ids."""

from acprop.tasks.data.bitext.manuals import PAGE, aligned, paragraphs


def page(**texts):
    body = "\n".join(f'<p id="par_{i}" dir="auto">{t}</p>' for i, t in texts.items())
    return f"<html><h1>Title</h1>{body}</html>".encode()


def test_paragraphs_meet_by_id_not_by_place():
    english = page(id1="Choose a file.", id2="Save it.", id3="Only here.")
    german = page(id2="Speichern Sie sie.", id1="Wählen Sie eine Datei.")
    assert list(aligned(english, german)) == [
        ("Choose a file.", "Wählen Sie eine Datei."),
        ("Save it.", "Speichern Sie sie."),
    ]


def test_an_id_that_comes_twice_says_nothing():
    twice = page(id1="one") + page(id1="two", id2="three")
    assert paragraphs(twice) == {"par_id2": "three"}


def test_keys_of_a_mac_are_left_out():
    key = '<span hidden="true" id="a" class="MAC"><b>Command</b></span>'
    rest = '<span hidden="true" id="b">Ctrl</span>'
    found = paragraphs(page(id1=f"Press {key}{rest} and click."))
    assert found == {"par_id1": f"Press {rest} and click."}


def test_a_sentence_for_several_programs_is_none():
    one = '<span hidden="true" id="a" class="WRITER">text</span>'
    two = '<span hidden="true" id="b" class="CALC">sheet</span>'
    assert paragraphs(page(id1=f"Open the {one}{two}.")) == {}


def test_a_page_is_known_by_its_language_and_name():
    found = PAGE.search("usr/share/libreoffice/help/en-US/text/swriter/a.html")
    assert found.groupdict() == {"language": "en-US", "page": "text/swriter/a.html"}
