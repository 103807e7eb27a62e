"""SNGAN's and SAGAN's residual networks for 32×32.

Miyato et al. (2018), Table 4, with 256 channels in the generator, 128 in the
discriminator:

    generator       z → 256×4×4, three blocks that double the map, BN, relu, 3×3, tanh
    discriminator   two blocks that halve the map, two that keep it, relu, sum, a score

A generator's block is BN-relu-conv twice, with one scale and shift of each BN for each
class (conditional BatchNorm). A discriminator's is relu-conv twice; its score adds the
product of its features with a vector of the image's class (Miyato & Koyama 2018):

    D(x, y) = v·h(x) + b + e_y·h(x)

Every weight of the discriminator is divided by its largest singular value. SAGAN (Zhang
et al. 2019) does so in the generator too, and has one attention in each network, where
the map is 16×16: every pixel looks at all others,

    q, k, v = W_q·x, W_k·x, W_v·x            1×1 kernels to n/8, n/8 and n/2 channels
    y_i = x_i + γ·W_o·Σ_j softmax_j(q_i·k_j)·v_j          γ begins at 0

with keys and values pooled to a quarter of the pixels, as in the authors' code. Weights
are Xavier's, in SNGAN with a gain of √2 for the 3×3 kernels of a block; biases are 0.
BatchNorm's ε is that of each paper's own code.
"""

from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate, max_pool2d
from torch.nn.utils.parametrizations import spectral_norm

from acprop.tasks.nets.plan import channels

EPS = 2e-5  # Chainer's, in which SNGAN was written
EPS_ATTENTIVE = 1e-5
SQRT2 = 2**0.5


@final
class ResGenerator(nn.Module):
    """Latents and classes to images in [-1, 1]; attentive: SAGAN's."""

    def __init__(
        self,
        *,
        latent: int,
        n_classes: int,
        width: float = 1.0,
        attentive: bool = False,
    ) -> None:
        super().__init__()
        self.n_channels = n = channels(256, width)
        self.first = nn.Linear(latent, n * 16)
        eps = EPS_ATTENTIVE if attentive else EPS
        self.blocks = nn.ModuleList(_UpBlock(n, n_classes, eps) for _ in range(3))
        self.attention = SelfAttention(n) if attentive else nn.Identity()
        self.norm = nn.BatchNorm2d(n, eps)
        self.last = nn.Conv2d(n, 3, 3, padding=1)
        _initialise(self, gain=1.0 if attentive else SQRT2, spectral=attentive)

    def forward(self, z: Tensor, labels: Tensor) -> Tensor:
        x = self.first(z).view(-1, self.n_channels, 4, 4)
        for i, block in enumerate(self.blocks):
            x = block(x, labels)
            if i == 1:  # 16×16
                x = self.attention(x)
        return torch.tanh(self.last(self.norm(x).relu()))


@final
class ResDiscriminator(nn.Module):
    """One score for each image and class; attentive: SAGAN's."""

    def __init__(
        self, *, n_classes: int, width: float = 1.0, attentive: bool = False
    ) -> None:
        super().__init__()
        n = channels(128, width)
        self.blocks = nn.ModuleList(
            _DownBlock(3 if i == 0 else n, n, halves=i < 2, first=i == 0)
            for i in range(4)
        )
        self.attention = SelfAttention(n) if attentive else nn.Identity()
        self.score = nn.Linear(n, 1)
        self.classes = nn.Embedding(n_classes, n)
        _initialise(self, gain=1.0 if attentive else SQRT2, spectral=True)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        x = images
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i == 0:  # 16×16
                x = self.attention(x)
        h = x.relu().sum((2, 3))
        return self.score(h).squeeze(1) + (self.classes(labels) * h).sum(1)


@final
class SelfAttention(nn.Module):
    """Every pixel looks at all others; begins as nothing."""

    def __init__(self, n: int) -> None:
        super().__init__()
        inner, half = max(1, n // 8), max(1, n // 2)
        self.queries = nn.Conv2d(n, inner, 1, bias=False)
        self.keys = nn.Conv2d(n, inner, 1, bias=False)
        self.values = nn.Conv2d(n, half, 1, bias=False)
        self.out = nn.Conv2d(half, n, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        queries = self.queries(x).flatten(2)
        keys = max_pool2d(self.keys(x), 2).flatten(2)
        values = max_pool2d(self.values(x), 2).flatten(2)
        weights = torch.softmax(queries.transpose(1, 2) @ keys, dim=2)
        seen = values @ weights.transpose(1, 2)
        height, width = x.shape[2:]
        return x + self.gamma * self.out(seen.view(len(x), -1, height, width))


@final
class ConditionalNorm(nn.Module):
    """BatchNorm whose scale and shift are those of an image's class."""

    def __init__(self, n: int, n_classes: int, eps: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(n, eps, affine=False)
        self.scale = nn.Embedding(n_classes, n)
        self.shift = nn.Embedding(n_classes, n)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        scale, shift = (e(labels)[:, :, None, None] for e in (self.scale, self.shift))
        return scale * self.norm(x) + shift


@final
class _UpBlock(nn.Module):
    def __init__(self, n: int, n_classes: int, eps: float) -> None:
        super().__init__()
        self.norm1 = ConditionalNorm(n, n_classes, eps)
        self.conv1 = nn.Conv2d(n, n, 3, padding=1)
        self.norm2 = ConditionalNorm(n, n_classes, eps)
        self.conv2 = nn.Conv2d(n, n, 3, padding=1)
        self.shortcut = nn.Conv2d(n, n, 1)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        h = self.conv1(_doubled(self.norm1(x, labels).relu()))
        h = self.conv2(self.norm2(h, labels).relu())
        # A 1×1 kernel commutes with copying pixels, on a quarter of them.
        return h + _doubled(self.shortcut(x))


@final
class _DownBlock(nn.Module):
    """first: of the image itself, which no rectifier comes before."""

    def __init__(self, of: int, to: int, *, halves: bool, first: bool) -> None:
        super().__init__()
        self.halves, self.first = halves, first
        self.conv1 = nn.Conv2d(of, to, 3, padding=1)
        self.conv2 = nn.Conv2d(to, to, 3, padding=1)
        changes = halves or of != to
        self.shortcut = nn.Conv2d(of, to, 1) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv1(x if self.first else x.relu())
        h = self.conv2(h.relu())
        if not self.halves:
            return h + self.shortcut(x)
        # The mean of four pixels and a 1×1 kernel commute too.
        return avg_pool2d(h, 2) + self.shortcut(avg_pool2d(x, 2))


def _doubled(x: Tensor) -> Tensor:
    return interpolate(x, scale_factor=2, mode="nearest")


def _initialise(net: nn.Module, *, gain: float, spectral: bool) -> None:
    """Draw every weight, and divide by singular values where that is wanted.

    gain: of the 3×3 kernels in blocks.
    """
    named: list[tuple[str, nn.Module]] = [*net.named_modules()]  # pyright: ignore
    for name, module in named:
        if isinstance(module, ConditionalNorm):
            nn.init.ones_(module.scale.weight)
            nn.init.zeros_(module.shift.weight)
        elif isinstance(module, nn.Conv2d | nn.Linear | nn.Embedding):
            if name.endswith((".scale", ".shift")):  # of a class
                continue
            is_inner = name.endswith((".conv1", ".conv2"))
            nn.init.xavier_uniform_(module.weight, gain if is_inner else 1.0)
            bias: Any = getattr(module, "bias", None)
            if bias is not None:
                nn.init.zeros_(bias)
            if spectral:
                spectral_norm(module)
