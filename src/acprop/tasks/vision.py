"""Image classification: a network, a dataset, cross-entropy."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from acprop.checks import UserError
from acprop.tasks import nets
from acprop.tasks.feed import Feed, feed
from acprop.tasks.learner import Learner, Pair, second_moment
from acprop.tasks.settings import StepSettings, read
from acprop.tasks.task import Metrics, OptimizerFactory, random_stream, weights_of

EVALUATION_BATCH = 500


@dataclass(frozen=True, slots=True)
class VisionSettings(StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    n_train, n_test: None is all there are; otherwise so many of them.
    n_validation: held out of the training set, for selection.
    size: side to which images are resized; None leaves them, and cuts pictures in
        folders to 224.
    """

    dataset: str
    net: str
    batch: int = 128
    width: float = 1.0
    depth: float = 1.0
    stem: Literal["cifar", "imagenet"] = "cifar"
    n_train: int | None = None
    n_validation: int = 5000
    n_test: int | None = None
    size: int | None = None
    augment: bool = True
    channels_last: bool = False


def settings(plain: dict[str, Any]) -> VisionSettings:
    """Read settings from plain values; an unknown one is refused."""
    return read(VisionSettings, "vision", plain)


class VisionTask:
    """Train a network to tell images apart."""

    def __init__(self, settings: VisionSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.name = f"vision/{settings.dataset}-{settings.net}"
        self.feed = feed(
            settings.dataset,
            n_train=settings.n_train,
            n_validation=settings.n_validation,
            n_test=settings.n_test,
            size=settings.size or 224,
        )

    @property
    def source(self) -> dict[str, Any]:
        """Where the bytes came from."""
        return {self.settings.dataset: self.feed.source}

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "VisionSession":
        """Same seed: same weights and data order for every optimizer."""
        return VisionSession(self.settings, self.feed, seed, optimizer, self.device)


class VisionSession:
    """One run."""

    def __init__(
        self,
        settings: VisionSettings,
        feed: Feed,
        seed: int,
        optimizer: OptimizerFactory,
        device: str,
    ) -> None:
        self.settings, self.feed, self.seed = settings, feed, seed
        self.device = device
        net = _network(settings, feed, seed)
        if settings.channels_last:
            _to_channels_last(net)
        self.learner = Learner(
            net, optimizer, settings, seed, device, batch=settings.batch
        )
        self.net, self.model = self.learner.net, self.learner.model
        self.optimizer = self.learner.optimizer
        self.steps_per_epoch = feed.n_train // settings.batch
        if not self.steps_per_epoch:
            raise UserError(
                f"batch must be at most the {feed.n_train} training images, "
                f"got {settings.batch}"
            )
        # Loss, right answers, samples; of all ranks, as one rank's checkpoint is all's.
        self.sums = torch.zeros(3, dtype=torch.float64)
        self.order = Tensor()

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        self.learner.scale_lr(factor)

    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""
        sums = self.learner.step(self._pieces(), _measure)
        self.sums += sums
        return {"loss": float(sums[0] / sums[2])}

    def _pieces(self) -> list[Pair]:
        """This rank's slices of the global batch of this step."""
        s, step = self.settings, self.learner.n_steps
        epoch, place = divmod(step, self.steps_per_epoch)
        if place == 0 or not len(self.order):
            order = random_stream(self.seed, "order", epoch)
            self.order = torch.randperm(self.feed.n_train, generator=order)
        batch = self.order[place * s.batch : (place + 1) * s.batch]
        # Drawn for the whole batch, so that a rank sees the numbers of its slice.
        draw = random_stream(self.seed, "crop", step)
        x, y = self.feed.training(
            batch, draw if s.augment else None, n=s.batch, part=self.learner.share
        )
        return self.learner.pieces(self._prepared(x), y.to(self.device))

    def _prepared(self, x: Tensor) -> Tensor:
        x, size = x.to(self.device), self.settings.size
        if size is not None and x.shape[-1] != size:
            x = nn.functional.interpolate(x, (size, size), mode="bilinear")
        if self.settings.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x

    def evaluate(self) -> Metrics:
        """What the epoch came to; the test set is for curves, never for choosing."""
        sums, self.sums = self.sums, torch.zeros_like(self.sums)
        out = {
            "train_loss": float(sums[0] / sums[2]),
            "train_accuracy": float(sums[1] / sums[2]),
            "samples": float(sums[2]),
        }
        self.learner.agree_on_buffers()
        for part in ("val", "test"):
            loss, accuracy = self._evaluated(part)
            out |= {f"{part}_loss": loss, f"{part}_accuracy": accuracy}
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.optimizer)
        return out

    def _evaluated(self, part: str) -> tuple[float, float]:
        n, size = self.feed.n_evaluation[part], EVALUATION_BATCH

        def batch(i: int) -> Pair:
            x, y = self.feed.evaluation_rows(part, slice(i * size, (i + 1) * size))
            return self._prepared(x), y.to(self.device)

        loss, right = self.learner.sum_over_batches(
            -(-n // size), batch, _evaluation_sums, n_sums=2
        )
        return float(loss / n), float(right / n)

    def state_dict(self) -> dict[str, Any]:
        """Everything; data order and crops follow from the seed and the step."""
        return {**self.learner.state_dict(), "sums": self.sums.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.learner.load_state_dict(state)
        self.sums = state["sums"].clone()
        self.order = Tensor()


def _measure(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss; and the sums of losses, of right answers, of images."""
    loss = cross_entropy(logits, y)
    right = (logits.argmax(1) == y).sum()
    seen = [float(loss.detach()) * len(y), float(right), float(len(y))]
    return loss, torch.tensor(seen, dtype=torch.float64)


def _evaluation_sums(logits: Tensor, y: Tensor) -> Tensor:
    loss = cross_entropy(logits, y, reduction="sum")
    right = (logits.argmax(1) == y).sum()
    return torch.tensor([float(loss), float(right)], dtype=torch.float64)


def _network(settings: VisionSettings, feed: Feed, seed: int) -> nn.Module:
    channels, height, width = feed.shape
    side = settings.size
    with weights_of(seed):
        return nets.build(
            settings.net,
            n_classes=feed.n_classes,
            image=(channels, side or height, side or width),
            stem=settings.stem,
            width=settings.width,
            depth=settings.depth,
        )


def _to_channels_last(net: nn.Module) -> None:
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            weight = module.weight
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)
