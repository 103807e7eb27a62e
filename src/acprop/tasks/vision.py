"""Image classification: a network, a dataset, cross-entropy."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from acprop import ranks
from acprop.checks import UserError
from acprop.tasks import nets
from acprop.tasks.data.images import Images, load
from acprop.tasks.data.sampling import split
from acprop.tasks.feed import Feed
from acprop.tasks.learner import NetworkSession, Pair, mean_loss
from acprop.tasks.settings import StepSettings
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


class VisionTask:
    """Train a network to tell images apart."""

    def __init__(self, settings: VisionSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.name = f"vision/{settings.dataset}-{settings.net}"
        images = split(
            load(settings.dataset, size=settings.size or 224),
            n_train=settings.n_train,
            n_validation=settings.n_validation,
            n_test=settings.n_test,
        )
        self.feed = Feed(images)
        self.source = {settings.dataset: images.source}

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "VisionSession":
        """Same seed: same weights and data order for every optimizer."""
        return VisionSession(self, seed, optimizer)


class VisionSession(NetworkSession[VisionSettings]):
    """One run. sums: losses, right answers, images."""

    def __init__(
        self, task: VisionTask, seed: int, optimizer: OptimizerFactory
    ) -> None:
        s, self.feed = task.settings, task.feed
        net = _network(s, self.feed.images, seed)
        super().__init__(net, optimizer, s, seed, task.device, batch=s.batch, n_sums=3)
        self.n_train = len(self.feed.images.train_y)
        self.steps_per_epoch = self.n_train // s.batch
        if not self.steps_per_epoch:
            raise UserError(
                f"batch must be at most the {self.n_train} training images, "
                f"got {s.batch}"
            )
        self.order: dict[int, Tensor] = {}  # of the running epoch

    def train_step(self) -> Metrics:
        sums = self.descend(*self.batch(), measure)
        self.sums += sums
        return {"loss": float(sums[0] / sums[2])}

    def batch(self) -> tuple[Tensor, Tensor]:
        """This rank's rows of the global batch of this step."""
        s = self.settings
        epoch, place = divmod(self.n_steps, self.steps_per_epoch)
        if epoch not in self.order:
            order = random_stream(self.seed, "order", epoch)
            self.order = {epoch: torch.randperm(self.n_train, generator=order)}
        batch = self.order[epoch][place * s.batch : (place + 1) * s.batch]
        draw = random_stream(self.seed, "crop", self.n_steps) if s.augment else None
        return self._prepared(*self.feed.training(batch, draw, part=self.share))

    def _prepared(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x, size = x.to(self.device), self.settings.size
        if size is not None and x.shape[-1] != size:
            x = nn.functional.interpolate(x, (size, size), mode="bilinear")
        if self.settings.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x, y.to(self.device)

    def metrics(self, sums: Tensor) -> Metrics:
        out = {
            "train_loss": float(sums[0] / sums[2]),
            "train_accuracy": float(sums[1] / sums[2]),
            "samples": float(sums[2]),
        }
        # BatchNorm's averages are of a rank's own slices: all take the first's.
        for buffer in self.net.buffers():
            ranks.copy_from_first(buffer)
        for part in ("val", "test"):
            loss, accuracy = self._evaluated(part)
            out |= {f"{part}_loss": loss, f"{part}_accuracy": accuracy}
        return out

    def _evaluated(self, part: Literal["val", "test"]) -> tuple[float, float]:
        n, size = len(self.feed.images.part(part)[1]), EVALUATION_BATCH

        def batch(i: int) -> Pair:
            rows = slice(i * size, (i + 1) * size)
            return self._prepared(*self.feed.evaluation_rows(part, rows))

        loss, right = self.sum_over_batches(
            -(-n // size), batch, _evaluation_sums, n_sums=2
        )
        return float(loss / n), float(right / n)


def measure(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss; and the sums of losses, of right answers, of images."""
    right = (logits.argmax(1) == y).sum()
    return mean_loss(cross_entropy(logits, y), float(right), len(y))


def _evaluation_sums(logits: Tensor, y: Tensor) -> Tensor:
    loss = cross_entropy(logits, y, reduction="sum")
    right = (logits.argmax(1) == y).sum()
    return torch.tensor([float(loss), float(right)], dtype=torch.float64)


def _network(settings: VisionSettings, images: Images, seed: int) -> nn.Module:
    _, channels, height, width = images.train_x.shape
    side = settings.size
    with weights_of(seed):
        net = nets.build(
            settings.net,
            n_classes=images.n_classes,
            image=(channels, side or height, side or width),
            stem=settings.stem,
            width=settings.width,
            depth=settings.depth,
        )
    if settings.channels_last:
        net.to(memory_format=torch.channels_last)  # pyright: ignore
    return net
