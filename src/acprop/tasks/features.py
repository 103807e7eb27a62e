"""Features of images, by networks that others have trained.

lite0      EfficientNet-lite0 at 64×64: the 1280 features that it classifies by
lite0_80   the same up to its fourth stage: 80 features, of textures more than things
inception  FID's Inception-v3 at 299×299: the 2048 features that FID is defined by

Images come as bytes, generated ones as well, and are made ready as in training. The
Gaussian of a real set's features is computed once and kept.
"""

import hashlib
import io
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.nn.utils.fusion import fuse_conv_bn_eval

from acprop import checks
from acprop.tasks.data import describe, fetch
from acprop.tasks.data.kept import kept
from acprop.tasks.frechet import FeatureGaussian, fit
from acprop.tasks.nets.inception import Inception
from acprop.tasks.nets.lite0 import Lite0

FeatureName = Literal["lite0", "lite0_80", "inception"]
NAMES: tuple[FeatureName, ...] = get_args(FeatureName)
BATCH = 16  # a size that caches like
LITE0_SIDE = 64  # smaller than the 224 that it was trained on: 12 times as fast
INCEPTION_SIDE = 299


def metric_of(name: FeatureName) -> str:
    """What a distance of these features is called; only one of them is FID."""
    return "fid" if name == "inception" else f"fd_{name}"


class Features(NamedTuple):
    """How images become rows.

    identity: everything that decides the numbers. ready: prepares images for the net.
    """

    name: FeatureName
    identity: dict[str, Any]
    net: nn.Module
    ready: Callable[[Tensor], Tensor]
    device: str = "cpu"

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """[n, d] of bytes [n, 3, 32, 32]."""
        pieces = (images[b : b + BATCH] for b in range(0, len(images), BATCH))
        rows = (self.net(self.ready(x.to(self.device))).cpu() for x in pieces)
        return torch.cat(list(rows))


def features(name: FeatureName, device: str = "cpu") -> Features:
    """Fetch and load what is needed; the network does not learn."""
    if checks.one_of("features", name, NAMES) == "inception":
        net, weights, ready = Inception(), "inception", _for_inception
        side, prepared = INCEPTION_SIDE, "bilinear, x / 127.5 - 1"
    else:
        net = Lite0(4 if name == "lite0_80" else None)
        weights, ready = "efficientnet-lite0", _for_lite0
        side, prepared = LITE0_SIDE, "bilinear, (x - 127) / 128"
    (file,) = describe(weights).files
    path = fetch(weights, progress=False) / file.name
    state = torch.load(path, map_location="cpu", weights_only=True)
    # an earlier stage needs the weights up to it
    net.load_state_dict({key: state[key] for key in net.state_dict()})
    net.eval().requires_grad_(False)
    fold(net)
    net.to(device, memory_format=torch.channels_last)  # pyright: ignore
    identity = {"weights": file.sha256, "side": side, "prepared": prepared}
    if name == "lite0_80":
        identity["stages"] = 4
    return Features(name, {"name": name, **identity}, net, ready, device)


def _for_lite0(images: Tensor) -> Tensor:
    return _enlarged((images.float() - 127) / 128, LITE0_SIDE)


def _for_inception(images: Tensor) -> Tensor:
    return _enlarged(images.float() / 127.5 - 1, INCEPTION_SIDE)


def _enlarged(images: Tensor, side: int) -> Tensor:
    # Not smoothed, as FID prepares images.
    x = interpolate(images, size=(side, side), mode="bilinear")
    return x.contiguous(memory_format=torch.channels_last)


def fold(net: nn.Module) -> None:
    """Each BatchNorm into the convolution before it: the same numbers, faster.

    In these networks a BatchNorm follows the convolution that is declared before it.
    """
    for module in net.modules():
        for (conv_name, conv), (norm_name, norm) in pairwise(module.named_children()):
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, conv_name, fuse_conv_bn_eval(conv, norm))
                setattr(module, norm_name, nn.Identity())


def real_gaussian(features: Features, images: Tensor) -> FeatureGaussian:
    """Of real images, from the cache if the same were seen before."""

    def make() -> bytes:
        made, content = fit(features(images)), io.BytesIO()
        torch.save({"mean": made.mean, "root": made.root}, content)
        return content.getvalue()

    sha256 = hashlib.sha256(images.numpy().tobytes()).hexdigest()
    decides = {**features.identity, "images": sha256, "n": len(images)}
    content = kept("features", f"{features.name}-{{}}.pt", decides, make)
    found = torch.load(io.BytesIO(content), weights_only=True)
    return FeatureGaussian(found["mean"], found["root"])
