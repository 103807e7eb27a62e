"""Features of images, and the Gaussian of a real set's, computed once and kept."""

import hashlib
import io
import logging
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from acprop import files
from acprop.plain import canonical
from acprop.tasks.data import cache_folder
from acprop.tasks.extractors import Extractor, FeatureName, extractor
from acprop.tasks.frechet import Gaussian, fit

_log = logging.getLogger(__name__)


def metric_of(name: FeatureName) -> str:
    """What a distance of these features is called; only one of them is FID."""
    return "fid" if name == "inception" else f"fd_{name}"


class Features(NamedTuple):
    """How images become rows."""

    name: FeatureName
    asked: Extractor
    device: str = "cpu"

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the numbers."""
        return {"name": self.name, **self.asked.identity}

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """[n, d] of bytes [n, 3, 32, 32]."""
        _, net, ready, batch = self.asked
        pieces = (images[b : b + batch] for b in range(0, len(images), batch))
        return torch.cat([net(ready(x.to(self.device))).cpu() for x in pieces])


def features(name: FeatureName, device: str = "cpu") -> Features:
    """Fetch and load what is needed."""
    asked = extractor(name)
    asked.net.to(device)
    return Features(name, asked, device)


def real_gaussian(features: Features, images: Tensor) -> Gaussian:
    """Of real images, from the cache if the same were seen before.

    The name of its file is a hash of the images' bytes, the network and how images are
    made ready for it; inside, the file says the same in full. One that says something
    else, or is not as it was written, is measured again.
    """
    sha256 = hashlib.sha256(images.numpy().tobytes()).hexdigest()
    of = canonical({**features.identity, "images": sha256, "n": len(images)})
    name = f"{features.name}-{hashlib.sha256(of.encode()).hexdigest()[:24]}.pt"
    path = cache_folder() / "features" / name
    kept = _kept(path, of)
    if kept is not None:
        return kept
    made = fit(features(images))
    try:
        content = io.BytesIO()
        torch.save({"of": of, "mean": made.mean, "root": made.root}, content)
        content.write(files.seal(content.getbuffer()))
        files.write(path, content.getbuffer())
    except OSError:
        pass  # a cache that cannot be written: the next run computes them again
    return made


def _kept(path: Path, of: str) -> Gaussian | None:
    if not path.is_file():
        return None
    try:
        content = io.BytesIO(files.read_sealed(path))
        found: object = torch.load(content, weights_only=True)
    except Exception as error:  # torch raises what its parser raises
        words = error if isinstance(error, ValueError) else f"{path} cannot be read"
        _log.warning("%s; these features are measured again", words)
        return None
    kept = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if kept.get("of") != of or not {"mean", "root"} <= kept.keys():
        return None
    return Gaussian(kept["mean"], kept["root"])
