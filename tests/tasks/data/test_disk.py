"""Disks that are full and folders that are none."""

import errno
import subprocess

import pytest

from acprop import files
from acprop.tasks.data import fetch, verify

from .tiny import BYTES, PACK, fake_npm, refusal


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A disk of 64 KB; the set is 92 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a small disk")
    monkeypatch.setenv("ACPROP_DATA", str(place))
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_and_left_clean(small_disk, tmp_path, monkeypatch):
    for name, content in BYTES.items():
        (tmp_path / name).write_bytes(content)
    said = refusal(folder=tmp_path)
    assert "No space left on device" in said
    assert "ACPROP_DATA can move" in said
    assert [p.name for p in small_disk.iterdir()] == [".lock-tiny"]
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "larger"))
    fetch("tiny", folder=tmp_path)
    assert verify("tiny") == []


def test_a_full_disk_is_the_reason_that_is_given(tmp_path, monkeypatch):
    """Without a right to mount: the write itself says so."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write", full)
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "bin", PACK))
    assert "npm tiny@1.0.0: [Errno 28] No space left on device" in refusal()


def test_a_cache_that_cannot_be_made_is_an_error_about_the_folder(
    tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "file"))
    assert "the data folder must be one that can be written" in refusal()
