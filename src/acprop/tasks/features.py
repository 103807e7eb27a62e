"""Features of images, and the Gaussian of a real set's, computed once and kept.

lite0    EfficientNet-lite0 with its published weights, 1280 features
random   two random convolutions, 64 features: needs no weights, tells far less

Images come as bytes, generated ones as well, and are made ready in the same way.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.nn.utils.fusion import fuse_conv_bn_eval

from acprop import checks, files
from acprop.plain import canonical
from acprop.tasks.data import cache_folder, describe, fetch
from acprop.tasks.frechet import Gaussian, fit
from acprop.tasks.nets.lite0 import Lite0

FeatureName = Literal["lite0", "random"]
NAMES: tuple[FeatureName, ...] = get_args(FeatureName)
WEIGHTS = "efficientnet-lite0"
# Smaller than the 224 that it was trained on: 12 times as fast.
SIDE = 64
BATCH = 32


class Features(NamedTuple):
    """How images become rows. identity: everything that decides the numbers."""

    name: FeatureName
    identity: dict[str, Any]
    net: nn.Module
    prepared: Callable[[Tensor], Tensor]

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """[n, d] of bytes [n, 3, 32, 32]."""
        begins = range(0, len(images), BATCH)
        parts = [self.net(self.prepared(images[b : b + BATCH])) for b in begins]
        return torch.cat(parts)


def features(name: FeatureName) -> Features:
    """Fetch and load what is needed; the network does not learn."""
    checks.one_of("features", name, NAMES)
    if name == "random":
        return Features(name, {"net": name}, _random_net(), _centred)
    (file,) = describe(WEIGHTS).files
    path = fetch(WEIGHTS, progress=False) / file.name
    state = torch.load(path, map_location="cpu", weights_only=True)
    net = Lite0()
    net.load_state_dict({k: v for k, v in state.items() if not k.startswith("_fc.")})
    _fold(net.eval().requires_grad_(False))
    net.to(memory_format=torch.channels_last)  # pyright: ignore
    identity = {
        "weights": file.sha256,
        "side": SIDE,
        "prepared": "bilinear, (x - 127) / 128",
    }
    return Features(name, identity, net, _ready)


def real_gaussian(features: Features, images: Tensor) -> Gaussian:
    """Of real images, from the cache if the same were seen before.

    The name of its file is a hash of the images' bytes, the network and how images are
    made ready for it.
    """
    sha256 = hashlib.sha256(images.numpy().tobytes()).hexdigest()
    key = canonical({**features.identity, "images": sha256, "n": len(images)})
    name = f"{features.name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.pt"
    path = cache_folder() / "features" / name
    if path.is_file():
        kept = torch.load(path, weights_only=True)
        return Gaussian(kept["mean"], kept["root"])
    made = fit(features(images))
    _keep(path, made)
    return made


def _keep(path: Path, made: Gaussian) -> None:
    try:
        with files.replacing(path) as file:
            torch.save({"mean": made.mean, "root": made.root}, file)
    except OSError:
        return  # a cache that cannot be written: the next run computes them again


def _ready(images: Tensor) -> Tensor:
    """As lite0 was trained: (x - 127) / 128."""
    x = (images.float() - 127) / 128
    x = interpolate(x, size=(SIDE, SIDE), mode="bilinear")
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


_PAIRS = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)


def _fold(net: nn.Module) -> None:
    """BatchNorm into the convolution before it: the same numbers, twice as fast."""
    for module in net.modules():
        for conv, norm in _PAIRS:
            if hasattr(module, conv):
                pair = cast(Any, (getattr(module, conv), getattr(module, norm)))
                setattr(module, conv, fuse_conv_bn_eval(*pair))
                setattr(module, norm, nn.Identity())
