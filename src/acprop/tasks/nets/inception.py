"""Inception-v3 as FID uses it (Szegedy et al. 2016; Heusel et al. 2017).

The network of TensorFlow's archive of 2015-12-05, which is not the published one in
every layer: its means over 3×3 pixels leave the padding out, and its last block takes
the maximum of them instead of the mean. Modules have the names of torchvision's network
and of the weights' file, so that those load as they are.
"""

from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d

N_FEATURES = 2048
N_CLASSES = 1008
EPS = 1e-3
Size = int | tuple[int, int]


@final
class Inception(nn.Module):
    """[n, 3, 299, 299] in [-1, 1] to [n, 2048]; fc is there for its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _Conv(3, 32, 3, stride=2)
        self.Conv2d_2a_3x3 = _Conv(32, 32, 3)
        self.Conv2d_2b_3x3 = _Conv(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = _Conv(64, 80, 1)
        self.Conv2d_4a_3x3 = _Conv(80, 192, 3)
        self.Mixed_5b = _A(192, 32)
        self.Mixed_5c = _A(256, 64)
        self.Mixed_5d = _A(288, 64)
        self.Mixed_6a = _B(288)
        self.Mixed_6b = _C(768, 128)
        self.Mixed_6c = _C(768, 160)
        self.Mixed_6d = _C(768, 160)
        self.Mixed_6e = _C(768, 192)
        self.Mixed_7a = _D(768)
        self.Mixed_7b = _E(1280)
        self.Mixed_7c = _E(2048, last=True)
        self.fc = nn.Linear(N_FEATURES, N_CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """The mean over the map of the last block, "pool3"."""
        x = images
        for name, module in self.named_children():
            if name == "fc":
                break
            x = module(x)
            if name in ("Conv2d_2b_3x3", "Conv2d_4a_3x3"):
                x = max_pool2d(x, 3, 2)
        return x.mean((2, 3))


@final
class _Conv(nn.Module):
    def __init__(self, of: int, to: int, kernel: Size, **options: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(of, to, kernel, bias=False, **options)
        self.bn = nn.BatchNorm2d(to, EPS)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x)).relu_()


def _wide(of: int, to: int, n: int) -> _Conv:
    """A kernel of one row."""
    return _Conv(of, to, (1, n), padding=(0, n // 2))


def _high(of: int, to: int, n: int) -> _Conv:
    """A kernel of one column."""
    return _Conv(of, to, (n, 1), padding=(n // 2, 0))


def _mean(x: Tensor) -> Tensor:
    return avg_pool2d(x, 3, 1, padding=1, count_include_pad=False)


@final
class _A(nn.Module):
    def __init__(self, of: int, pooled: int) -> None:
        super().__init__()
        self.branch1x1 = _Conv(of, 64, 1)
        self.branch5x5_1 = _Conv(of, 48, 1)
        self.branch5x5_2 = _Conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = _Conv(of, 64, 1)
        self.branch3x3dbl_2 = _Conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Conv(96, 96, 3, padding=1)
        self.branch_pool = _Conv(of, pooled, 1)

    def forward(self, x: Tensor) -> Tensor:
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        three = self.branch3x3dbl_3(three)
        pooled = self.branch_pool(_mean(x))
        return torch.cat([self.branch1x1(x), five, three, pooled], 1)


@final
class _B(nn.Module):
    def __init__(self, of: int) -> None:
        super().__init__()
        self.branch3x3 = _Conv(of, 384, 3, stride=2)
        self.branch3x3dbl_1 = _Conv(of, 64, 1)
        self.branch3x3dbl_2 = _Conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _Conv(96, 96, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        twice = self.branch3x3dbl_3(twice)
        return torch.cat([self.branch3x3(x), twice, max_pool2d(x, 3, 2)], 1)


@final
class _C(nn.Module):
    def __init__(self, of: int, n: int) -> None:
        super().__init__()
        self.branch1x1 = _Conv(of, 192, 1)
        self.branch7x7_1 = _Conv(of, n, 1)
        self.branch7x7_2 = _wide(n, n, 7)
        self.branch7x7_3 = _high(n, 192, 7)
        self.branch7x7dbl_1 = _Conv(of, n, 1)
        self.branch7x7dbl_2 = _high(n, n, 7)
        self.branch7x7dbl_3 = _wide(n, n, 7)
        self.branch7x7dbl_4 = _high(n, n, 7)
        self.branch7x7dbl_5 = _wide(n, 192, 7)
        self.branch_pool = _Conv(of, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        twice = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        twice = self.branch7x7dbl_5(self.branch7x7dbl_4(twice))
        pooled = self.branch_pool(_mean(x))
        return torch.cat([self.branch1x1(x), seven, twice, pooled], 1)


@final
class _D(nn.Module):
    def __init__(self, of: int) -> None:
        super().__init__()
        self.branch3x3_1 = _Conv(of, 192, 1)
        self.branch3x3_2 = _Conv(192, 320, 3, stride=2)
        self.branch7x7x3_1 = _Conv(of, 192, 1)
        self.branch7x7x3_2 = _wide(192, 192, 7)
        self.branch7x7x3_3 = _high(192, 192, 7)
        self.branch7x7x3_4 = _Conv(192, 192, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        seven = self.branch7x7x3_4(seven)
        return torch.cat([three, seven, max_pool2d(x, 3, 2)], 1)


@final
class _E(nn.Module):
    """last: with the maximum over 3×3 pixels, which only FID's network has."""

    def __init__(self, of: int, *, last: bool = False) -> None:
        super().__init__()
        self.last = last
        self.branch1x1 = _Conv(of, 320, 1)
        self.branch3x3_1 = _Conv(of, 384, 1)
        self.branch3x3_2a = _wide(384, 384, 3)
        self.branch3x3_2b = _high(384, 384, 3)
        self.branch3x3dbl_1 = _Conv(of, 448, 1)
        self.branch3x3dbl_2 = _Conv(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = _wide(384, 384, 3)
        self.branch3x3dbl_3b = _high(384, 384, 3)
        self.branch_pool = _Conv(of, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_1(x)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        near = max_pool2d(x, 3, 1, padding=1) if self.last else _mean(x)
        parts = (
            self.branch1x1(x),
            self.branch3x3_2a(three),
            self.branch3x3_2b(three),
            self.branch3x3dbl_3a(twice),
            self.branch3x3dbl_3b(twice),
            self.branch_pool(near),
        )
        return torch.cat(parts, 1)
