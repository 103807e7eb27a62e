"""The two that play against each other: their networks and losses.

With s = D(x) of real images and f = D(G(z)), means over the batch:

    dcgan          D: E log(1 + e^-s) + E log(1 + e^f)          G: E log(1 + e^-f)
    rlgan          D: E log(1 + e^-(s - E f)) + E log(1 + e^(f - E s))
                   G: E log(1 + e^-(f - E s)) + E log(1 + e^(s - E f))
    sngan, sagan   D: E max(0, 1 - s) + E max(0, 1 + f)         G: -E f

which is Radford et al. (2016) with the loss that does not saturate, the relativistic
average of Jolicoeur-Martineau (2018) on the same networks, and the hinge loss of Miyato
et al. (2018) and Zhang et al. (2019).
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import softplus

from acprop.tasks.nets.dcgan import DCDiscriminator, DCGenerator
from acprop.tasks.nets.sngan import ResDiscriminator, ResGenerator
from acprop.tasks.task import weights_of

Kind = Literal["dcgan", "rlgan", "sngan", "sagan"]
Losses = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def plain_losses(s: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Of discriminator and generator, from scores of real and generated images."""
    return softplus(-s).mean() + softplus(f).mean(), softplus(-f).mean()


def relativistic_losses(s: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Real images should score above the average of generated ones, and reversed."""
    s_over_f, f_over_s = s - f.mean(), f - s.mean()
    d = softplus(-s_over_f).mean() + softplus(f_over_s).mean()
    return d, softplus(-f_over_s).mean() + softplus(s_over_f).mean()


def hinge_losses(s: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Scores beyond ∓1 are good enough."""
    return (1 - s).relu().mean() + (1 + f).relu().mean(), -f.mean()


LOSSES: dict[Kind, Losses] = {
    "dcgan": plain_losses,
    "rlgan": relativistic_losses,
    "sngan": hinge_losses,
    "sagan": hinge_losses,
}


def networks(
    kind: Kind, *, latent: int, n_classes: int, widths: tuple[float, float], seed: int
) -> tuple[nn.Module, nn.Module]:
    """Generator and discriminator. widths: factors on the channels of each."""
    of_g, of_d = widths
    with weights_of(seed):
        if kind in ("dcgan", "rlgan"):
            return DCGenerator(latent=latent, width=of_g), DCDiscriminator(width=of_d)
        sagan = kind == "sagan"
        return (
            ResGenerator(
                latent=latent, width=of_g, n_classes=n_classes, attentive=sagan
            ),
            ResDiscriminator(width=of_d, n_classes=n_classes, attentive=sagan),
        )
