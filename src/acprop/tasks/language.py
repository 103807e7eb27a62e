"""Language modelling: a GPT predicts the next byte of a text.

A step's sequences begin at random places of the training part, a function of (seed,
step) alone. Losses are in nats per byte; bits per byte are nats / ln 2. Validation and
test are a fixed number of windows, evenly spread over their parts and never
overlapping, so that the end of an epoch costs the same whatever the text's length.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from acprop.checks import UserError
from acprop.tasks.data.texts import load_text, set_of
from acprop.tasks.learner import NetworkSession, Pair, mean_loss
from acprop.tasks.nets.gpt import GPT
from acprop.tasks.settings import StepSettings
from acprop.tasks.task import Metrics, OptimizerFactory, random_stream, weights_of

EVALUATION_BATCH = 64


@dataclass(frozen=True, slots=True)
class LanguageSettings(StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    text: the name of a set, or the path of a file.
    layers, width, heads, context: of the network, see `GPT`.
    batch: so many sequences of `context` bytes.
    steps_per_epoch: an epoch is a unit of length here, not a pass over the text.
    n_validation, n_test: so many windows of `context` bytes; None is all there are.
    """

    text: str
    layers: int = 3
    width: int = 96
    heads: int = 4
    context: int = 64
    batch: int = 16
    steps_per_epoch: int = 100
    n_validation: int | None = 256
    n_test: int | None = 256

    def __post_init__(self) -> None:
        StepSettings.__post_init__(self)
        if self.width % self.heads:
            raise UserError(
                f"width must be a multiple of heads = {self.heads}, got {self.width}"
            )
        _ = self.dataset  # which checks the text

    @property
    def dataset(self) -> str | None:
        """The set to be fetched; none for a file of the user's."""
        return set_of(self.text)

    def network(self) -> GPT:
        """Its weights are drawn from torch's global generator."""
        return GPT(
            layers=self.layers,
            width=self.width,
            heads=self.heads,
            context=self.context,
        )


class LanguageTask:
    """Train a network to continue a text."""

    def __init__(self, settings: LanguageSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.text = load_text(settings.text)
        self.name = f"language/{self.text.name}-gpt"
        self.source = {self.text.name: self.text.source}
        self.windows = {
            "val": windows("n_validation", settings, self.text.val),
            "test": windows("n_test", settings, self.text.test),
        }

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "LanguageSession":
        """Same seed: same weights and the same sequences for every optimizer."""
        return LanguageSession(self, seed, optimizer)


def windows(argument: str, settings: LanguageSettings, part: Tensor) -> Tensor:
    """[n, context + 1] bytes of a part: the first of n equal stretches each.

    A window's last byte is only an answer; the next window may begin with it.
    """
    context, room = settings.context, len(part) - 1
    if context > room:
        raise UserError(
            f"context must be at most {max(room, 0)}, the part's {len(part)} bytes "
            f"less one, got {context}; give a longer text"
        )
    most = room // context
    n: int = getattr(settings, argument) or most
    if n > most:
        raise UserError(
            f"{argument} must be in [1, {most}], the windows of {context} bytes in "
            f"{len(part)}, got {n}"
        )
    return _cut(part, torch.arange(n) * room // n, context)


def _cut(part: Tensor, begins: Tensor, context: int) -> Tensor:
    return part[begins[:, None] + torch.arange(context + 1)].long()


class LanguageSession(NetworkSession[LanguageSettings]):
    """One run. sums: loss and bytes."""

    def __init__(
        self, task: LanguageTask, seed: int, optimizer: OptimizerFactory
    ) -> None:
        s = task.settings
        with weights_of(seed):
            net = s.network()
        super().__init__(net, optimizer, s, seed, task.device, batch=s.batch, n_sums=2)
        self.text, self.windows = task.text, task.windows
        self.steps_per_epoch = s.steps_per_epoch
        self.checksums = {"text": self.text.sha256}

    def train_step(self) -> Metrics:
        mine = self.sequences(self.n_steps)[self.share]
        sums = self.descend(*self._pair(mine), _measure)
        self.sums += sums
        return {"loss": float(sums[0] / sums[1])}

    def sequences(self, step: int) -> Tensor:
        """[batch, context + 1] bytes of the global batch of a step, for all ranks."""
        s, train = self.settings, self.text.train
        draw = random_stream(self.seed, "places", step)
        begins = torch.randint(len(train) - s.context, (s.batch,), generator=draw)
        return _cut(train, begins, s.context)

    def _pair(self, sequences: Tensor) -> Pair:
        """What is read, and the byte that follows each."""
        sequences = sequences.to(self.device)
        return sequences[:, :-1], sequences[:, 1:]

    def metrics(self, sums: Tensor) -> Metrics:
        out = {
            "train_loss": float(sums[0] / sums[1]),
            "samples": float(sums[1]) / self.settings.context,
        }
        for part in ("val", "test"):
            loss = self._mean_loss(self.windows[part])
            out |= {f"{part}_loss": loss, f"{part}_bits_per_byte": loss / math.log(2)}
        return out

    def _mean_loss(self, windows: Tensor) -> float:
        size = EVALUATION_BATCH
        (loss,) = self.sum_over_batches(
            -(-len(windows) // size),
            lambda i: self._pair(windows[i * size : (i + 1) * size]),
            _evaluation_sums,
            n_sums=1,
        )
        return float(loss) / (len(windows) * self.settings.context)


def _measure(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss; and the sums of losses and of bytes."""
    return mean_loss(cross_entropy(logits.flatten(0, 1), y.flatten()), y.numel())


def _evaluation_sums(logits: Tensor, y: Tensor) -> Tensor:
    loss = cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
    return loss.double().cpu().reshape(1)
