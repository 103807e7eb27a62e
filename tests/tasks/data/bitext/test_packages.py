"""Packages come from apt or from a folder; one that is missing is named."""

import json
import os

import pytest

from acprop.tasks.data import DataError, fetch, is_present, sets, source_of, verify
from acprop.tasks.data.corpora import load_corpus

from ..tiny import hidden
from .packed import DE, catalog, deb, harvested


@pytest.fixture(autouse=True)
def words(monkeypatch):
    data = harvested("one", "two")
    monkeypatch.setitem(sets.SETS, "words", data)
    return data


@pytest.fixture
def debs(tmp_path):
    folder = tmp_path / "debs"
    folder.mkdir()
    deb(folder, "one", {f"{DE}/a.mo": catalog(100)}, version="1:2.0-1")
    deb(folder, "two", {f"{DE}/b.mo": catalog(100, 100)})
    return folder


@pytest.fixture
def apt(tmp_path, monkeypatch, debs):
    """An apt-get that has the packages of the folder, and says so if it has not."""
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tools / "apt-get"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nshift\nfor name in "$@"; do\n'
        f'cp {debs}/"$name"_*.deb . 2>/dev/null || '
        '{ echo "E: Unable to locate package $name" >&2; exit 100; }\ndone\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "calls"


def refusal(**how):
    with pytest.raises(DataError) as caught:
        fetch("words", **how)
    return str(caught.value)


def test_apt_is_asked_once_for_all_and_installs_nothing(apt):
    fetch("words")
    assert apt.read_text() == "download one two\n"
    assert verify("words") == []
    assert is_present("words")
    corpus = load_corpus("words")
    assert len(corpus.train) + len(corpus.val) + len(corpus.test) == 200


@pytest.mark.usefixtures("apt")
def test_versions_and_hashes_of_the_packages_are_recorded():
    fetch("words")
    source = source_of("words")
    assert source["route"] == "packages"
    found = [(a["package"], a["version"]) for a in source["archives"]]
    assert found == [("one", "1:2.0-1"), ("two", "1.0")]
    assert all(len(archive["sha256"]) == 64 for archive in source["archives"])
    assert set(source["sha256"]) == {"train.tsv", "val.tsv", "test.tsv"}


@pytest.mark.usefixtures("apt")
def test_a_folder_gives_the_same_bytes_as_apt(debs, tmp_path):
    first = fetch("words")
    second = fetch("words", folder=debs, cache=tmp_path / "other")
    for part in ("train", "val", "test"):
        name = f"{part}.tsv"
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.usefixtures("apt")
def test_a_package_that_apt_has_not_is_named_and_nothing_is_left(debs, cache):
    next(debs.glob("two_*")).unlink()
    said = refusal()
    assert "apt-get download ended with 100: E: Unable to locate package two" in said
    assert "put its 2 packages (one_*.deb, …) into a folder" in said
    assert not (cache / "words").exists()
    assert hidden(cache) == []


def test_a_package_that_a_folder_has_not_is_named(debs, cache):
    next(debs.glob("two_*")).unlink()
    said = refusal(folder=debs)
    assert "two_*.deb must be there, got nothing" in said
    assert hidden(cache) == []


@pytest.mark.usefixtures("no_tools")
def test_without_the_tools_the_reason_is_said():
    assert "apt is not installed" in refusal()


def test_a_broken_package_is_named_and_nothing_is_left(debs, cache):
    path = next(debs.glob("two_*"))
    path.write_bytes(path.read_bytes()[:300])
    assert f"{path.name} must be a whole package" in refusal(folder=debs)
    assert not (cache / "words").exists()
    assert hidden(cache) == []


def test_verify_hashes_what_was_recorded(debs):
    place = fetch("words", folder=debs)
    path = place / "val.tsv"
    path.write_bytes(path.read_bytes().replace(b"a", b"b", 1))
    (problem,) = verify("words")
    assert str(path) in problem
    assert "run acprop data fetch words" in problem
    fetch("words", folder=debs)
    assert verify("words") == []


def test_a_file_that_is_too_short_is_not_loaded(debs):
    place = fetch("words", folder=debs)
    (place / "test.tsv").write_bytes(b"")
    assert not is_present("words")
    with pytest.raises(DataError, match=r"test.tsv must have \d+ bytes, got 0"):
        load_corpus("words")


def test_pairs_that_an_older_version_made_are_made_again(debs):
    place = fetch("words", folder=debs)
    source = json.loads((place / "source.json").read_text())
    (place / "source.json").write_text(json.dumps(source | {"recipe": 0}))
    assert not is_present("words")
    assert "must be made by this version of acprop" in verify("words")[0]
    fetch("words", folder=debs)
    assert verify("words") == []
