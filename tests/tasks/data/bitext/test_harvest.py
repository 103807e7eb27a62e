"""From packages to the files of a set, the same bytes every time."""

import pytest

from acprop.tasks.data import DataError
from acprop.tasks.data.bitext.harvest import harvest

from .packed import DE, catalog, deb, german, mo

DE_EN, EN_VI = ("de", "en"), ("en", "vi")


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
    files = dict(harvest([path], DE_EN))
    assert list(files) == ["train.tsv", "val.tsv", "test.tsv"]
    expected = {german(i)[::-1] for i in range(200)}  # German is read, English written
    assert pairs(files) == expected
    assert dict(harvest([path], DE_EN)) == files


def test_english_can_be_what_is_read(tmp_path):
    messages = {
        german(i)[0]: f"không thể mở được tập tin của {german(i)[0][12:15]}"
        for i in range(100, 200)
    }
    path = deb(tmp_path, "vi", {"usr/share/locale/vi/LC_MESSAGES/a.mo": mo(messages)})
    for source, target in pairs(dict(harvest([path], EN_VI))):
        assert messages[source] == target


def test_packages_without_the_language_are_an_error(tmp_path):
    path = deb(tmp_path, "words", {"usr/share/doc/words/README": b"nothing"})
    with pytest.raises(DataError, match="train must hold pairs of sentences, got none"):
        list(harvest([path], DE_EN))


@pytest.mark.parametrize("keep", [0, 100, 0.7])
def test_a_broken_package_is_named(tmp_path, keep):
    path = deb(tmp_path, "words", {f"{DE}/a.mo": catalog(100)})
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(DataError, match=r"words_1.0_all\.deb must be a whole package"):
        list(harvest([path], DE_EN))
