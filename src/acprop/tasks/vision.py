"""Image classification: a network, a dataset, cross-entropy.

The global batch of a step is the same whatever the number of ranks and of accumulated
pieces: each takes its slice of it, and the mean of their gradients is the batch's.
"""

# torch has few types here:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from acprop.tasks import nets
from acprop.tasks.data import share
from acprop.tasks.feed import Feed, feed
from acprop.tasks.task import Metrics, OptimizerFactory, Target, stream

EVALUATION_BATCH = 500


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """What decides the numbers of a run, besides seed and optimizer.

    n_train, n_test: None is all there are; otherwise so many of them.
    n_validation: held out of the training set, for selection.
    size: side to which images are resized; None leaves them, and cuts pictures in
        folders to 224.
    accumulate: into how many pieces a rank cuts its part of the batch.
    second_moment: also record the mean of the optimizer's second-moment buffer.
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
    accumulate: int = 1
    channels_last: bool = False
    autocast: bool = False
    compile: bool = False
    second_moment: bool = False

    def __post_init__(self) -> None:
        for name in _COUNTS:
            n = getattr(self, name)
            if n is None and name in _OPTIONAL:
                continue
            if type(n) is not int:
                raise TypeError(f"{name} must be a whole number, got {n!r}")
            if n < 1:
                raise ValueError(f"{name} must be 1 or more, got {n}")
        for name in _FLAGS:
            if type(getattr(self, name)) is not bool:
                value = getattr(self, name)
                raise TypeError(f"{name} must be true or false, got {value!r}")


_COUNTS = ("batch", "n_train", "n_validation", "n_test", "size", "accumulate")
_OPTIONAL = ("n_train", "n_test", "size")
_FLAGS = ("augment", "channels_last", "autocast", "compile", "second_moment")


def settings(plain: dict[str, Any]) -> VisionSettings:
    """Read settings from plain values; an unknown one is refused."""
    known = [f.name for f in fields(VisionSettings)]
    for name in plain:
        if name not in known:
            raise ValueError(
                f"a vision task's setting must be one of {', '.join(known)}, got {name}"
            )
    return VisionSettings(**plain)


class VisionTask:
    """Train a network to tell images apart."""

    def __init__(self, settings: VisionSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.name = f"vision/{settings.dataset}-{settings.net}"
        self.target = Target("val_accuracy", "max")
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
        self.rank, self.world = _place()
        pieces = self.world * settings.accumulate
        if settings.batch % pieces:
            raise ValueError(
                f"batch must be a multiple of ranks × accumulate = {pieces}, got "
                f"{settings.batch}"
            )
        if settings.compile and optimizer.needs_graph:
            raise ValueError(
                "compile must be false for an optimizer that differentiates its "
                "gradients, got true; torch.compile keeps no graph of them"
            )
        self.net: nn.Module = _network(settings, feed, seed).to(device)
        if settings.channels_last:
            _to_channels_last(self.net)
        self.model = self._wrapped(self.net)
        self.optimizer = optimizer(self.net)
        self.needs_graph = optimizer.needs_graph
        self.initial_lr = [group["lr"] for group in self.optimizer.param_groups]
        self.steps_per_epoch = feed.n_train // settings.batch
        if not self.steps_per_epoch:
            raise ValueError(
                f"batch must be at most the {feed.n_train} training images, "
                f"got {settings.batch}"
            )
        self.step = 0
        # Loss, right answers, samples; of all ranks, as one rank's checkpoint is all's.
        self.sums = torch.zeros(3, dtype=torch.float64)
        self.order = Tensor()
        # What draws from the global stream (dropout) is seeded as well.
        torch.manual_seed(stream(seed, "global"))

    def _wrapped(self, net: nn.Module) -> nn.Module:
        if self.world > 1:
            if self.device.startswith("cuda"):
                net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
            net = DistributedDataParallel(net)
        return cast(nn.Module, torch.compile(net)) if self.settings.compile else net

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        for group, lr in zip(self.optimizer.param_groups, self.initial_lr, strict=True):
            group["lr"] = lr * factor

    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        pieces = self._pieces()
        sums = torch.zeros_like(self.sums)
        for i, (x, y) in enumerate(pieces):
            with self._synchronised(last=i == len(pieces) - 1):
                logits = self._logits(x)
                loss = cross_entropy(logits, y)
                self._backward(loss / len(pieces))
            right = (logits.argmax(1) == y).sum()
            sums += torch.tensor(
                [float(loss.detach()) * len(y), float(right), float(len(y))],
                dtype=torch.float64,
            )
        self.optimizer.step()
        self.step += 1
        sums = _total(sums)
        self.sums += sums
        return {"loss": float(sums[0] / sums[2])}

    def _synchronised(self, *, last: bool) -> AbstractContextManager[None]:
        """Ranks exchange gradients once a step; DDP decides it in the forward pass."""
        if isinstance(self.model, DistributedDataParallel) and not last:
            return self.model.no_sync()
        return nullcontext()

    def _backward(self, loss: Tensor) -> None:
        if not self.needs_graph:
            loss.backward()
            return
        with warnings.catch_warnings():  # torch warns of the cycle; zero_grad breaks it
            warnings.filterwarnings("ignore", "Using backward.*create_graph")
            loss.backward(create_graph=True)

    def _logits(self, x: Tensor) -> Tensor:
        kind = self.device.split(":")[0]
        half = self.settings.autocast
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            logits = self.model(x)
        return logits.float() if half else logits

    def _pieces(self) -> list[tuple[Tensor, Tensor]]:
        """This rank's slices of the global batch of this step."""
        s = self.settings
        epoch, place = divmod(self.step, self.steps_per_epoch)
        if place == 0 or not len(self.order):
            order = torch.Generator().manual_seed(stream(self.seed, "order", epoch))
            self.order = torch.randperm(self.feed.n_train, generator=order)
        batch = self.order[place * s.batch : (place + 1) * s.batch]
        # Drawn for the whole batch, so that a rank sees the numbers of its slice.
        draw = torch.Generator().manual_seed(stream(self.seed, "crop", self.step))
        mine = share(s.batch, self.rank, self.world)
        x, y = self.feed.training(
            batch, draw if s.augment else None, n=s.batch, part=mine
        )
        x, y = self._prepared(x), y.to(self.device)
        return list(zip(x.chunk(s.accumulate), y.chunk(s.accumulate), strict=True))

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
        _agree_on_buffers(self.net)
        for part in ("val", "test"):
            loss, accuracy = self._judge(part)
            out |= {f"{part}_loss": loss, f"{part}_accuracy": accuracy}
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.optimizer)
        return out

    @torch.no_grad()
    def _judge(self, part: str) -> tuple[float, float]:
        self.net.eval()
        n, size = self.feed.parts[part], EVALUATION_BATCH
        sums = torch.zeros(2, dtype=torch.float64)
        for i in range(self.rank, -(-n // size), self.world):
            x, y = self.feed.judged(part, slice(i * size, (i + 1) * size))
            logits, y = self.net(self._prepared(x)), y.to(self.device)
            loss = cross_entropy(logits, y, reduction="sum")
            right = (logits.argmax(1) == y).sum()
            sums += torch.tensor([float(loss), float(right)], dtype=torch.float64)
        sums = _total(sums) / n
        return float(sums[0]), float(sums[1])

    def state_dict(self) -> dict[str, Any]:
        """Everything; data order and crops follow from the seed and the step."""
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "sums": self.sums.clone(),
            "rng": torch.get_rng_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        self.sums = state["sums"].clone()
        self.order = Tensor()
        torch.set_rng_state(state["rng"])


SECOND_MOMENTS = ("exp_avg_sq", "exp_avg_var", "square_avg")


def second_moment(optimizer: torch.optim.Optimizer) -> float:
    """The mean over all parameters of the buffer under the root (Fig. 5a)."""
    total, n = 0.0, 0
    for state in optimizer.state.values():
        for key in SECOND_MOMENTS:
            buffer = state.get(key)
            if isinstance(buffer, Tensor):
                total += float(buffer.double().sum())
                n += buffer.numel()
    return total / n if n else float("nan")


def _network(settings: VisionSettings, feed: Feed, seed: int) -> nn.Module:
    channels, height, width = feed.shape
    side = settings.size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "weights"))
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


def _place() -> tuple[int, int]:
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def _total(sums: Tensor) -> Tensor:
    if _place()[1] > 1:
        sums = sums.clone()
        distributed.all_reduce(sums)  # pyright: ignore[reportUnknownMemberType]
    return sums


def _agree_on_buffers(net: nn.Module) -> None:
    """All ranks take the first's: BatchNorm's averages are of a rank's own slices."""
    if _place()[1] > 1:
        for buffer in net.buffers():
            distributed.broadcast(buffer, 0)  # pyright: ignore[reportUnknownMemberType]
