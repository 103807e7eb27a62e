"""DenseNet-121: with bottlenecks and compression, Huang et al. (2017), Table 1.

Each layer sees all before it in its block and adds k = 32 channels, the growth:

    x_l = [x_{l-1}, H(x_{l-1})]     H = BN-relu-conv1×1(4k)-BN-relu-conv3×3(k)

Blocks of 6, 12, 24, 16 layers; between two of them a transition, BN-relu-conv1×1 to
half the channels and mean-pooling by 2. The stem is CIFAR's, 3×3 to 2k channels: the
first layer normalises. `width` scales the growth and all channels with it, `depth` the
layers of a block. Without the paper's dropout, which it has for small images without
augmentation.
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
        stem = nn.Conv2d(plan.image[0], channels, 3, padding=1, bias=False)
        self.stem, self.features = nn.Sequential(stem), nn.Sequential()
        for stage, published in enumerate(LAYERS):
            if stage > 0:
                pooled = [nn.Identity(), nn.AvgPool2d(2)]
                self.features.append(
                    nn.Sequential(*_bottleneck(channels, channels // 2), *pooled)
                )
                channels //= 2
            for _ in range(plan.blocks(published)):
                self.features.append(_Layer(channels, growth))
                channels += growth
        self.features.extend([nn.BatchNorm2d(channels), nn.ReLU(inplace=True)])
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        features = self.features(self.stem(images))
        return self.classifier(features.mean((2, 3)))


def _bottleneck(channels: int, out: int) -> list[nn.Module]:
    return [
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels, out, 1, bias=False),
    ]


@final
class _Layer(nn.Module):
    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.grow = nn.Sequential(
            *_bottleneck(channels, 4 * growth),
            nn.Identity(),  # of dropout, as in a transition: checkpoints count it
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(inplace=True),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.grow(x)), dim=1)
