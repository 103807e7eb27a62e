"""Tables 2 and 5 from the files of their data to the page.

ImageNet and CIFAR-100 are not at hand here. Sets of a few images in the same formats
take the same way: fetched from a folder, trained on by the studies, reported.
"""

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from acprop.cli.app import app
from acprop.records import RunRecord, from_json, read
from acprop.tasks.data import sets
from acprop.tasks.data.sets import File

STUDIES = Path(__file__).parents[2] / "studies"
WORDS = ("n01440764", "n01443537", "n02102040")  # as ImageNet names its classes
# The study's own arms and settings, but for the size.
TINY = """
[scales.smoke]
note = "36 pictures of one colour each"
epochs = 2
seeds = [0]
seconds = 1
[scales.smoke.task_settings]
size = 32
batch = 8
width = 0.0625
depth = 0.25
n_validation = 6
n_test = 6
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("ACPROP_DATA_FROM", raising=False)


def acprop(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def imagenet(root):
    """JPEGs of different sizes, 12 and 4 of a class; red, green or blue."""
    draw = np.random.default_rng(0)
    for part, n in (("train", 12), ("val", 4)):
        for colour, word in enumerate(WORDS):
            (root / part / word).mkdir(parents=True)
            for i in range(n):
                pixels = draw.integers(0, 60, (40 + i, 50, 3), dtype=np.uint8)
                pixels[..., colour] += 180
                path = root / part / word / f"{word}_{i}.JPEG"
                Image.fromarray(pixels).save(path, "jpeg")
    return root


@pytest.mark.usefixtures("in_process")
def test_table_2_comes_from_a_folder_of_pictures(tmp_path, monkeypatch):
    text = (STUDIES / "vision/imagenet-resnet18.toml").read_text("utf-8")
    study = tmp_path / "studies" / "vision" / "imagenet-resnet18.toml"
    study.parent.mkdir(parents=True)
    study.write_text(text[: text.index("[scales.")] + TINY, "utf-8")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    given = imagenet(tmp_path / "given")
    acprop("data", "fetch", "imagenet", "--from", given)
    name, out = "vision/imagenet-resnet18", tmp_path / "imagenet.jsonl"
    runs = tmp_path / "runs"
    acprop("bench", "study", name, "--runs", runs, "--jobs", 1, "--out", out)
    found = [record for record in read(out) if isinstance(record, RunRecord)]
    assert {run.status for run in found} == {"done"}
    assert {"acprop", "sgd", "adamw"} <= {run.optimizer for run in found}
    for run in found:
        assert run.data["imagenet"]["origin"] == str(given)
        assert run.data["imagenet"]["n_train"] == 36
        assert run.final["steps"] == 2 * (30 // 8)
        assert run.history[1]["train_loss"] < run.history[0]["train_loss"]
    acprop("report", out, "--out", tmp_path / "page")
    page = (tmp_path / "page" / "study-vision-imagenet-resnet18.html").read_text(
        "utf-8"
    )
    assert "ResNet-18 on ImageNet" in page
    assert f"imagenet (folder: {given})" in page


def cifar100(folder, monkeypatch):
    """The official archive with 6 and 2 images of a class, under their own hashes."""
    draw = np.random.default_rng(0)
    contents = {}
    for name, n in (("train.bin", 600), ("test.bin", 200)):
        fine = np.arange(n, dtype=np.uint8) % 100
        pixels = draw.integers(0, 256, (n, 3072), dtype=np.uint8)
        contents[name] = np.column_stack([fine // 5, fine, pixels]).tobytes()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, content in contents.items():
            info = tarfile.TarInfo(f"cifar-100-binary/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    folder.mkdir()
    (folder / "cifar-100-binary.tar.gz").write_bytes(raw.getvalue())
    known = sets.SETS["cifar100"]
    (archive,) = known.archives
    archive = replace(archive, sha256=hashlib.sha256(raw.getvalue()).hexdigest())
    files = tuple(
        File(name, hashlib.sha256(content).hexdigest(), len(content))
        for name, content in contents.items()
    )
    small = replace(known, files=files, archives=(archive,))
    monkeypatch.setitem(sets.SETS, "cifar100", small)
    return folder


SMALL = "n_train=200 n_validation=100 n_test=100 batch=50 width=0.05 depth=0.25"


def test_table_5_comes_from_the_archive_of_cifar_100(tmp_path, monkeypatch):
    given = cifar100(tmp_path / "given", monkeypatch)
    acprop("data", "fetch", "cifar100", "--from", given)
    task = [word for item in SMALL.split() for word in ("--task", item)]
    study = ("bench", "run", "vision/wrn-avagrad", "--task", "dataset=cifar100", *task)
    runs = ("--runs", tmp_path / "runs", "--json")
    for optimizer, settings in (("avagrad", "eps=0.1"), ("acprop", "lr=1e-3")):
        words = ("--optimizer", optimizer, "--set", settings)
        record = from_json(acprop(*study, *words, *runs))
        assert record.status == "done"
        assert record.data["cifar100"]["origin"] == str(given)
        assert record.final["steps"] % (200 // 50) == 0
        # 100 classes and pixels at random: a guess costs ln 100 = 4.6 nats.
        assert 4 < record.history[0]["train_loss"] < 6


def test_an_archive_of_cifar_100_with_another_byte_is_refused(tmp_path, monkeypatch):
    given = cifar100(tmp_path / "given", monkeypatch)
    archive = given / "cifar-100-binary.tar.gz"
    archive.write_bytes(archive.read_bytes()[:-1] + b"\x07")
    words = ["data", "fetch", "cifar100", "--from", str(given)]
    error = CliRunner().invoke(app, words).exception
    assert "cifar-100-binary.tar.gz must have sha256" in str(error)
    rows = acprop("data", "list", "--json").splitlines()
    present = {row["name"]: row["present"] for row in map(json.loads, rows)}
    assert not present["cifar100"]
