"""Every network of the register, small: it learns, scales, repeats and is saved."""

import random

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from acprop.tasks.nets import NETS, build

CIFAR = (3, 32, 32)
# One small network per name and stem.
SMALL = {
    "mlp": {"width": 0.125},
    "vgg11": {"width": 0.125},
    "vgg11-bn": {"width": 0.125},
    "resnet18": {"width": 0.125, "depth": 0.5},
    "resnet34": {"width": 0.125, "depth": 0.34},
    "densenet121": {"width": 0.25, "depth": 0.1},
    "wrn-28-10": {"width": 0.1, "depth": 0.5},
}
CASES = [(name, stem) for name, net in NETS.items() for stem in net.stems]
NORMED = [case for case in CASES if case[0] not in ("mlp", "vgg11")]
DEPTHS = [name for name, net in NETS.items() if net.scales_depth]


def small(name, stem="cifar", *, seed=0, image=CIFAR, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(
            name, n_classes=10, image=image, stem=stem, **SMALL[name] | options
        )


def draft(name, **factors):
    with torch.device("meta"):
        return build(name, n_classes=10, image=CIFAR, **factors)


def batch(n=8, image=CIFAR):
    return torch.randn(n, *image, generator=torch.Generator().manual_seed(1))


def n_params(net):
    return sum(p.numel() for p in net.parameters())


def test_every_network_has_a_small_case():
    assert list(SMALL) == list(NETS)


@pytest.mark.parametrize(("name", "stem"), CASES)
def test_a_gradient_reaches_every_parameter(name, stem):
    # 64 pixels: at 32 the stems for ImageNet leave one, and a BatchNorm over few
    # numbers may leave a rectifier dead.
    image = (3, 64, 64)
    net = small(name, stem, image=image)
    labels = torch.arange(8) % 10
    cross_entropy(net(batch(image=image)), labels).backward()
    silent = {
        n for n, p in net.named_parameters() if p.grad is None or not p.grad.any()
    }
    assert silent == set()


@pytest.mark.parametrize("name", NETS)
def test_a_few_steps_lower_the_loss(name):
    net, images, labels = small(name), batch(), torch.arange(8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    losses = []
    for _ in range(8):
        loss = cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.95 * losses[0]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(("name", "stem"), NORMED)
def test_channels_last_gives_the_same_logits(name, stem, training):
    net = small(name, stem, image=(3, 64, 64)).train(training)
    images = batch(image=(3, 64, 64))
    expected = net(images)
    net.to(memory_format=torch.channels_last)
    logits = net(images.to(memory_format=torch.channels_last))
    torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-4)


def test_the_same_seed_gives_the_same_weights():
    """Python's own generator has no say; another seed of torch's has."""
    for name in NETS:
        random.seed(1)
        first = small(name, seed=3).state_dict()
        random.seed(2)
        again = small(name, seed=3).state_dict()
        other = small(name, seed=4).state_dict()
        weight = next(k for k in first if k.endswith("weight"))
        assert all(torch.equal(first[k], again[k]) for k in first)
        assert not torch.equal(first[weight], other[weight])


@pytest.mark.parametrize(("name", "stem"), CASES)
def test_the_weights_start_with_the_variance_of_the_fan(name, stem):
    """He et al. (2015), eq. 10; the classifier without the rectifier's 2."""
    net = small(name, stem, width=0.5)
    layers = [m for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    inner = [m.weight for m in layers if m is not net.classifier]
    scaled = torch.cat([(w * (w[0].numel() / 2) ** 0.5).flatten() for w in inner])
    last = net.classifier.weight * net.classifier.in_features**0.5
    assert scaled.std().item() == pytest.approx(1, abs=0.03)
    assert last.std().item() == pytest.approx(1, abs=0.15)
    assert not any(m.bias.any() for m in layers if m.bias is not None)


def test_plain_vgg_keeps_the_scale_of_its_signal():
    """Without BatchNorm nothing but the initial weights can keep it."""
    net = small("vgg11", width=0.5)
    assert 0.3 < net(batch(64)).std().item() < 3


@pytest.mark.parametrize("name", NETS)
def test_a_wider_network_is_larger(name):
    counts = [n_params(draft(name, width=w)) for w in (0.25, 0.5, 1.0, 1.5)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("name", DEPTHS)
def test_a_deeper_network_is_larger(name):
    counts = [n_params(draft(name, depth=d)) for d in (0.5, 1.0, 1.5)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("name", NETS)
def test_no_layer_is_narrower_than_eight_channels(name):
    net = draft(name, width=1e-9)
    outs = [m.out_channels for m in net.modules() if isinstance(m, nn.Conv2d)]
    assert min(outs, default=8) == 8
    assert net.classifier.in_features >= 8


@pytest.mark.parametrize("name", DEPTHS)
def test_no_stage_is_without_a_block(name):
    stages = {"wrn-28-10": 3}.get(name, 4)
    net = draft(name, depth=1e-9)
    blocks = [m for m in net.features if type(m).__name__ in ("_Block", "_Layer")]
    assert len(blocks) == stages


@pytest.mark.parametrize("name", NETS)
def test_a_state_dict_restores_the_network(name):
    net = small(name, seed=0)
    net(batch())  # moves the running statistics off their start
    other = small(name, seed=1)
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other.eval()(batch()), net.eval()(batch()))


@pytest.mark.parametrize(("name", "stem"), CASES)
def test_the_smallest_image_passes(name, stem):
    side = NETS[name].smallest
    net = small(name, stem, image=(1, side, side)).eval()
    assert net(batch(2, (1, side, side))).shape == (2, 10)


@pytest.mark.parametrize("name", ["vgg11-bn", "resnet18", "densenet121", "wrn-28-10"])
def test_an_oblong_gray_image_passes(name):
    net = small(name, image=(1, 48, 33))
    assert net(batch(2, (1, 48, 33))).shape == (2, 10)
