"""Features that need no weights: two random convolutions, 64 features."""

import torch
from torch import nn

from acprop.tasks.features import Features


def small_features(name="lite0", device="cpu"):
    """In the place of `features.features`, under the name of the real ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = nn.Conv2d(3, 32, 4, 2), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()
        net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    net.requires_grad_(False)
    identity = {"name": name, "net": "two random convolutions"}
    return Features(name, identity, net, lambda x: x.float() / 127.5 - 1, device)
