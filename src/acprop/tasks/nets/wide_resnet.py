"""WRN-28-10: few, wide, pre-activated blocks, Zagoruyko & Komodakis (2016), Table 1.

    y = x' + F(x)     F = BN-relu-conv3×3-BN-relu-conv3×3

Three groups of 16k, 32k, 64k channels, k = 10, each but the first halving the map, with
N blocks each: 6N + 4 = 28 layers. x' is x, or a 1×1 convolution of relu(BN(x)) where
the shape changes. The stem keeps its 16 channels at every k, so the factors name the
paper's other networks:

    WRN-d-k     width = k/10     depth = (d - 4)/24
"""

from typing import final

from torch import Tensor, nn

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

STEM = 16
CHANNELS = (160, 320, 640)
BLOCKS = 4


@final
class WideResNet(nn.Module):
    """Stem, three groups, BN-relu, mean over the map, classifier."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        channels = STEM
        stem = nn.Conv2d(plan.image[0], STEM, 3, padding=1, bias=False)
        self.features = nn.Sequential(stem)
        for group, published in enumerate(CHANNELS):
            out = plan.channels(published)
            for block in range(plan.blocks(BLOCKS)):
                stride = 2 if group > 0 and block == 0 else 1
                self.features.append(_Block(channels, out, stride))
                channels = out
        self.features.extend([nn.BatchNorm2d(channels), nn.ReLU(inplace=True)])
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).mean((2, 3)))


@final
class _Block(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.activate = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
        self.residual = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            nn.Identity(),  # the paper's dropout, not used here; checkpoints count it
            nn.Conv2d(out, out, 3, padding=1, bias=False),
        )
        self.projection = None
        if stride != 1 or channels != out:
            self.projection = nn.Conv2d(channels, out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        activated = self.activate(x)
        if self.projection is not None:
            x = self.projection(activated)
        return x + self.residual(activated)
