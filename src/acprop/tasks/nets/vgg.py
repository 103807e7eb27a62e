"""VGG-11: configuration A of Simonyan & Zisserman (2015), Table 1.

Eight 3×3 convolutions, five max-poolings by 2, then the classifier on the map's mean (a
32×32 image leaves one 512-vector): the adaptation to CIFAR in common use. With
BatchNorm after each convolution the convolutions keep their biases, as in the published
counts, although the normalisation subtracts them again: their gradient is zero up to
rounding.
"""

from typing import final

from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

# Channels per stage; a pooling ends each.
STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))


@final
class VGG11(nn.Module):
    """The plain network, with or without BatchNorm."""

    def __init__(self, plan: Plan, *, batch_norm: bool) -> None:
        super().__init__()
        self.features = nn.Sequential()
        channels = plan.image[0]
        for stage in STAGES:
            for published in stage:
                out = plan.channels(published)
                self.features.append(nn.Conv2d(channels, out, 3, padding=1))
                if batch_norm:
                    self.features.append(nn.BatchNorm2d(out))
                self.features.append(nn.ReLU(inplace=True))
                channels = out
            self.features.append(nn.MaxPool2d(2))
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(adaptive_avg_pool2d(self.features(images), 1).flatten(1))
