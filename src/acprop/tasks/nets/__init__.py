"""The paper's vision networks, by name.

`build` gives a published network at factors 1 and smaller ones below. A BatchNorm's
running statistics are buffers, so `state_dict` holds all that a checkpoint needs.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import nn

from acprop import checks
from acprop.checks import UserError
from acprop.tasks.nets.densenet import DenseNet121
from acprop.tasks.nets.mlp import MLP
from acprop.tasks.nets.plan import Image, Plan, Stem
from acprop.tasks.nets.resnet import BLOCKS_18, BLOCKS_34, ResNet
from acprop.tasks.nets.vgg import VGG11
from acprop.tasks.nets.wide_resnet import WideResNet

__all__ = ["NETS", "Image", "Net", "Plan", "Stem", "build"]


class Net(NamedTuple):
    """One network that can be built, and its limits.

    smallest: the least height and width of which its pooling layers leave a pixel.
    """

    make: Callable[[Plan], nn.Module]
    smallest: int = 1
    stems: tuple[Stem, ...] = ("cifar",)
    scales_depth: bool = True


NETS = {
    "mlp": Net(MLP, scales_depth=False),
    "vgg11": Net(partial(VGG11, batch_norm=False), 32, scales_depth=False),
    "vgg11-bn": Net(partial(VGG11, batch_norm=True), 32, scales_depth=False),
    "resnet18": Net(partial(ResNet, blocks=BLOCKS_18), stems=("cifar", "imagenet")),
    "resnet34": Net(partial(ResNet, blocks=BLOCKS_34), stems=("cifar", "imagenet")),
    "densenet121": Net(DenseNet121, 8),
    "wrn-28-10": Net(WideResNet),
}


def build(
    name: str,
    *,
    n_classes: int,
    image: Image,
    stem: Stem = "cifar",
    width: float = 1.0,
    depth: float = 1.0,
) -> nn.Module:
    """Build a network, its weights drawn from torch's global generator.

    image: (channels, height, width) of what it will see. stem: for small images or for
    ImageNet's. width, depth: factors on channels and on blocks per stage, see `Plan`.
    """
    net = NETS[checks.one_of("net", name, NETS)]
    checks.one_of(f"stem of {name}", stem, net.stems)
    checks.positive("width", width)
    if checks.positive("depth", depth) != 1 and not net.scales_depth:
        raise UserError(
            f"depth must be 1 for {name}, whose layers are fixed, got {depth}; "
            "use width"
        )
    if min(image[1:]) < net.smallest:
        raise UserError(
            f"image must be at least {net.smallest}×{net.smallest} for {name}, got "
            f"{image[1]}×{image[2]}, of which its pooling layers would leave nothing; "
            "enlarge it with size"
        )
    return net.make(Plan(n_classes, image, stem, width, depth))
