"""Archives to files: the layouts of the packages, on a small set."""

import gzip
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from acprop.tasks.data.convert import pack_cifar10, read_plain, unpack
from acprop.tasks.data.dataset import Archive, DataError, File
from acprop.tasks.data.sets import FASHION

from .tiny import BYTES, IMAGES, LABELS, NAMES, NPM, OFFICIAL, png, sha256, tgz, tiny

PICTURES = Archive("tiny-1.0.0.tgz", "pictures", "package")


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
    archive = Archive("tiny.tar.gz", "tar", "cifar-10-batches-bin")
    assert list(unpack(path, archive, tiny())) == []
    path.write_bytes(OFFICIAL)
    assert dict(unpack(path, archive, tiny())) == BYTES


def labels(n):
    return {
        "package/train_lables.json": json.dumps([0] * n).encode(),
        "package/test_lables.json": json.dumps([0] * 5).encode(),
    }


def wide():
    out = io.BytesIO()
    Image.fromarray(np.zeros((5, 1000, 3), np.uint8)).save(out, "png")
    return out.getvalue()


def pictures(content):
    names = [name.replace(".bin", ".png") for name in BYTES]
    return {f"package/{name}": content for name in names}


@pytest.mark.parametrize(
    ("members", "match"),
    [
        (pictures(wide()) | labels(25), "a picture must be 1024 pixels wide, got 1000"),
        (pictures(png(IMAGES[0])) | labels(24), "labels must be 5, got 4"),
        (pictures(png(IMAGES[0])), "must hold pictures and labels"),
        (labels(25), "must hold pictures and labels"),
    ],
)
def test_pictures_of_another_kind_are_refused(members, match, tmp_path):
    path = tmp_path / "tiny-1.0.0.tgz"
    path.write_bytes(tgz(members))
    with pytest.raises(DataError, match=match):
        list(unpack(path, PICTURES, tiny()))


SHARDS = Archive("net.tgz", "shards", "package/net")
PIECES = {"package/net/b-2": b"second", "package/net/b-1": b"first "}


def description(*pieces):
    return json.dumps({"weightsManifest": [{"paths": pieces, "weights": []}]}).encode()


def net():
    return replace(tiny(), files=(File("model.json"), File("weights.bin")))


def test_the_pieces_of_a_network_are_put_together_in_the_order_of_its_description(
    tmp_path,
):
    path, told = tmp_path / "net.tgz", description("b-1", "b-2")
    path.write_bytes(tgz({**PIECES, "package/net/model.json": told}))
    found = dict(unpack(path, SHARDS, net()))
    assert found == {"model.json": told, "weights.bin": b"first second"}


@pytest.mark.parametrize(
    ("members", "match"),
    [
        (PIECES, r"net.tgz must hold model.json, got none"),
        (
            {**PIECES, "package/net/model.json": description("b-1", "b-3")},
            r"net.tgz must hold b-3, got none",
        ),
    ],
)
def test_a_network_without_all_of_its_pieces_is_refused(members, match, tmp_path):
    path = tmp_path / "net.tgz"
    path.write_bytes(tgz(members))
    with pytest.raises(DataError, match=match):
        dict(unpack(path, SHARDS, net()))


def test_gzip_is_known_by_its_first_bytes_not_by_its_name(tmp_path):
    path = tmp_path / "labels.gz"
    path.write_bytes(b"unpacked on the way")
    assert read_plain(path) == b"unpacked on the way"
    path.write_bytes(gzip.compress(b"packed"))
    assert read_plain(path) == b"packed"


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb here")
def test_a_debian_package_gives_its_gzipped_files(tmp_path):
    root = tmp_path / "root"
    inside = root / "usr/share/datasets/fashion-mnist"
    inside.mkdir(parents=True)
    content = {file.name: file.name.encode() * 9 for file in FASHION.files}
    for name, some in content.items():
        (inside / f"{name}.gz").write_bytes(gzip.compress(some))
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: dataset-fashion-mnist\nVersion: 1-1\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: small\n"
    )
    path = tmp_path / "dataset-fashion-mnist_1-1_all.deb"
    build = ["dpkg-deb", "--root-owner-group", "-b", str(root), str(path)]
    subprocess.run(build, check=True, capture_output=True)
    files = tuple(File(n, sha256(b), len(b)) for n, b in content.items())
    found = unpack(path, FASHION.package.archive, replace(FASHION, files=files))
    assert dict(found) == content


def test_a_wheel_gives_the_files_of_the_set_and_no_others(tmp_path):
    path = tmp_path / "tiny-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny/__init__.py", "raise SystemExit")
        for name in NAMES[:2]:
            wheel.writestr(f"tiny/models/{name}", BYTES[name])
    found = dict(unpack(path, Archive(path.name, "zip", "tiny/models"), tiny()))
    assert found == {name: BYTES[name] for name in NAMES[:2]}
