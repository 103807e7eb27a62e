"""Language modelling: a GPT predicts the next byte of a text.

A step's sequences begin at random places of the training part, a function of (seed,
step) alone. Losses are in nats per byte; bits per byte are nats / ln 2. Validation and
test are a fixed number of windows, evenly spread over their parts and never
overlapping, so that the end of an epoch costs the same whatever the text's length.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from acprop.checks import UserError
from acprop.tasks.data.texts import load_text, set_of
from acprop.tasks.learner import Learner, Pair, second_moment
from acprop.tasks.nets.gpt import GPT, Sizes
from acprop.tasks.settings import StepSettings, read
from acprop.tasks.task import Metrics, OptimizerFactory, random_stream, weights_of

EVALUATION_BATCH = 64


@dataclass(frozen=True, slots=True)
class LanguageSettings(StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    text: the name of a set, or the path of a file.
    layers, width, heads, context: of the network, see `Sizes`.
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
        _ = self.sizes, self.dataset  # which check the rest

    @property
    def sizes(self) -> Sizes:
        """Of the network."""
        return Sizes(self.layers, self.width, self.heads, self.context)

    @property
    def dataset(self) -> str | None:
        """The set to be fetched; none for a file of the user's."""
        return set_of(self.text)


def settings(plain: dict[str, Any]) -> LanguageSettings:
    """Read settings from plain values; an unknown one is refused."""
    return read(LanguageSettings, "language", plain)


class LanguageTask:
    """Train a network to continue a text."""

    def __init__(self, settings: LanguageSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.text = load_text(settings.text)
        self.name = f"language/{self.text.name}-gpt"
        self.windows = {
            "val": windows("n_validation", settings, self.text.val),
            "test": windows("n_test", settings, self.text.test),
        }

    @property
    def source(self) -> dict[str, Any]:
        """Where the bytes came from."""
        return {self.text.name: self.text.source}

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


class LanguageSession:
    """One run."""

    def __init__(
        self, task: LanguageTask, seed: int, optimizer: OptimizerFactory
    ) -> None:
        self.settings, self.text, self.seed = task.settings, task.text, seed
        self.windows, self.device = task.windows, task.device
        with weights_of(seed):
            net = GPT(self.settings.sizes)
        s, device = self.settings, self.device
        self.learner = Learner(net, optimizer, s, seed, device, batch=s.batch)
        self.steps_per_epoch = self.settings.steps_per_epoch
        # Loss and bytes; of all ranks, as one rank's checkpoint is all's.
        self.sums = torch.zeros(2, dtype=torch.float64)

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        self.learner.scale_lr(factor)

    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""
        mine = self.sequences(self.learner.n_steps)[self.learner.share]
        pieces = self.learner.pieces(*self._pair(mine))
        sums = self.learner.step(pieces, _measure)
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

    def evaluate(self) -> Metrics:
        """What the epoch came to; the test part is for curves, never for choosing."""
        sums, self.sums = self.sums, torch.zeros_like(self.sums)
        out = {
            "train_loss": float(sums[0] / sums[1]),
            "samples": float(sums[1]) / self.settings.context,
        }
        for part in ("val", "test"):
            loss = self._mean_loss(self.windows[part])
            out |= {f"{part}_loss": loss, f"{part}_bits_per_byte": loss / math.log(2)}
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.learner.optimizer)
        return out

    def _mean_loss(self, windows: Tensor) -> float:
        size = EVALUATION_BATCH

        def batch(i: int) -> Pair:
            return self._pair(windows[i * size : (i + 1) * size])

        n_batches = -(-len(windows) // size)
        (loss,) = self.learner.sum_over_batches(
            n_batches, batch, _evaluation_sums, n_sums=1
        )
        return float(loss) / (len(windows) * self.settings.context)

    def state_dict(self) -> dict[str, Any]:
        """Everything; the sequences follow from the seed, the step and the text."""
        return {
            **self.learner.state_dict(),
            "sums": self.sums.clone(),
            "text": self.text.sha256,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        if state["text"] != self.text.sha256:
            raise UserError(
                f"{self.text.name} must have sha256 {state['text'][:12]}… as when the "
                f"run began, got {self.text.sha256[:12]}…; begin again with --restart"
            )
        self.learner.load_state_dict(state)
        self.sums = state["sums"].clone()


def _measure(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss; and the sums of losses and of bytes."""
    loss = cross_entropy(logits.flatten(0, 1), y.flatten())
    seen = [float(loss.detach()) * y.numel(), float(y.numel())]
    return loss, torch.tensor(seen, dtype=torch.float64)


def _evaluation_sums(logits: Tensor, y: Tensor) -> Tensor:
    loss = cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
    return loss.double().cpu().reshape(1)
