"""VGG-11: configuration A of Simonyan & Zisserman (2015), Table 1.

Eight 3×3 convolutions, five max-poolings by 2, then a head:

    imagenet   4096 → 4096 → classes, rectified and dropped out, on the flattened map
    cifar      classes at once, on the map's mean (a 32×32 image leaves one 512-vector)

The head for CIFAR is the adaptation in common use and the only thing `stem` changes.
With BatchNorm after each convolution the convolutions keep their biases, as in the
published counts, although the normalisation subtracts them again: their gradient
is zero up to rounding.
"""

from typing import final

from torch import Tensor, nn

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

# Channels per stage; a pooling ends each.
STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))
HIDDEN = 4096


@final
class VGG11(nn.Module):
    """The plain network, with or without BatchNorm."""

    def __init__(self, plan: Plan, *, batch_norm: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels, height, width = plan.image
        for stage in STAGES:
            for published in stage:
                out = plan.channels(published)
                layers.append(nn.Conv2d(channels, out, 3, padding=1))
                if batch_norm:
                    layers.append(nn.BatchNorm2d(out))
                layers.append(nn.ReLU(inplace=True))
                channels = out
            layers.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
        self.features = nn.Sequential(*layers)
        if plan.stem == "imagenet":
            self.hidden = _hidden(channels * height * width, plan)
            channels = plan.channels(HIDDEN)
        else:
            self.hidden = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(channels, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, one row per image."""
        return self.classifier(self.hidden(self.features(images)))


def _hidden(n_features: int, plan: Plan) -> nn.Sequential:
    n_hidden = plan.channels(HIDDEN)
    layers: list[nn.Module] = [nn.Flatten()]
    for n_inputs in (n_features, n_hidden):
        layers.append(nn.Linear(n_inputs, n_hidden))
        layers.append(nn.ReLU(inplace=True))
        layers.append(nn.Dropout(plan.dropout))
    return nn.Sequential(*layers)
