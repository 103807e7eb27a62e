"""Networks that turn images into features, with the weights others have trained.

lite0      EfficientNet-lite0 at 64×64: the 1280 features that it classifies by
lite0_80   the same up to its fourth stage: 80 features, of textures more than things
resnet50   ResNet-50 at 224×224: the 2048 features that it classifies by
inception  FID's Inception-v3 at 299×299: the 2048 features that FID is defined by
random     two random convolutions, 64 features: needs no weights, tells far less

Images come as bytes, generated ones as well, and are made ready as in training.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.nn.utils.fusion import fuse_conv_bn_eval

from acprop import checks
from acprop.tasks.data import describe, fetch
from acprop.tasks.nets.inception import Inception
from acprop.tasks.nets.lite0 import Lite0
from acprop.tasks.nets.resnet50 import ResNet50, state_from_keras

FeatureName = Literal["lite0", "lite0_80", "resnet50", "inception", "random"]
NAMES: tuple[FeatureName, ...] = get_args(FeatureName)


class Extractor(NamedTuple):
    """A network, and how images are made ready for it.

    identity: everything that decides the numbers. batch: a size that caches like.
    """

    identity: dict[str, Any]
    net: nn.Module
    ready: Callable[[Tensor], Tensor]
    batch: int = 16


def extractor(name: FeatureName) -> Extractor:
    """Fetch and load what is needed; the network does not learn."""
    checks.one_of("features", name, NAMES)
    if name == "random":
        return Extractor({"net": name}, _random_net(), _centred, batch=32)
    made = {
        "lite0": _lite0,
        "lite0_80": lambda: _lite0(n_stages=4),
        "resnet50": _resnet50,
        "inception": _inception,
    }[name]()
    made.net.eval().requires_grad_(False)
    fold(made.net)
    made.net.to(memory_format=torch.channels_last)  # pyright: ignore
    return made


# Smaller than the 224 that it was trained on: 12 times as fast.
LITE0_SIDE = 64


def _lite0(n_stages: int | None = None) -> Extractor:
    path, sha256 = _file("efficientnet-lite0")
    net = Lite0(n_stages)
    state = torch.load(path, map_location="cpu", weights_only=True)
    net.load_state_dict({name: state[name] for name in net.state_dict()})
    identity = {
        "weights": sha256,
        "side": LITE0_SIDE,
        "prepared": "bilinear, (x - 127) / 128",
    }
    if n_stages is not None:
        identity["stages"] = n_stages

    def ready(images: Tensor) -> Tensor:
        return _enlarged((images.float() - 127) / 128, LITE0_SIDE)

    return Extractor(identity, net, ready)


RESNET50_SIDE = 224
BGR_MEANS = (103.939, 116.779, 123.68)


def _resnet50() -> Extractor:
    path, sha256 = _file("resnet50", "weights.bin")
    net = ResNet50()
    description = path.with_name("model.json").read_text("utf-8")
    net.load_state_dict(state_from_keras(description, path.read_bytes()))
    identity = {
        "weights": sha256,
        "side": RESNET50_SIDE,
        "prepared": "bilinear, BGR minus means",
    }

    def ready(images: Tensor) -> Tensor:
        means = torch.tensor(BGR_MEANS, device=images.device)[:, None, None]
        return _enlarged(images.flip(1).float() - means, RESNET50_SIDE)

    return Extractor(identity, net, ready)


INCEPTION_SIDE = 299


def _inception() -> Extractor:
    path, sha256 = _file("inception")
    net = Inception()
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    identity = {
        "weights": sha256,
        "side": INCEPTION_SIDE,
        "prepared": "bilinear, x / 127.5 - 1",
    }

    def ready(images: Tensor) -> Tensor:
        return _enlarged(_centred(images), INCEPTION_SIDE)

    return Extractor(identity, net, ready)


def _file(name: str, file: str | None = None) -> tuple[Path, str]:
    """Where the weights are, verified, and their sha256."""
    chosen = next(f for f in describe(name).files if file in (None, f.name))
    return fetch(name, progress=False) / chosen.name, str(chosen.sha256)


def _enlarged(images: Tensor, side: int) -> Tensor:
    # Not smoothed: what FID's networks are asked with.
    x = interpolate(images, size=(side, side), mode="bilinear")
    return x.contiguous(memory_format=torch.channels_last)


def _centred(images: Tensor) -> Tensor:
    return images.float() / 127.5 - 1


def _random_net() -> nn.Module:
    with torch.random.fork_rng(devices=[]):  # pyright: ignore
        torch.manual_seed(0)  # pyright: ignore
        return nn.Sequential(
            nn.Conv2d(3, 32, 4, 2),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        ).requires_grad_(False)


def fold(net: nn.Module) -> None:
    """Each BatchNorm into the convolution before it: the same numbers, faster.

    In these networks a BatchNorm follows the convolution that is declared before it.
    """
    for module in net.modules():
        for (conv_name, conv), (norm_name, norm) in pairwise(module.named_children()):
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, conv_name, fuse_conv_bn_eval(conv, norm))
                setattr(module, norm_name, nn.Identity())
