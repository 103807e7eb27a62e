"""DenseNet-121: with bottlenecks and compression, Huang et al. (2017), Table 1.

Each layer sees all before it in its block and adds k = 32 channels, the growth:

    x_l = [x_{l-1}, H(x_{l-1})]     H = BN-relu-conv1×1(4k)-BN-relu-conv3×3(k)

Blocks of 6, 12, 24, 16 layers; between two of them a transition, BN-relu-conv1×1 to
half the channels and mean-pooling by 2. Stems, with 2k channels:

    imagenet   7×7 by 2, BN, relu, 3×3 max-pooling by 2
    cifar      3×3 alone: the first layer normalises

`width` scales the growth and all channels with it, `depth` the layers of a block.
`dropout` follows every convolution but the stem's, as in Section 4.2, which has 0.2 for
small images without augmentation.
"""

from typing import final

import torch
from torch import Tensor, nn

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

LAYERS = (6, 12, 24, 16)
GROWTH = 32


@final
class DenseNet121(nn.Module):
    """Four dense blocks, three transitions."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        growth = plan.channels(GROWTH)
        channels = 2 * growth
        self.stem = _stem(plan, channels)
        layers: list[nn.Module] = []
        for stage, published in enumerate(LAYERS):
            if stage > 0:
                layers.append(_transition(channels, plan.dropout))
                channels //= 2
            for _ in range(plan.blocks(published)):
                layers.append(_Layer(channels, growth, plan.dropout))
                channels += growth
        layers.append(nn.BatchNorm2d(channels))
        layers.append(nn.ReLU(inplace=True))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, one row per image."""
        features = self.features(self.stem(images))
        return self.classifier(features.mean((2, 3)))


@final
class _Layer(nn.Module):
    def __init__(self, channels: int, growth: int, dropout: float) -> None:
        super().__init__()
        self.grow = nn.Sequential(
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, 4 * growth, 1, bias=False),
            nn.Dropout(dropout),
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(inplace=True),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.grow(x)), dim=1)


def _transition(channels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels, channels // 2, 1, bias=False),
        nn.Dropout(dropout),
        nn.AvgPool2d(2),
    )


def _stem(plan: Plan, out: int) -> nn.Sequential:
    if plan.stem == "cifar":
        return nn.Sequential(nn.Conv2d(plan.image[0], out, 3, padding=1, bias=False))
    return nn.Sequential(
        nn.Conv2d(plan.image[0], out, 7, 2, padding=3, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, padding=1),
    )
