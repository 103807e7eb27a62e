"""Networks of others: their layers, their weights, their folded BatchNorms."""

import copy
import hashlib
import json
import struct

import pytest
import torch

from acprop.tasks import extractors
from acprop.tasks.data import DataError, fetch, load
from acprop.tasks.data.dataset import Dataset
from acprop.tasks.data.weights import INCEPTION, LITE0
from acprop.tasks.extractors import extractor, fold
from acprop.tasks.nets.inception import Inception
from acprop.tasks.nets.lite0 import Lite0
from acprop.tasks.nets.resnet50 import ResNet50, state_from_keras


def drawn(net, seed=0):
    """The same network with numbers that no BatchNorm begins with."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in net.state_dict().items():
            if name.endswith(("running_var", "bn.weight")) or ".bn" in name:
                value.copy_(torch.rand(value.shape, generator=draw) + 0.5)
            elif name.endswith("running_mean"):
                value.copy_(torch.randn(value.shape, generator=draw) / 10)
    return net.eval().requires_grad_(False)


SIDES = {"lite0": (Lite0, 32), "resnet50": (ResNet50, 32), "inception": (Inception, 75)}


@pytest.mark.parametrize("name", SIDES)
def test_folding_the_norms_changes_no_feature(name):
    make, side = SIDES[name]
    net = drawn(make())
    x = torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(1))
    expected = net(x.clone())
    fold(net)
    assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in net.modules())
    scale = expected.abs().max().item()
    torch.testing.assert_close(net(x), expected, rtol=1e-3, atol=1e-4 * scale)


def n_of(net):
    return sum(p.numel() for p in net.parameters())


# Keras's summary says 25,636,712, of which 53,120 are running means and variances;
# torchvision's inception_v3 has 27,161,264, of which 3,326,696 in a second classifier.
SIZES = {
    ResNet50: 25_636_712 - 53_120,
    Inception: 27_161_264 - 3_326_696 + 8 * (2048 + 1),
    Lite0: 4_652_008 - 1000 * (1280 + 1),
}


@pytest.mark.parametrize("make", SIZES, ids=lambda make: make.__name__)
def test_they_have_the_published_number_of_parameters(make):
    with torch.device("meta"):
        assert n_of(make()) == SIZES[make]


def test_the_stages_of_lite0_end_with_their_channels():
    with torch.device("meta"):
        sizes = [Lite0(n)(torch.empty(1, 3, 64, 64)).shape[1] for n in (3, 4, 7, None)]
    assert sizes == [40, 80, 320, 1280]


# As the file of pytorch-fid names them; a 1×7 kernel comes before a 7×1 one.
INCEPTION_SHAPES = {
    "Conv2d_1a_3x3.conv.weight": (32, 3, 3, 3),
    "Conv2d_4a_3x3.bn.running_var": (192,),
    "Mixed_5b.branch_pool.conv.weight": (32, 192, 1, 1),
    "Mixed_5d.branch5x5_2.conv.weight": (64, 48, 5, 5),
    "Mixed_6a.branch3x3dbl_3.bn.weight": (96,),
    "Mixed_6b.branch7x7_2.conv.weight": (128, 128, 1, 7),
    "Mixed_6e.branch7x7dbl_4.conv.weight": (192, 192, 7, 1),
    "Mixed_7a.branch7x7x3_4.conv.weight": (192, 192, 3, 3),
    "Mixed_7b.branch1x1.conv.weight": (320, 1280, 1, 1),
    "Mixed_7c.branch3x3dbl_3b.conv.weight": (384, 384, 3, 1),
    "Mixed_7c.branch_pool.bn.num_batches_tracked": (),
    "fc.weight": (1008, 2048),
    "fc.bias": (1008,),
}


def test_inception_has_the_names_and_shapes_of_its_file():
    with torch.device("meta"):
        state = Inception().state_dict()
    assert len(state) == 6 * 94 + 2  # 94 convolutions, each with a BatchNorm
    found = {name: tuple(state[name].shape) for name in INCEPTION_SHAPES}
    assert found == INCEPTION_SHAPES


def test_only_the_last_block_of_inception_takes_a_maximum():
    """A map with one bright pixel in a corner: a mean over it divides by 4, not 9."""
    net = Inception().eval()
    x = torch.zeros(1, 1280, 4, 4)
    x[0, 0, 0, 0] = 8.0
    seen = []
    for block, width in ((net.Mixed_7b, 1280), (net.Mixed_7c, 2048)):
        block.branch_pool.register_forward_hook(lambda _, given, __: seen.append(given))
        with torch.no_grad():
            block(torch.nn.functional.pad(x, (0, 0, 0, 0, 0, width - 1280)))
    (mean,), (maximum,) = seen
    assert mean[0, 0, 0, 0].item() == 2.0
    assert maximum[0, 0, 0, 0].item() == maximum[0, 0, 1, 1].item() == 8.0


def test_inception_reads_a_file_in_the_format_of_the_official_one(
    monkeypatch, tmp_path
):
    """Random weights: the real file cannot be had here, and was never loaded."""
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    torch.manual_seed(0)
    net = drawn(Inception())
    (file,) = INCEPTION.files
    given = tmp_path / "given"
    given.mkdir()
    torch.save(net.state_dict(), given / file.name)
    with pytest.raises(DataError, match=r"must have sha256 6726825d0af5"):
        fetch("inception", folder=given, progress=False)
    found = (given / file.name).read_bytes()
    known = type(file)(file.name, hashlib.sha256(found).hexdigest(), len(found))
    sets = {"inception": remade(INCEPTION, files=(known,))}
    monkeypatch.setattr("acprop.tasks.data.sets.SETS", sets)
    fetch("inception", folder=given, progress=False)
    made = extractor("inception")
    assert made.identity["weights"] == known.sha256
    images = torch.arange(256).byte().repeat(12).view(1, 3, 32, 32)
    prepared = made.ready(images)
    assert prepared.shape == (1, 3, 299, 299)
    assert (prepared.min(), prepared.max()) == (-1, 1)
    with torch.no_grad():
        expected, features = net(prepared), made.net(prepared)
    assert features.shape == (1, 2048)
    torch.testing.assert_close(features, expected, rtol=1e-3, atol=1e-4)
    cached = tmp_path / "cache" / "inception" / file.name
    cached.write_bytes(found[:-1] + b"?")
    with pytest.raises(DataError, match="inception must come from one of its sources"):
        extractor("inception")


def remade(data: Dataset, **changes):
    kept = {name: getattr(data, name) for name in Dataset.__dataclass_fields__}
    return Dataset(**{**kept, "official": (), "package": None, **changes})


def test_weights_that_were_damaged_in_the_cache_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    sets = {LITE0.name: remade(LITE0)}
    monkeypatch.setattr("acprop.tasks.data.sets.SETS", sets)
    folder = tmp_path / LITE0.name
    folder.mkdir()
    (folder / LITE0.files[0].name).write_bytes(b"damaged")
    (folder / "source.json").write_text('{"origin": "here"}')
    with pytest.raises(DataError, match="efficientnet-lite0 must come from one of its"):
        extractor("lite0")


def test_keras_weights_are_found_by_name_and_turned():
    """Two layers by hand: (height, width, in, out) becomes (out, in, height, width)."""
    entries = [
        {"name": "a/kernel", "shape": [1, 2, 3, 1], "dtype": "float32"},
        {"name": "b/moving_mean", "shape": [2], "dtype": "float32"},
        {"name": "c/kernel", "shape": [2, 3], "dtype": "float32"},
    ]
    description = json.dumps({"weightsManifest": [{"weights": entries, "paths": []}]})
    numbers = struct.pack("<14f", *range(14))
    state = state_from_keras(description, numbers)
    assert state["a.weight"].shape == (1, 3, 1, 2)
    assert state["a.weight"][0, :, 0, 1].tolist() == [3, 4, 5]
    assert state["b.running_mean"].tolist() == [6, 7]
    assert state["c.weight"].tolist() == [[8, 11], [9, 12], [10, 13]]
    with pytest.raises(ValueError, match=r"must be 14 numbers, .* got 13$"):
        state_from_keras(description, numbers[:-4])


DOGS = range(151, 269)  # of ImageNet's classes


@pytest.mark.slow
@pytest.mark.usefixtures("cifar10")
def test_resnet50_knows_a_dog_from_a_ship():
    """Photographs of 32×32, enlarged to 224: most dogs are dogs, and no ship is one."""
    try:
        fetch("resnet50", progress=False)
    except DataError as error:
        pytest.skip(str(error))
    made = extractor("resnet50")
    images = load("cifar10")
    shares = []
    for kind in (5, 8):
        x = images.test_x[images.test_y == kind][:16]
        logits = made.net.fc1000(made.net(made.ready(x)))
        shares.append(sum(int(i) in DOGS for i in logits.argmax(1)) / 16)
    assert shares[0] > 0.5
    assert shares[1] < 0.2


def test_lite0_prepares_images_as_in_training(monkeypatch):
    monkeypatch.setattr(extractors, "_file", lambda _: ("", ""))
    net = Lite0(3)
    state = {**Lite0().state_dict(), **net.state_dict()}
    monkeypatch.setattr(torch, "load", lambda *_, **__: copy.deepcopy(state))
    made = extractors._lite0(3)
    grey = made.ready(torch.full((1, 3, 32, 32), 127, dtype=torch.uint8))
    assert grey.shape == (1, 3, 64, 64)
    assert grey.abs().max() == 0
    assert made.identity["stages"] == 3
