"""A library that is there and cannot be used: the reason is given, nothing crashes."""

import hashlib
import shutil
import subprocess
import sys

import pytest

from acprop import native

needs_native = pytest.mark.skipif(native.load() is None, reason=str(native.why_not()))


@pytest.fixture
def open_anew():
    """The loader without its memory of what it found before."""
    return native._open.__wrapped__


def test_a_file_that_is_no_library_is_refused_with_a_remedy(
    open_anew, tmp_path, monkeypatch
):
    """As after an interrupted build, or a copy from another machine."""
    broken = tmp_path / "_native.so"
    broken.write_text("not a library")
    found = hashlib.sha256(broken.read_bytes()).hexdigest()
    broken.with_suffix(".sha256").write_text(found)
    monkeypatch.setattr(native, "PATH", broken)
    monkeypatch.setenv(native.SWITCH, "1")
    library, reason = open_anew()
    assert library is None
    assert reason.startswith("_native.so cannot be loaded (")
    assert reason.endswith("; reinstall acprop")


LOAD = """
import pathlib, sys
from acprop import native
native.PATH = pathlib.Path(sys.argv[1])
print(native.load() is not None, native.why_not())
"""


@needs_native
def test_a_library_that_is_cut_short_or_has_no_hash_is_not_loaded(tmp_path):
    """To map what is not there ends the process with a bus error."""
    library = tmp_path / "_native.so"
    shutil.copy(native.PATH, library)

    def load():
        words = [sys.executable, "-c", LOAD, str(library)]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.returncode, done.stdout

    refused = "False _native.so lacks its SHA-256 or is damaged; install acprop anew"
    assert load()[1].startswith(refused)
    shutil.copy(native.PATH.with_suffix(".sha256"), tmp_path)
    assert load() == (0, "True None\n")
    whole = library.read_bytes()
    for size in (len(whole) // 6, len(whole) - 1):
        library.write_bytes(whole[:size])
        code, reason = load()
        assert (code, reason.startswith(refused)) == (0, True)


@needs_native
def test_a_library_of_another_version_is_refused(open_anew, monkeypatch):
    """Its tables have other columns, so a step would read and write anywhere."""
    monkeypatch.setattr(native, "_ABI", -1)
    library, reason = open_anew()
    assert library is None
    assert "is of another version (" in reason
    assert reason.endswith("≠ -1); reinstall")
