"""The paper's vision networks, by name.

`build` gives a published network at factors 1 and smaller ones below; an option that a
network has no use for is refused. A BatchNorm's running statistics are buffers, so
`state_dict` holds all that a checkpoint needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

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


@dataclass(frozen=True, slots=True)
class Net:
    """One network that can be built, and its limits.

    smallest: for each stem it has, the least height and width of which its pooling
        layers leave a pixel; padded strides round up and need 1.
    dropout: for each stem with places for dropout, the rate its paper trains with.
    """

    name: str
    make: Callable[[Plan], nn.Module]
    smallest: Mapping[Stem, int]
    scales_depth: bool = True
    dropout: Mapping[Stem, float] = field(default_factory=dict[Stem, float])


NETS: dict[str, Net] = {
    net.name: net
    for net in (
        Net("mlp", MLP, {"cifar": 1}, scales_depth=False),
        Net(
            "vgg11",
            partial(VGG11, batch_norm=False),
            {"cifar": 32, "imagenet": 32},
            scales_depth=False,
            dropout={"imagenet": 0.5},
        ),
        Net(
            "vgg11-bn",
            partial(VGG11, batch_norm=True),
            {"cifar": 32, "imagenet": 32},
            scales_depth=False,
            dropout={"imagenet": 0.5},
        ),
        Net("resnet18", partial(ResNet, blocks=BLOCKS_18), {"cifar": 1, "imagenet": 1}),
        Net("resnet34", partial(ResNet, blocks=BLOCKS_34), {"cifar": 1, "imagenet": 1}),
        Net(
            "densenet121",
            DenseNet121,
            # The stem for ImageNet rounds up twice: 29 → 15 → 8, then three halvings.
            {"cifar": 8, "imagenet": 29},
            dropout={"cifar": 0.0, "imagenet": 0.0},
        ),
        Net("wrn-28-10", WideResNet, {"cifar": 1}, dropout={"cifar": 0.0}),
    )
}


def build(
    name: str,
    *,
    n_classes: int,
    image: Image,
    stem: Stem = "cifar",
    width: float = 1.0,
    depth: float = 1.0,
    dropout: float | None = None,
) -> nn.Module:
    """Build a network, its weights drawn from torch's global generator.

    Args:
        image: (channels, height, width) of what it will see.
        stem: for small images or for ImageNet's; of VGG it chooses the head.
        width: factor on the channels, see `Plan`.
        depth: factor on the blocks per stage, see `Plan`.
        dropout: None is the paper's own rate: 0.5 in VGG's ImageNet head, else 0.
    """
    checks.one_of("name", name, NETS)
    net = NETS[name]
    if stem not in net.smallest:
        known = " or ".join(map(repr, net.smallest))
        raise UserError(f"stem must be {known} for {name}, got {stem!r}")
    rate = net.dropout.get(stem, 0.0) if dropout is None else dropout
    plan = Plan(n_classes, image, stem, width, depth, rate)
    _check_use(net, plan)
    return net.make(plan)


def _check_use(net: Net, plan: Plan) -> None:
    if plan.depth != 1 and not net.scales_depth:
        raise UserError(
            f"depth must be 1 for {net.name}, whose layers are fixed, "
            f"got {plan.depth}; use width"
        )
    if plan.dropout > 0 and plan.stem not in net.dropout:
        raise UserError(
            f"dropout must be 0 for {net.name} with stem {plan.stem!r}, which has no "
            f"place for it, got {plan.dropout}"
        )
    _, height, width = plan.image
    least = net.smallest[plan.stem]
    if min(height, width) < least:
        raise UserError(
            f"image must be at least {least}×{least} for {net.name} with stem "
            f"{plan.stem!r}, got {height}×{width}, of which its pooling layers "
            "would leave nothing; pad or enlarge it"
        )
