"""ImageNet's layout, with four small pictures."""

import math
import shutil

import pytest
import torch
from PIL import Image

from acprop.tasks.data import DataError, fetch, is_present, source_of, verify
from acprop.tasks.data.folders import listing
from acprop.tasks.data.images import load
from acprop.tasks.data.pictures import (
    Boxes,
    draw_boxes,
    listed,
    middle,
    random_box,
)

CLASSES = ("n01440764", "n01443537")


@pytest.fixture
def imagenet(tmp_path):
    """Red pictures in one class, blue in the other; two to train, one to test."""
    root = tmp_path / "imagenet"
    for part, n in (("train", 2), ("val", 1)):
        for name, colour in zip(CLASSES, ("red", "blue"), strict=True):
            folder = root / part / name
            folder.mkdir(parents=True)
            (folder / "notes.txt").write_text("no picture")
            for i in range(n):
                Image.new("RGB", (60, 40), colour).save(folder / f"{name}_{i}.JPEG")
    return root


def test_a_folder_is_remembered_not_copied(imagenet, cache):
    fetch("imagenet", folder=imagenet)
    assert is_present("imagenet")
    assert [p.name for p in (cache / "imagenet").iterdir()] == ["source.json"]
    source = source_of("imagenet")
    assert (source["n_classes"], source["n_train"], source["n_val"]) == (2, 4, 2)
    assert source["origin"] == str(imagenet)
    assert verify("imagenet") == []
    assert fetch("imagenet") == cache / "imagenet"


def test_labels_are_the_classes_in_the_order_of_their_names(imagenet):
    fetch("imagenet", folder=imagenet)
    images = load("imagenet", size=32)
    assert images.train_y.tolist() == [0, 0, 1, 1]
    assert images.test_y.tolist() == [0, 1]
    assert images.n_classes == 2
    x = images.train_x.read(torch.tensor([0, 3]))
    assert x.shape == (2, 3, 32, 32)
    assert x[:, :, 16, 16].argmax(1).tolist() == [0, 2]


def test_the_order_does_not_come_from_the_disk(tmp_path):
    names = [f"n{i * 7919 % 1000:03}" for i in range(50)]
    for name in names:
        (tmp_path / name).mkdir()
        for picture in ("b.png", "a.png", "c.png"):
            (tmp_path / name / picture).write_bytes(b"")
    pictures = ["a.png", "b.png", "c.png"]
    assert listing(tmp_path) == [(name, pictures) for name in sorted(names)]


def test_a_picture_that_is_gone_is_found(imagenet):
    fetch("imagenet", folder=imagenet)
    next((imagenet / "train" / CLASSES[0]).glob("*.JPEG")).unlink()
    assert any(
        "must have n_train 4, got 3" in problem for problem in verify("imagenet")
    )


def test_a_folder_that_is_gone_is_found(imagenet):
    fetch("imagenet", folder=imagenet)
    shutil.rmtree(imagenet)
    assert not is_present("imagenet")
    assert "got no" in verify("imagenet")[0]


@pytest.mark.parametrize(
    ("harm", "match"),
    [
        (lambda root: shutil.rmtree(root / "val"), "folder must have train/ and val/"),
        (lambda root: shutil.rmtree(root / "val" / CLASSES[1]), "the same classes"),
        (
            lambda root: (root / "val" / CLASSES[1] / f"{CLASSES[1]}_0.JPEG").unlink(),
            f"every class must have pictures, got none in val/{CLASSES[1]}",
        ),
    ],
)
def test_another_layout_is_refused(harm, match, imagenet):
    harm(imagenet)
    with pytest.raises(ValueError, match=match):
        fetch("imagenet", folder=imagenet)


def test_imagenet_must_be_given():
    with pytest.raises(DataError, match="run acprop data fetch imagenet --from FOLDER"):
        fetch("imagenet")


def test_the_environment_may_give_it(imagenet, monkeypatch):
    monkeypatch.setenv("ACPROP_DATA_FROM", str(imagenet))
    fetch("imagenet")
    assert is_present("imagenet")


@pytest.fixture
def gradient(tmp_path):
    """One picture, dark on the left and bright on the right."""
    folder = tmp_path / "one" / "class"
    folder.mkdir(parents=True)
    ramp = Image.linear_gradient("L").rotate(90).resize((256, 128))
    ramp.convert("RGB").save(folder / "ramp.png")
    return lambda size: listed(tmp_path / "one", size)[0]


def test_a_flip_is_a_mirror(gradient):
    numbers = torch.full((2, 10, 4), 0.5)
    boxes = Boxes(numbers, torch.tensor([False, True]))
    straight, mirrored = gradient(32).read(torch.tensor([0, 0]), boxes)
    assert torch.equal(straight, mirrored.flip(-1))
    assert not torch.equal(straight, mirrored)


def test_a_part_of_the_rows_is_read_as_among_all(gradient):
    rows = torch.zeros(8, dtype=torch.long)
    boxes = draw_boxes(8, generator=torch.Generator().manual_seed(0))
    whole = gradient(24).read(rows, boxes)
    assert not torch.equal(whole[0], whole[1])
    half = slice(4, 8)
    part = gradient(24).read(rows[half], boxes.take(half))
    assert torch.equal(part, whole[half])


def test_the_middle_is_seven_eighths_of_the_short_side():
    """Scaling the short side to 256 and cutting 224 out of the middle is the same."""
    assert middle(512, 256, share=7 / 8) == (144, 16, 368, 240)
    assert middle(100, 300) == (0, 100, 100, 200)


def test_random_boxes_fit_and_have_their_area_and_shape():
    boxes = draw_boxes(2000, generator=torch.Generator().manual_seed(0))
    found = [random_box(500, 375, tries) for tries in boxes.numbers.tolist()]
    areas = [(r - left) * (low - top) / (500 * 375) for left, top, r, low in found]
    ratios = [math.log((r - left) / (low - top)) for left, top, r, low in found]
    assert all(0 <= left < r <= 500 for left, _, r, _ in found)
    assert all(0 <= top < low <= 375 for _, top, _, low in found)
    assert 0.07 < min(areas) < 0.1
    assert 0.9 < max(areas) <= 1
    assert max(map(abs, ratios)) < math.log(4 / 3) + 0.02
    assert min(ratios) < -0.25


def test_without_a_box_the_middle_is_read(gradient):
    """112 is 7/8 of 128, so that nothing has to be scaled."""
    with Image.open(gradient(112).files[0]) as picture:
        expected = torch.tensor(list(picture.crop((72, 8, 184, 120)).tobytes()))
    found = gradient(112).read(torch.tensor([0]))[0]
    assert found.permute(1, 2, 0).flatten().tolist() == expected.tolist()


def test_a_picture_that_no_box_fits_gives_its_middle():
    all_of_it = [[0.999, 0.5, 0.0, 0.0]] * 10
    assert random_box(1000, 10, all_of_it) == middle(1000, 10)
