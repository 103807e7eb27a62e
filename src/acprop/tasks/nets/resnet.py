"""ResNet-18 and ResNet-34: basic blocks of He et al. (2016), Table 1.

    y = relu(x' + F(x))     F = conv-BN-relu-conv-BN, both 3×3

x' is x, or a 1×1 convolution with BatchNorm where the shape changes (the paper's
option B). Four stages of 64, 128, 256, 512 channels, each but the first halving the
map; their mean over the map goes to the classifier. Stems:

    imagenet   7×7 by 2, BN, relu, 3×3 max-pooling by 2
    cifar      3×3, BN, relu: the map keeps its size

The second is the adaptation in common use; the paper's own networks for CIFAR are
narrower ones with three stages.
"""

from typing import final

from torch import Tensor, nn

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

CHANNELS = (64, 128, 256, 512)
BLOCKS_18 = (2, 2, 2, 2)
BLOCKS_34 = (3, 4, 6, 3)


@final
class ResNet(nn.Module):
    """blocks: how many per stage before `depth` scales them."""

    def __init__(self, plan: Plan, *, blocks: tuple[int, int, int, int]) -> None:
        super().__init__()
        channels = plan.channels(CHANNELS[0])
        kernel, stride = (3, 1) if plan.stem == "cifar" else (7, 2)
        self.stem = nn.Sequential(
            _conv(plan.image[0], channels, kernel, stride),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
        )
        if plan.stem == "imagenet":
            self.stem.append(nn.MaxPool2d(3, 2, padding=1))
        self.features = nn.Sequential()
        for stage, n_blocks in enumerate(blocks):
            out = plan.channels(CHANNELS[stage])
            for block in range(plan.blocks(n_blocks)):
                stride = 2 if stage > 0 and block == 0 else 1
                self.features.append(_Block(channels, out, stride))
                channels = out
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        features = self.features(self.stem(images))
        return self.classifier(features.mean((2, 3)))


@final
class _Block(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            _conv(channels, out, 3, stride),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            _conv(out, out, 3),
            nn.BatchNorm2d(out),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != out:
            self.shortcut.append(_conv(channels, out, 1, stride))
            self.shortcut.append(nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        return (self.residual(x) + self.shortcut(x)).relu_()


def _conv(channels: int, out: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels, out, kernel, stride, padding=kernel // 2, bias=False)
