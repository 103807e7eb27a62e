"""Features: the networks, their weights, their cache; no other network's are used."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import acprop.tasks.features as module
from acprop.tasks.data import DataError, describe, fetch
from acprop.tasks.features import NAMES, features, fold, metric_of, real_gaussian
from acprop.tasks.nets.inception import Inception
from acprop.tasks.nets.lite0 import Lite0

from .small_features import small_features


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


SIDES = {"lite0": (Lite0, 32), "inception": (Inception, 75)}


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


# torchvision's inception_v3 has 27,161,264, of which 3,326,696 in a second classifier.
SIZES = {
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
    (file,) = describe("inception").files
    given = tmp_path / "given"
    given.mkdir()
    torch.save(net.state_dict(), given / file.name)
    with pytest.raises(DataError, match=r"must have sha256 6726825d0af5"):
        fetch("inception", folder=given, progress=False)
    content = (given / file.name).read_bytes()
    known = type(file)(file.name, hashlib.sha256(content).hexdigest(), len(content))
    sets = {"inception": remade("inception", files=(known,))}
    monkeypatch.setattr("acprop.tasks.data.sets.SETS", sets)
    fetch("inception", folder=given, progress=False)
    made = features("inception")
    assert made.identity["weights"] == known.sha256
    images = torch.arange(256).byte().repeat(12).view(1, 3, 32, 32)
    prepared = made.ready(images)
    assert prepared.shape == (1, 3, 299, 299)
    assert (prepared.min(), prepared.max()) == (-1, 1)
    with torch.no_grad():
        expected, found = net(prepared), made.net(prepared)
    assert found.shape == (1, 2048)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    cached = tmp_path / "cache" / "inception" / file.name
    cached.write_bytes(content[:-1] + b"?")
    with pytest.raises(DataError, match="inception must come from one of its sources"):
        features("inception")


def remade(name, **changes):
    return replace(describe(name), addresses=(), package=None, **changes)


def test_weights_that_were_damaged_in_the_cache_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    data = remade("efficientnet-lite0")
    monkeypatch.setattr("acprop.tasks.data.sets.SETS", {data.name: data})
    folder = tmp_path / data.name
    folder.mkdir()
    (folder / data.files[0].name).write_bytes(b"damaged")
    (folder / "source.json").write_text('{"origin": "here"}')
    with pytest.raises(DataError, match="efficientnet-lite0 must come from one of its"):
        features("lite0")


def test_lite0_prepares_images_as_in_training(monkeypatch):
    monkeypatch.setattr(module, "fetch", lambda *_, **__: Path())
    state = Lite0().state_dict()
    monkeypatch.setattr(torch, "load", lambda *_, **__: state)
    made = features("lite0_80")
    grey = made.ready(torch.full((1, 3, 32, 32), 127, dtype=torch.uint8))
    assert grey.shape == (1, 3, 64, 64)
    assert grey.abs().max() == 0
    assert made.identity["stages"] == 4
    assert made.net(grey).shape == (1, 80)


def images(seed, n=16):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, 3, 32, 32), generator=draw, dtype=torch.uint8)


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """Features that say how often they were computed; the cache they are kept in."""
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    times = []
    found = small_features()
    net = torch.nn.Sequential(found.net)
    net.register_forward_hook(lambda *_: times.append(1))
    return found._replace(net=net), times, tmp_path / "features"


def test_only_inception_is_fid():
    assert {metric_of(name) for name in NAMES} == {
        "fid",
        "fd_lite0",
        "fd_lite0_80",
    }
    assert metric_of("inception") == "fid"


def test_a_real_set_is_measured_once(counted):
    """Kept under a hash of images and network; other images have another file."""
    found, times, folder = counted
    first = real_gaussian(found, images(3))
    again = real_gaussian(found, images(3))
    assert len(times) == 1
    assert torch.equal(first.mean, again.mean)
    assert torch.equal(first.root, again.root)
    real_gaussian(found, images(4))
    real_gaussian(found._replace(identity={"net": "another"}), images(3))
    assert len(times) == 3
    assert len(list(folder.glob("*.pt"))) == 3


def half_a_file(path):
    path.write_bytes(path.read_bytes()[:100])


def a_flipped_bit(path):
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 64  # in the exponent of a number
    path.write_bytes(whole)


DAMAGE = [half_a_file, a_flipped_bit]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__)
def test_what_is_damaged_in_the_cache_is_measured_again_and_replaced(
    counted, damage, capsys
):
    found, times, folder = counted
    first = real_gaussian(found, images(3))
    damage(next(folder.glob("*.pt")))
    again = real_gaussian(found, images(3))
    assert torch.equal(first.mean, again.mean)
    assert torch.equal(first.root, again.root)
    assert "it is made again" in capsys.readouterr().err
    real_gaussian(found, images(3))
    assert len(times) == 2


def test_a_cache_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    (tmp_path / "features").write_text("in the way")
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    assert real_gaussian(small_features(), images(0)).mean.shape == (64,)


def test_an_unknown_network_is_refused():
    with pytest.raises(ValueError, match=r"^features must be one of lite0, .* 'vgg'$"):
        features("vgg")
