"""A file is whole or not there."""

from pathlib import Path
from string import ascii_lowercase, digits

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acprop import files


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_with_its_folders(tmp_path):
    files.write(tmp_path / "deep" / "a.txt", "ε")
    assert (tmp_path / "deep" / "a.txt").read_bytes() == "ε".encode()
    assert names(tmp_path / "deep") == ["a.txt"]


def test_until_all_is_written_the_old_file_is_there(tmp_path):
    path = tmp_path / "a"
    files.write(path, b"old")
    with files.replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.glob(files.PARTS))) == 1
    assert path.read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    files.write(path, b"old")

    def fill_the_disk():
        with files.replacing(path) as file:
            file.write(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fill_the_disk()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_folder_cannot_be_where_a_file_is(tmp_path):
    files.check_folder("out", tmp_path / "new" / "deep")
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "deep"):
        with pytest.raises(ValueError, match=r"^out must be a folder, got the file"):
            files.check_folder("out", path)


def test_a_folder_that_nobody_may_write_to_is_refused():
    """Not by its rights, which root ignores and a read-only disk does not have."""
    with pytest.raises(ValueError, match=r"^out must be a folder that we may write to"):
        files.check_folder("out", Path("/proc/new"))


def test_a_file_cannot_be_where_a_folder_is(tmp_path):
    files.check_file("out", tmp_path / "new" / "x.png")
    with pytest.raises(ValueError, match=r"^out must be a file, got the folder"):
        files.check_file("out", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"^the place of out must be a folder, got"):
        files.check_file("out", tmp_path / "file" / "x.png")


def test_what_is_sealed_comes_back_and_any_flipped_bit_is_noticed(tmp_path):
    """Inside the content or the seal; also a file cut short, and an empty one."""
    path = tmp_path / "a"
    files.write(path, b"content" + files.seal(b"content"))
    assert files.read_sealed(path) == b"content"
    whole = path.read_bytes()
    flipped = [
        whole[:i] + bytes([whole[i] ^ 1 << bit]) + whole[i + 1 :]
        for i in range(len(whole))
        for bit in (0, 7)
    ]
    for damaged in (*flipped, *(whole[:n] for n in range(len(whole)))):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="must end with the SHA-256 of the rest"):
            files.read_sealed(path)


def test_what_was_there_is_kept_if_that_is_wanted(tmp_path):
    path, older = tmp_path / "a", tmp_path / "older"
    for content in (b"1", b"2", b"3"):
        files.write(path, content, older=older)
    assert (path.read_bytes(), older.read_bytes()) == (b"3", b"2")
    assert names(tmp_path) == ["a", "older"]


ALPHABET = {*ascii_lowercase, *digits, *"._-"}
TEXTS = st.text() | st.text(alphabet="./\\~-_aZ0\0 %", max_size=12)


@given(names=st.lists(TEXTS | st.from_regex(files.NAME), min_size=1, max_size=3))
@example(names=["a", ".."])
@example(names=["a\n"])
@example(names=["a" * 151])
def test_names_become_a_path_below_the_folder_or_are_refused(names, tmp_path_factory):
    """Whatever they are: a name never leaves the folder, nor hides in it."""
    folder = tmp_path_factory.getbasetemp() / "below"
    is_allowed = all(
        set(name) <= ALPHABET and name[:1].isalnum() and len(name) <= 150
        for name in names
    )
    if not is_allowed:
        with pytest.raises(ValueError, match="a file's name must be small letters"):
            files.below(folder, *names)
        return
    path = files.below(folder, *names)
    assert path.relative_to(folder).parts == tuple(names)
    assert path.resolve().parts[-len(names) :] == tuple(names)


@given(TEXTS)
def test_every_text_has_a_key_that_is_a_files_name(text):
    assert files.below(files.Path("out"), files.key_of(text[:100]))


def test_a_link_is_not_followed_out_of_the_folder_nor_within_it(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "other").write_text("mine")
    (tmp_path / "a" / "file").symlink_to(tmp_path / "other")
    (tmp_path / "a" / "folder").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for names in (["file"], ["folder", "other"], ["folder"]):
        with pytest.raises(ValueError, match=r"must be in .* itself, got the link"):
            files.below(tmp_path / "a", *names)
    assert files.below(tmp_path / "b", "new")  # the folder itself may be one
