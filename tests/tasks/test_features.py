"""Features: their names, their cache, and that no other network's are ever used."""

import pytest
import torch

from acprop.tasks.extractors import NAMES, extractor
from acprop.tasks.features import Features, features, metric_of, real_gaussian


def images(seed, n=20):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, 3, 32, 32), generator=draw, dtype=torch.uint8)


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """Features that say how often they were computed; the cache they are kept in."""
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    times = []
    asked = extractor("random")
    net = torch.nn.Sequential(asked.net)
    net.register_forward_hook(lambda *_: times.append(1))
    return Features("random", asked._replace(net=net)), times, tmp_path / "features"


def test_only_inception_is_fid():
    assert {metric_of(name) for name in NAMES} == {
        "fid",
        "fd_lite0",
        "fd_lite0_80",
        "fd_resnet50",
        "fd_random",
    }
    assert metric_of("inception") == "fid"


def test_a_real_set_is_measured_once(counted):
    """Kept under a hash of images and network; other images have another file."""
    asked, times, folder = counted
    first = real_gaussian(asked, images(3))
    again = real_gaussian(asked, images(3))
    assert len(times) == 1
    assert torch.equal(first.mean, again.mean)
    assert torch.equal(first.root, again.root)
    real_gaussian(asked, images(4))
    other = asked.asked._replace(identity={"net": "another"})
    real_gaussian(asked._replace(asked=other), images(3))
    assert len(times) == 3
    assert len(list(folder.glob("*.pt"))) == 3


def of_another_network(path):
    kept = torch.load(path, weights_only=True)
    kept["of"] = kept["of"].replace("random", "vgg")
    kept["mean"] += 1
    torch.save(kept, path)


def half_a_file(path):
    path.write_bytes(path.read_bytes()[:100])


def without_a_name(path):
    kept = torch.load(path, weights_only=True)
    torch.save({"mean": kept["mean"] + 1, "root": kept["root"]}, path)


def a_flipped_bit(path):
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 64  # in the exponent of a number
    path.write_bytes(whole)


DAMAGE = [of_another_network, half_a_file, without_a_name, a_flipped_bit]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__)
def test_what_is_not_ours_in_the_cache_is_measured_again_and_replaced(
    counted, damage, capsys
):
    asked, times, folder = counted
    first = real_gaussian(asked, images(3))
    damage(next(folder.glob("*.pt")))
    again = real_gaussian(asked, images(3))
    assert torch.equal(first.mean, again.mean)
    assert torch.equal(first.root, again.root)
    assert "these features are measured again" in capsys.readouterr().err
    real_gaussian(asked, images(3))
    assert len(times) == 2


def test_a_cache_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    (tmp_path / "features").write_text("in the way")
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    assert real_gaussian(features("random"), images(0)).mean.shape == (64,)


def test_an_unknown_network_is_refused():
    with pytest.raises(ValueError, match=r"^features must be one of lite0, .* 'vgg'$"):
        features("vgg")
