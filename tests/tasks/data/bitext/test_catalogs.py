"""What gettext writes is read, whatever its byte order, charset and plural forms."""

import gettext
import io

import pytest

from acprop.tasks.data import DataError
from acprop.tasks.data.bitext.catalogs import read_catalog

from .packed import mo


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_every_message_comes_with_its_translation(order, charset):
    messages = {"Open": "Öffnen", "Close it": "Schließen"}
    content = mo(messages, charset=charset, order=order)
    assert dict(read_catalog(content)) == messages


def test_our_small_catalogs_are_ones_that_python_reads():
    catalog = gettext.GNUTranslations(io.BytesIO(mo({"Open": "Öffnen"})))
    assert catalog.gettext("Open") == "Öffnen"


def test_a_context_is_no_part_of_the_message():
    assert list(read_catalog(mo({"menu|file\x04Open": "Öffnen"}))) == [
        ("Open", "Öffnen")
    ]


FORMS = [
    # forms of the translation, pairs
    (("%d Datei", "%d Dateien"), [("one", 0), ("many", 1)]),
    (("một",), [("many", 0)]),  # no plural: the text serves any number
    (("un", "două", "de două"), [("one", 0), ("many", 1)]),  # Romanian
]


@pytest.mark.parametrize(("forms", "pairs"), FORMS)
def test_plural_forms_are_pairs_of_their_own(forms, pairs):
    english = {"one": "%d file", "many": "%d files"}
    found = list(read_catalog(mo({tuple(english.values()): forms})))
    assert found == [(english[number], forms[i]) for number, i in pairs]


def test_a_message_without_a_translation_is_none():
    assert list(read_catalog(mo({"Open": ""}))) == []


def test_what_cannot_be_decoded_is_left_out():
    content = mo({"Open": "Öffnen", "Quit": "Ende"}, charset="iso-8859-1")
    assert list(read_catalog(content.replace(b"iso-8859-1", b"utf-8     "))) == [
        ("Quit", "Ende")
    ]


@pytest.mark.parametrize("cut", [4, 20, 40, -3])
def test_a_catalog_that_is_cut_off_is_refused(cut):
    with pytest.raises(DataError, match="a catalog must be whole"):
        list(read_catalog(mo({"Open": "Öffnen"})[:cut]))


def test_a_file_that_is_no_catalog_is_refused():
    with pytest.raises(DataError, match="must begin with its magic, got b'GIF8'"):
        list(read_catalog(b"GIF89a"))
