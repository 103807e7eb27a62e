"""Generative adversarial networks: two networks, two optimizers, one session.

A step is `n_discriminator` steps of the discriminator and one of the generator; their
losses are in `adversaries`. Images and latents of a step are functions of (seed, step).
Samples are measured by the Fréchet distance of their features to those of real images.
"""

import io
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

import torch
from PIL import Image
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from acprop import checks, ranks
from acprop.checks import UserError
from acprop.tasks.adversaries import LOSSES, Kind, networks, relativistic_losses
from acprop.tasks.data.images import load
from acprop.tasks.data.sampling import split
from acprop.tasks.features import FeatureName, features, metric_of, real_gaussian
from acprop.tasks.frechet import distance, fit
from acprop.tasks.learner import Trained
from acprop.tasks.settings import check_types
from acprop.tasks.task import Metrics, OptimizerFactory, derive_seed, random_stream

SAMPLING_BATCH = 100
GRID = 8  # samples on each side of the picture


@dataclass(frozen=True, slots=True)
class GanSettings:
    """What decides the numbers of a run, besides seed and optimizer.

    width: factor on the channels of both networks; discriminator_width: of that one,
        where it differs.
    latent: how many normal numbers an image is made of.
    n_discriminator: steps of the discriminator before each of the generator.
    steps_per_epoch: of the generator; an epoch is a unit of length here.
    n_train, n_test: so many images; None is all. n_validation: held out of training.
    n_samples: generated images, compared with those for validation and for the test.
    average: the decay of a running mean of the generator's weights, which is then what
        is evaluated; None takes the weights themselves.
    n_evaluations: a distance is the mean of so many, the last ones; one alone may be
        twice the next.
    channels_last: the layout of images and kernels; last bits differ, and on a CPU
        residual networks take a quarter less time.
    """

    kind: Kind
    dataset: str = "cifar10"
    width: float = 1.0
    discriminator_width: float | None = None
    batch: int = 64
    latent: int = 128
    n_discriminator: int = 1
    steps_per_epoch: int = 1000
    n_train: int | None = None
    n_validation: int = 5000
    n_test: int | None = None
    n_samples: int = 10_000
    average: float | None = None
    features: FeatureName = "lite0"
    n_evaluations: int = 1
    channels_last: bool = False

    def __post_init__(self) -> None:
        check_types(self)
        checks.positive("width", self.width)
        if self.discriminator_width is not None:
            checks.positive("discriminator_width", self.discriminator_width)
        for name in ("n_validation", "n_samples", "n_test"):
            if (n := getattr(self, name)) is not None:
                checks.integer(name, n, least=2)  # a covariance needs two
        if self.average is not None:
            checks.decay("average", self.average)


class GanTask:
    """Train a generator to make images that a discriminator takes for real."""

    def __init__(self, settings: GanSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.name = f"gan/{settings.dataset}-{settings.kind}"
        images = load(settings.dataset)
        if images.train_x.shape[1:] != (3, 32, 32):
            raise UserError(
                "dataset must have images of (3, 32, 32) bytes, got "
                f"{settings.dataset} with {tuple(images.train_x.shape[1:])}"
            )
        self.images = split(
            images,
            n_train=settings.n_train,
            n_validation=settings.n_validation,
            n_test=settings.n_test,
        )
        self.features = features(settings.features, device)
        x = (self.images.train_x, self.images.val_x, self.images.test_x)
        self.train_x, val_x, test_x = cast(tuple[Tensor, Tensor, Tensor], x)
        self.real = {
            "val": real_gaussian(self.features, val_x),
            "test": real_gaussian(self.features, test_x),
        }
        identity = self.features.identity
        self.source = {settings.dataset: self.images.source, "features": identity}

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "GanSession":
        """Same seed: same weights, images and latents for every optimizer."""
        return GanSession(self, seed, optimizer)


class GanSession:
    """One run."""

    def __init__(self, task: GanTask, seed: int, optimizer: OptimizerFactory) -> None:
        if ranks.world() > 1:
            raise UserError(
                f"ranks must be 1 for a gan task, got {ranks.world()}; run it without "
                "torchrun"
            )
        if optimizer.needs_graph:
            raise UserError(
                "optimizer must not differentiate its gradients in a gan task, got one "
                "that does; choose another than adahessian"
            )
        self.task, self.settings, self.seed = task, task.settings, seed
        self.images, self.device = task.images, task.device
        s = self.settings
        self.losses, self.steps_per_epoch = LOSSES[s.kind], s.steps_per_epoch
        made = networks(
            s.kind,
            latent=s.latent,
            n_classes=self.images.n_classes,
            widths=(s.width, s.discriminator_width or s.width),
            seed=seed,
        )
        layout = torch.channels_last if s.channels_last else torch.preserve_format
        self.generator, self.discriminator = (
            Trained(net.to(self.device, memory_format=layout).train(), optimizer)  # pyright: ignore
            for net in made
        )
        self.average = None
        if s.average is not None:  # weights trail behind; other numbers do not
            trail: Any = get_ema_multi_avg_fn(s.average)  # pyright: ignore
            self.average = AveragedModel(made[0], multi_avg_fn=trail)
        self.n_steps = 0
        self.distances: list[Metrics] = []
        # Losses of generator and discriminator, and their steps.
        self.sums = torch.zeros(4, dtype=torch.float64)
        # What an optimizer may draw of its own is seeded as well.
        torch.manual_seed(derive_seed(seed, "global"))  # pyright: ignore

    def scale_lr(self, factor: float) -> None:
        self.generator.scale_lr(factor)
        self.discriminator.scale_lr(factor)

    def train_step(self) -> Metrics:
        """Some steps of the discriminator, one of the generator, whose loss it is."""
        n = self.settings.n_discriminator
        of_d = sum(self._discriminator_step(i) for i in range(n))
        of_g = self._generator_step(n)
        self.n_steps += 1
        self.sums += torch.tensor([of_g, 1.0, of_d, n], dtype=torch.float64)
        return {"loss": of_g, "discriminator_loss": of_d / n}

    def _discriminator_step(self, i: int) -> float:
        player = self.discriminator
        real, labels, z, wanted = self.batch(self.n_steps, i)
        with torch.no_grad():
            fake = self.generator.net(z, wanted)
        loss, _ = self.losses(player.net(real, labels), player.net(fake, wanted))
        return _descend(player, loss)

    def _generator_step(self, i: int) -> float:
        discriminator = self.discriminator.net
        real, labels, z, wanted = self.batch(self.n_steps, i)
        discriminator.requires_grad_(False)  # its gradients are not needed here
        fake = discriminator(self.generator.net(z, wanted), wanted)
        is_relative = self.losses is relativistic_losses  # else not looked at
        _, loss = self.losses(
            discriminator(real, labels) if is_relative else fake, fake
        )
        found = _descend(self.generator, loss)
        discriminator.requires_grad_(True)
        if self.average is not None:
            self.average.update_parameters(self.generator.net)
        return found

    def batch(self, step: int, i: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Real images, half of them mirrored, with labels; latents and classes."""
        s, train_x = self.settings, self.task.train_x
        draw = random_stream(self.seed, "batch", step, i)
        rows = torch.randint(len(train_x), (s.batch,), generator=draw)
        mirrored = torch.rand(s.batch, generator=draw) < 0.5
        z = torch.randn(s.batch, s.latent, generator=draw)
        wanted = torch.randint(self.images.n_classes, (s.batch,), generator=draw)
        x = train_x[rows]
        x = torch.where(mirrored[:, None, None, None], x.flip(3), x).float()
        if s.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        found = (x / 127.5 - 1, self.images.train_y[rows], z, wanted)
        real, labels, z, wanted = (t.to(self.device) for t in found)
        return real, labels, z, wanted

    @torch.no_grad()
    def samples(self, n: int) -> Tensor:
        """The first n of a fixed row of samples, as bytes; classes take turns."""
        net = self.generator.net if self.average is None else self.average
        draw = random_stream(self.seed, "samples")
        made: list[Tensor] = []
        net.eval()
        with self.generator.evaluated():
            for begin in range(0, n, SAMPLING_BATCH):
                # Always a whole batch: the first samples do not depend on n.
                z = torch.randn(SAMPLING_BATCH, self.settings.latent, generator=draw)
                end = begin + SAMPLING_BATCH
                labels = torch.arange(begin, end) % self.images.n_classes
                x = net(z.to(self.device), labels.to(self.device)).cpu()
                made.append(((x + 1) * 127.5).round().clamp(0, 255).byte())
        net.train()
        return torch.cat(made)[:n]

    def evaluate(self) -> Metrics:
        """What the epoch came to; the test images are for curves, not for choosing."""
        (of_g, n_g, of_d, n_d), self.sums = self.sums, torch.zeros_like(self.sums)
        made = fit(self.task.features(self.samples(self.settings.n_samples)))
        name, real = metric_of(self.settings.features), self.task.real
        now = {f"{part}_{name}": distance(real[part], made) for part in real}
        last = [*self.distances, now][-self.settings.n_evaluations :]
        self.distances = last
        return {
            "train_generator_loss": float(of_g / n_g),
            "train_discriminator_loss": float(of_d / n_d),
            "samples": float(n_d) * self.settings.batch,
            **{key: fmean(each[key] for each in last) for key in now},
        }

    def artifacts(self) -> dict[str, bytes]:
        """The same samples at every evaluation, as a picture."""
        grid = self.samples(GRID * GRID).view(GRID, GRID, 3, 32, 32)
        pixels = grid.permute(0, 3, 1, 4, 2).reshape(GRID * 32, GRID * 32, 3)
        picture = io.BytesIO()
        Image.fromarray(pixels.numpy()).save(picture, "png")
        return {f"samples-{self.n_steps:06d}.png": picture.getvalue()}

    def state_dict(self) -> dict[str, Any]:
        """Everything; images and latents follow from the seed and the step."""
        return {
            "generator": self.generator.state_dict(),
            "discriminator": self.discriminator.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
            "sums": self.sums.clone(),
            "distances": self.distances,
            "step": self.n_steps,
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.generator.load_state_dict(state["generator"])
        self.discriminator.load_state_dict(state["discriminator"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.sums = state["sums"].clone()
        self.distances = list(state["distances"])
        self.n_steps = state["step"]
        torch.set_rng_state(state["rng"])


def _descend(player: Trained, loss: Tensor) -> float:
    player.optimizer.zero_grad(set_to_none=True)
    loss.backward()  # pyright: ignore
    player.optimizer.step()
    return float(loss.detach())
