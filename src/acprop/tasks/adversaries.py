"""The two that play against each other: their networks, losses and optimizers.

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
from typing import Any, Literal, NamedTuple, final, get_args

from torch import Tensor, nn
from torch.nn.functional import softplus
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from acprop.tasks.nets.dcgan import DCDiscriminator, DCGenerator
from acprop.tasks.nets.sngan import ResDiscriminator, ResGenerator
from acprop.tasks.task import OptimizerFactory, weights_of

Kind = Literal["dcgan", "rlgan", "sngan", "sagan"]
KINDS: tuple[Kind, ...] = get_args(Kind)

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


class Sizes(NamedTuple):
    """How large the two are. widths: of generator and discriminator."""

    latent: int
    n_classes: int
    widths: tuple[float, float]


def networks(kind: Kind, sizes: Sizes, seed: int) -> tuple[nn.Module, nn.Module]:
    """Generator and discriminator."""
    of_g, of_d = sizes.widths
    with weights_of(seed):
        if kind in ("dcgan", "rlgan"):
            generator = DCGenerator(latent=sizes.latent, width=of_g)
            return generator, DCDiscriminator(width=of_d)
        n_classes, attentive = sizes.n_classes, kind == "sagan"
        generator = ResGenerator(
            latent=sizes.latent, width=of_g, n_classes=n_classes, attentive=attentive
        )
        return generator, ResDiscriminator(
            width=of_d, n_classes=n_classes, attentive=attentive
        )


@final
class Player:
    """One of the two networks, with its optimizer."""

    def __init__(self, net: nn.Module, optimizer: OptimizerFactory) -> None:
        self.net, self.optimizer = net.train(), optimizer(net)
        self.initial_lr = [group["lr"] for group in self.optimizer.param_groups]

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        for group, lr in zip(self.optimizer.param_groups, self.initial_lr, strict=True):
            group["lr"] = lr * factor

    def descend(self, loss: Tensor) -> None:
        """One step."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # pyright: ignore
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Weights and what the optimizer knows."""
        return {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])


def averaged(net: nn.Module, decay: float | None) -> AveragedModel | None:
    """A copy whose weights trail behind; its other numbers are the network's own."""
    if decay is None:
        return None
    return AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(decay))  # pyright: ignore
