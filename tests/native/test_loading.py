"""A library that is there and cannot be used: the reason is told, nothing crashes."""

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
    monkeypatch.setattr(native, "PATH", broken)
    monkeypatch.setenv(native.SWITCH, "1")
    library, reason = open_anew()
    assert library is None
    assert reason.startswith("_native.so cannot be loaded (")
    assert reason.endswith("; reinstall acprop")


@needs_native
def test_a_library_of_another_version_is_refused(open_anew, monkeypatch):
    """Its tables have other columns, so a step would read and write anywhere."""
    monkeypatch.setattr(native, "_ABI", -1)
    library, reason = open_anew()
    assert library is None
    assert "is of another version (" in reason
    assert reason.endswith("≠ -1); reinstall")
