"""ResNet-50 as Keras has it (He et al. 2016, Table 1): features of images.

    y = relu(x' + F(x))     F = 1×1 to n, 3×3, 1×1 to 4·n, each with BatchNorm

Where a stage halves the map, the first 1×1 kernel has the stride of 2, as in the paper
(PyTorch's own version has it in the 3×3). Convolutions have biases, BatchNorm's ε is
1e-3. Modules have Keras's names, so that its weights are found by name.
"""

import json
from typing import Any, cast, final

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from acprop.checks import UserError

STAGES = ((2, 64, 3), (3, 128, 4), (4, 256, 6), (5, 512, 3))  # name, n, blocks
N_FEATURES = 2048
EPS = 1e-3


@final
class ResNet50(nn.Module):
    """[n, 3, h, w], BGR minus means, to [n, 2048]; fc1000 makes logits of those."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3)
        self.bn_conv1 = nn.BatchNorm2d(64, EPS)
        self.blocks: list[str] = []
        of = 64
        for stage, n, n_blocks in STAGES:
            for i in range(n_blocks):
                name = f"{stage}{chr(ord('a') + i)}"
                stride = 2 if i == 0 and stage > 2 else 1
                self._add(f"{name}_branch2a", nn.Conv2d(of, n, 1, stride))
                self._add(f"{name}_branch2b", nn.Conv2d(n, n, 3, padding=1))
                self._add(f"{name}_branch2c", nn.Conv2d(n, 4 * n, 1))
                if i == 0:
                    self._add(f"{name}_branch1", nn.Conv2d(of, 4 * n, 1, stride))
                self.blocks.append(name)
                of = 4 * n
        self.fc1000 = nn.Linear(N_FEATURES, 1000)

    def _add(self, name: str, conv: nn.Conv2d) -> None:
        self.add_module(f"res{name}", conv)
        self.add_module(f"bn{name}", nn.BatchNorm2d(conv.out_channels, EPS))

    def forward(self, images: Tensor) -> Tensor:
        """The mean over the map of the last block."""
        x = self.bn_conv1(self.conv1(images)).relu_()
        x = max_pool2d(x, 3, 2, padding=1)
        for name in self.blocks:
            x = self._block(name, x)
        return x.mean((2, 3))

    def _block(self, name: str, x: Tensor) -> Tensor:
        h = self._layer(f"{name}_branch2a", x).relu_()
        h = self._layer(f"{name}_branch2b", h).relu_()
        h = self._layer(f"{name}_branch2c", h)
        is_first = hasattr(self, f"res{name}_branch1")
        shortcut = self._layer(f"{name}_branch1", x) if is_first else x
        return h.add_(shortcut).relu_()

    def _layer(self, name: str, x: Tensor) -> Tensor:
        conv, norm = getattr(self, f"res{name}"), getattr(self, f"bn{name}")
        return cast(Tensor, norm(conv(x)))


# The names of one layer's numbers, in Keras and in PyTorch.
_NAMES = {
    "kernel": "weight",
    "gamma": "weight",
    "beta": "bias",
    "bias": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def state_from_keras(description: str, weights: bytes) -> dict[str, Tensor]:
    """What `load_state_dict` wants, from a network saved for TensorFlow.js.

    The description lists names and shapes in the order of the bytes, all float32.
    Kernels come as (height, width, in, out).
    """
    numbers = torch.frombuffer(bytearray(weights), dtype=torch.float32)
    entries = _entries(description)
    total = sum(torch.Size(entry["shape"]).numel() for entry in entries)
    if total != len(numbers):
        raise UserError(
            f"weights must be {total} numbers, as the description says, got "
            f"{len(numbers)}"
        )
    state: dict[str, Tensor] = {}
    begin = 0
    for entry in entries:
        layer, what = entry["name"].split("/")
        shape = tuple(entry["shape"])
        end = begin + torch.Size(shape).numel()
        value = numbers[begin:end].view(shape)
        if what == "kernel":
            value = value.permute((3, 2, 0, 1) if len(shape) == 4 else (1, 0))
        state[f"{layer}.{_NAMES[what]}"] = value.contiguous()
        if what == "moving_mean":
            state[f"{layer}.num_batches_tracked"] = torch.tensor(0)
        begin = end
    return state


def _entries(description: str) -> list[Any]:
    manifest = json.loads(description)["weightsManifest"]
    return [entry for group in manifest for entry in group["weights"]]
