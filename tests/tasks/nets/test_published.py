"""At factors 1 the networks are the published ones: their parameters are counted."""

import pytest
import torch

from acprop.tasks.nets import build

CIFAR, IMAGENET, MNIST = (3, 32, 32), (3, 224, 224), (1, 28, 28)

# name, stem, image, classes, parameters. ImageNet: the counts that torchvision lists
# with its weights. CIFAR: those of the adaptations in common use.
PUBLISHED = [
    ("mlp", "cifar", MNIST, 10, 784 * 512 + 512 + 512 * 10 + 10),
    ("vgg11-bn", "cifar", CIFAR, 10, 9_231_114),
    ("resnet18", "imagenet", IMAGENET, 1000, 11_689_512),
    ("resnet34", "imagenet", IMAGENET, 1000, 21_797_672),
    ("resnet18", "cifar", CIFAR, 10, 11_173_962),
    ("resnet34", "cifar", CIFAR, 10, 21_282_122),
    ("densenet121", "cifar", CIFAR, 10, 6_956_298),
    ("wrn-28-10", "cifar", CIFAR, 10, 36_479_194),
    ("wrn-28-10", "cifar", CIFAR, 100, 36_536_884),
]

# layers, k, parameters in millions: the tables of Zagoruyko & Komodakis (2016).
WIDE = [(40, 1, 0.6), (40, 2, 2.2), (40, 4, 8.9), (16, 8, 11.0), (22, 8, 17.2)]


def n_params(net):
    return sum(p.numel() for p in net.parameters())


def draft(name, **options):
    """Shapes without memory: the largest network here has 37 million parameters."""
    with torch.device("meta"):
        return build(name, **options)


@pytest.mark.parametrize(("name", "stem", "image", "n_classes", "count"), PUBLISHED)
def test_the_parameters_are_as_many_as_published(name, stem, image, n_classes, count):
    net = draft(name, n_classes=n_classes, image=image, stem=stem)
    assert n_params(net) == count


@pytest.mark.parametrize(
    ("name", "stem", "image", "n_classes"), [p[:4] for p in PUBLISHED]
)
def test_a_published_network_gives_one_logit_per_class(name, stem, image, n_classes):
    net = draft(name, n_classes=n_classes, image=image, stem=stem)
    logits = net(torch.empty(2, *image, device="meta"))
    assert logits.shape == (2, n_classes)


@pytest.mark.parametrize(("layers", "k", "millions"), WIDE)
def test_the_factors_reach_the_other_wide_networks(layers, k, millions):
    net = draft(
        "wrn-28-10",
        n_classes=10,
        image=CIFAR,
        width=k / 10,
        depth=(layers - 4) / 24,
    )
    assert round(n_params(net) / 1e6, 1) == millions


def test_batch_norm_adds_a_scale_and_a_shift_per_channel_of_vgg():
    plain = draft("vgg11", n_classes=10, image=CIFAR)
    normed = draft("vgg11-bn", n_classes=10, image=CIFAR)
    assert n_params(normed) - n_params(plain) == 2 * (64 + 128 + 2 * 256 + 4 * 512)


# What the stem leaves of the image, and what all blocks leave: the papers' tables.
MAPS = [
    ("resnet18", "cifar", CIFAR, (64, 32, 32), (512, 4, 4)),
    ("resnet34", "imagenet", IMAGENET, (64, 56, 56), (512, 7, 7)),
    ("densenet121", "cifar", CIFAR, (64, 32, 32), (1024, 4, 4)),
]
# The same for networks whose first layer is a layer like the others.
STEMLESS = [
    ("vgg11-bn", "cifar", CIFAR, (512, 1, 1)),
    ("wrn-28-10", "cifar", CIFAR, (640, 8, 8)),
]


@pytest.mark.parametrize(("name", "stem", "image", "first", "last"), MAPS)
def test_stem_and_blocks_leave_the_maps_of_the_paper(name, stem, image, first, last):
    net = draft(name, n_classes=10, image=image, stem=stem)
    begun = net.stem(torch.empty(1, *image, device="meta"))
    assert begun.shape[1:] == first
    assert net.features(begun).shape[1:] == last


@pytest.mark.parametrize(("name", "stem", "image", "last"), STEMLESS)
def test_the_layers_leave_the_map_of_the_paper(name, stem, image, last):
    net = draft(name, n_classes=10, image=image, stem=stem)
    assert net.features(torch.empty(1, *image, device="meta")).shape[1:] == last
