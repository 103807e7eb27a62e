"""DCGAN for 32×32 (Radford et al. 2016): strided convolutions and BatchNorm.

    generator       z → 512×4×4 → 256×8×8 → 128×16×16 → 3×32×32, tanh
    discriminator   3×32×32 → 128×16×16 → 256×8×8 → 512×4×4 → 1

That is the paper's Figure 1 without its largest stage, which made 64×64 of 32×32.
Kernels are 4×4 where the paper draws 5×5: a stride of 2 divides 4, and all public code
has them. No BatchNorm at either end at the image's side; rectifiers leak 0.2 in the
discriminator. Weights are N(0, 0.02²), BatchNorm's scales N(1, 0.02²). Labels have no
part in it.
"""

from typing import final

from torch import Tensor, nn

from acprop.tasks.nets.plan import channels

STD = 0.02
LEAK = 0.2


@final
class DCGenerator(nn.Module):
    """Latents to images in [-1, 1]."""

    def __init__(self, *, latent: int, width: float = 1.0) -> None:
        super().__init__()
        wide, middle, narrow = (channels(n, width) for n in (512, 256, 128))
        self.layers = nn.Sequential(
            nn.Unflatten(1, (latent, 1, 1)),
            *_up(latent, wide, stride=1, padding=0),
            *_up(wide, middle),
            *_up(middle, narrow),
            nn.ConvTranspose2d(narrow, 3, 4, 2, padding=1),
            nn.Tanh(),
        )
        _initialise(self)

    def forward(self, z: Tensor, _labels: Tensor) -> Tensor:
        """Images [n, 3, 32, 32]; labels are not looked at."""
        return self.layers(z)


@final
class DCDiscriminator(nn.Module):
    """One score for each image."""

    def __init__(self, *, width: float = 1.0) -> None:
        super().__init__()
        narrow, middle, wide = (channels(n, width) for n in (128, 256, 512))
        self.layers = nn.Sequential(
            nn.Conv2d(3, narrow, 4, 2, padding=1),
            nn.LeakyReLU(LEAK),
            *_down(narrow, middle),
            *_down(middle, wide),
            nn.Conv2d(wide, 1, 4),
            nn.Flatten(0),
        )
        _initialise(self)

    def forward(self, images: Tensor, _labels: Tensor) -> Tensor:
        """Scores [n]; labels are not looked at."""
        return self.layers(images)


def _up(of: int, to: int, stride: int = 2, padding: int = 1) -> list[nn.Module]:
    up = nn.ConvTranspose2d(of, to, 4, stride, padding, bias=False)
    return [up, nn.BatchNorm2d(to), nn.ReLU()]


def _down(of: int, to: int) -> list[nn.Module]:
    down = nn.Conv2d(of, to, 4, 2, padding=1, bias=False)
    return [down, nn.BatchNorm2d(to), nn.LeakyReLU(LEAK)]


def _initialise(net: nn.Module) -> None:
    for module in net.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, STD)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, STD)
