"""EfficientNet-lite0 (Tan & Le 2019; lite: no squeezing, relu6): features of images.

Only what turns an image into 1280 features, or into those of an earlier stage. The
modules have the names of the published PyTorch weights, so that those load as they are.
It was trained in TensorFlow, which pads a stride of 2 more at the right and at the
bottom, and has BatchNorms with ε = 1e-3.
"""

from typing import final

from torch import Tensor, nn
from torch.nn.functional import conv2d, pad, relu6

# Kernel, stride, expansion, channels, blocks of each stage.
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
N_FEATURES = 1280
EPS = 1e-3


@final
class Lite0(nn.Module):
    """[n, 3, h, w] in about [-1, 1] to [n, 1280].

    n_stages: end after so many, with the channels of the last as features.
    """

    def __init__(self, n_stages: int | None = None) -> None:
        super().__init__()
        self._conv_stem = nn.Conv2d(3, 32, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(32, EPS)
        blocks: list[nn.Module] = []
        of = 32
        for kernel, stride, expansion, to, n_blocks in STAGES[:n_stages]:
            for i in range(n_blocks):
                first = stride if i == 0 else 1
                blocks.append(_Block(of, to, kernel, first, expansion))
                of = to
        self._blocks = nn.Sequential(*blocks)
        self.has_head = n_stages is None
        if self.has_head:
            self._conv_head = nn.Conv2d(of, N_FEATURES, 1, bias=False)
            self._bn1 = nn.BatchNorm2d(N_FEATURES, EPS)

    def forward(self, images: Tensor) -> Tensor:
        """The mean over the map of the last layer."""
        x = relu6(self._bn0(_same(self._conv_stem, images)), inplace=True)
        x = self._blocks(x)
        if self.has_head:
            x = relu6(self._bn1(self._conv_head(x)), inplace=True)
        return x.mean((2, 3))


@final
class _Block(nn.Module):
    """Widen, filter each channel by itself, narrow; added to what came in."""

    def __init__(
        self, of: int, to: int, kernel: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        wide = of * expansion
        self.adds = stride == 1 and of == to
        self.expands = expansion > 1
        if self.expands:
            self._expand_conv = nn.Conv2d(of, wide, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(wide, EPS)
        self._depthwise_conv = nn.Conv2d(
            wide, wide, kernel, stride, groups=wide, bias=False
        )
        self._bn1 = nn.BatchNorm2d(wide, EPS)
        self._project_conv = nn.Conv2d(wide, to, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(to, EPS)

    def forward(self, x: Tensor) -> Tensor:
        h = x
        if self.expands:
            h = relu6(self._bn0(self._expand_conv(x)), inplace=True)
        h = relu6(self._bn1(_same(self._depthwise_conv, h)), inplace=True)
        h = self._bn2(self._project_conv(h))
        return h.add_(x) if self.adds else h


def _same(conv: nn.Conv2d, x: Tensor) -> Tensor:
    """TensorFlow's "same": an odd pixel goes to the right and to the bottom."""
    kernel, stride = conv.kernel_size[0], conv.stride[0]
    totals = [
        max((-(-size // stride) - 1) * stride + kernel - size, 0)
        for size in x.shape[2:]
    ]
    if not any(total % 2 for total in totals):  # without a copy of the map
        padding = [total // 2 for total in totals]
        weights = conv.weight, conv.bias
        return conv2d(x, *weights, conv.stride, padding, groups=conv.groups)
    down, right = totals
    sides = (right // 2, right - right // 2, down // 2, down - down // 2)
    return conv(pad(x, sides))
