"""From packages to the files of a set, the same bytes every time."""

import pytest

from acprop.tasks.data import DataError
from acprop.tasks.data.bitext.harvest import harvest
from acprop.tasks.data.dataset import Bitext

from .packed import DE, bible, catalog, deb, german, mo

DE_EN, EN_VI = Bitext(("de", "en"), ()), Bitext(("en", "vi"), ())


def pairs(files):
    lines = b"".join(files.values()).decode().splitlines()
    return {tuple(line.split("\t")) for line in lines}


def test_catalogs_of_a_package_become_three_files(tmp_path):
    path = deb(
        tmp_path,
        "words",
        {
            f"{DE}/a.mo": catalog(100),
            f"{DE.replace('/de/', '/de_DE/')}/b.mo": catalog(100, 100),
            f"{DE.replace('/de/', '/fr/')}/a.mo": mo({"the French one is not": "non"}),
            "usr/share/doc/words/README": b"no catalog",
        },
    )
    files = dict(harvest([(path, "deb")], DE_EN))
    assert list(files) == ["train.tsv", "val.tsv", "test.tsv"]
    expected = {german(i)[::-1] for i in range(200)}  # German is read, English written
    assert pairs(files) == expected
    assert dict(harvest([(path, "deb")], DE_EN)) == files


def test_english_can_be_what_is_read(tmp_path):
    messages = {
        german(i)[0]: f"không thể mở được tập tin của {german(i)[0][12:15]}"
        for i in range(100, 200)
    }
    path = deb(tmp_path, "vi", {"usr/share/locale/vi/LC_MESSAGES/a.mo": mo(messages)})
    for source, target in pairs(dict(harvest([(path, "deb")], EN_VI))):
        assert messages[source] == target


def test_help_meets_across_packages_and_the_bible_follows(tmp_path):
    folder = "usr/share/libreoffice/help"
    pages = {"en-US": "Choose the file that you want.", "de": "Wählen Sie die Datei."}
    debs = [
        deb(
            tmp_path,
            f"help-{language.lower()}",
            {f"{folder}/{language}/a.html": f'<p id="par_1">{text}</p>'.encode()},
        )
        for language, text in pages.items()
    ]
    words = deb(tmp_path, "words", {f"{DE}/a.mo": catalog(100)})
    bibles = [
        bible(tmp_path, "en", {1: ["In the beginning was the word"]}),
        bible(tmp_path, "de", {1: ["Im Anfang war das Wort"]}),
    ]
    paths = [(p, "deb") for p in (*debs, words)] + [(p, "tar") for p in bibles]
    found = pairs(dict(harvest(paths, DE_EN)))
    assert ("Wählen Sie die Datei.", "Choose the file that you want.") in found
    assert ("Im Anfang war das Wort", "In the beginning was the word") in found
    assert len(found) == 102


def test_packages_without_the_language_are_an_error(tmp_path):
    path = deb(tmp_path, "words", {"usr/share/doc/words/README": b"nothing"})
    with pytest.raises(DataError, match="train must hold pairs of sentences, got none"):
        list(harvest([(path, "deb")], DE_EN))


@pytest.mark.parametrize("keep", [0, 100, 0.7])
def test_a_broken_package_is_named(tmp_path, keep):
    path = deb(tmp_path, "words", {f"{DE}/a.mo": catalog(100)})
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(DataError, match=r"words_1.0_all\.deb must be a whole package"):
        list(harvest([(path, "deb")], DE_EN))
