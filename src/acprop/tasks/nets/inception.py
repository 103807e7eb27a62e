"""Inception-v3 as FID uses it (Szegedy et al. 2016; Heusel et al. 2017).

The network of TensorFlow's archive of 2015-12-05, which is not the published one in
every layer: its means over 3×3 pixels leave the padding out, and its last block takes
the maximum of them instead of the mean. Modules have the names of torchvision's network
and of the weights' file, so that those load as they are.
"""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d

N_FEATURES = 2048
N_CLASSES = 1008
EPS = 1e-3

# A convolution of a block: what it sees, its channels, its kernel (height × width; "/2"
# is a stride of 2, without padding). "x" is what came in, "near" the mean or maximum of
# 3×3 pixels of it. What no other convolution sees is what comes out, in this order.
_A = """
branch1x1       x               64   1x1
branch5x5_1     x               48   1x1
branch5x5_2     branch5x5_1     64   5x5
branch3x3dbl_1  x               64   1x1
branch3x3dbl_2  branch3x3dbl_1  96   3x3
branch3x3dbl_3  branch3x3dbl_2  96   3x3
branch_pool     near            {n}  1x1
"""
_B = """
branch3x3       x               384  3x3/2
branch3x3dbl_1  x               64   1x1
branch3x3dbl_2  branch3x3dbl_1  96   3x3
branch3x3dbl_3  branch3x3dbl_2  96   3x3/2
"""
_C = """
branch1x1       x               192  1x1
branch7x7_1     x               {n}  1x1
branch7x7_2     branch7x7_1     {n}  1x7
branch7x7_3     branch7x7_2     192  7x1
branch7x7dbl_1  x               {n}  1x1
branch7x7dbl_2  branch7x7dbl_1  {n}  7x1
branch7x7dbl_3  branch7x7dbl_2  {n}  1x7
branch7x7dbl_4  branch7x7dbl_3  {n}  7x1
branch7x7dbl_5  branch7x7dbl_4  192  1x7
branch_pool     near            192  1x1
"""
_D = """
branch3x3_1     x               192  1x1
branch3x3_2     branch3x3_1     320  3x3/2
branch7x7x3_1   x               192  1x1
branch7x7x3_2   branch7x7x3_1   192  1x7
branch7x7x3_3   branch7x7x3_2   192  7x1
branch7x7x3_4   branch7x7x3_3   192  3x3/2
"""
_E = """
branch1x1       x               320  1x1
branch3x3_1     x               384  1x1
branch3x3_2a    branch3x3_1     384  1x3
branch3x3_2b    branch3x3_1     384  3x1
branch3x3dbl_1  x               448  1x1
branch3x3dbl_2  branch3x3dbl_1  384  3x3
branch3x3dbl_3a branch3x3dbl_2  384  1x3
branch3x3dbl_3b branch3x3dbl_2  384  3x1
branch_pool     near            192  1x1
"""


@final
class Inception(nn.Module):
    """[n, 3, 299, 299] in [-1, 1] to [n, 2048]; fc is there for its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _Conv(3, 32, (3, 3), stride=2)
        self.Conv2d_2a_3x3 = _Conv(32, 32, (3, 3))
        self.Conv2d_2b_3x3 = _Conv(32, 64, (3, 3), padding=(1, 1))
        self.Conv2d_3b_1x1 = _Conv(64, 80, (1, 1))
        self.Conv2d_4a_3x3 = _Conv(80, 192, (3, 3))
        self.Mixed_5b = _Mixed(192, _A.format(n=32))
        self.Mixed_5c = _Mixed(256, _A.format(n=64))
        self.Mixed_5d = _Mixed(288, _A.format(n=64))
        self.Mixed_6a = _Mixed(288, _B)
        self.Mixed_6b = _Mixed(768, _C.format(n=128))
        self.Mixed_6c = _Mixed(768, _C.format(n=160))
        self.Mixed_6d = _Mixed(768, _C.format(n=160))
        self.Mixed_6e = _Mixed(768, _C.format(n=192))
        self.Mixed_7a = _Mixed(768, _D)
        self.Mixed_7b = _Mixed(1280, _E)
        self.Mixed_7c = _Mixed(2048, _E, is_last=True)
        self.fc = nn.Linear(N_FEATURES, N_CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """The mean over the map of the last block, "pool3"."""
        x = images
        for name, module in list(self.named_children())[:-1]:
            x = module(x)
            if name in ("Conv2d_2b_3x3", "Conv2d_4a_3x3"):
                x = max_pool2d(x, 3, 2)
        return x.mean((2, 3))


@final
class _Conv(nn.Module):
    def __init__(
        self,
        of: int,
        to: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(of, to, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(to, EPS)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x)).relu_()


@final
class _Mixed(nn.Module):
    """Convolutions side by side, their maps one after another; see the tables.

    is_last: "near" is the maximum, which only FID's network has.
    """

    def __init__(self, of: int, table: str, *, is_last: bool = False) -> None:
        super().__init__()
        self.is_last, self.halves = is_last, "/2" in table
        self.sources: dict[str, str] = {}
        channels = {"x": of, "near": of}
        for row in table.strip().splitlines():
            name, source, to, kernel = row.split()
            size, _, halves = kernel.partition("/")
            height, width = map(int, size.split("x"))
            padding = (0, 0) if halves else (height // 2, width // 2)
            how = (height, width), 2 if halves else 1, padding
            self.add_module(name, _Conv(channels[source], int(to), *how))
            self.sources[name], channels[name] = source, int(to)

    def forward(self, x: Tensor) -> Tensor:
        maps = {"x": x}
        if "near" in self.sources.values():
            maps["near"] = (
                max_pool2d(x, 3, 1, padding=1)
                if self.is_last
                else avg_pool2d(x, 3, 1, padding=1, count_include_pad=False)
            )
        for name, source in self.sources.items():
            maps[name] = self.get_submodule(name)(maps[source])
        seen = self.sources.values()
        out = [maps[name] for name in self.sources if name not in seen]
        return torch.cat([*out, max_pool2d(x, 3, 2)] if self.halves else out, 1)
