"""Image classification: a network, a dataset, cross-entropy.

The global batch of a step is the same whatever the number of ranks and of accumulated
pieces: each takes its slice of it, and the mean of their gradients is the batch's.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, cast

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from acprop.tasks import nets
from acprop.tasks.data import Images, load, split
from acprop.tasks.data.augment import augmented, normalised
from acprop.tasks.task import Metrics, OptimizerFactory, Target, stream

EVALUATION_BATCH = 500


@dataclass(frozen=True, slots=True)
class VisionSettings:
    """What decides the numbers of a run, besides seed and optimizer.

    n_train, n_test: None is all there are; otherwise so many of them.
    n_validation: held out of the training set, for selection.
    size: side to which images are resized; None leaves them.
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
        for name in ("batch", "n_validation", "accumulate"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)}")


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
        self.images: Images = split(
            load(settings.dataset),
            n_validation=settings.n_validation,
            n_train=settings.n_train,
            n_test=settings.n_test,
        )

    @property
    def source(self) -> dict[str, Any]:
        """Where the bytes came from."""
        return {self.settings.dataset: self.images.source}

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "VisionSession":
        """Same seed: same weights and data order for every optimizer."""
        return VisionSession(self.settings, self.images, seed, optimizer, self.device)


class VisionSession:
    """One run."""

    def __init__(
        self,
        settings: VisionSettings,
        images: Images,
        seed: int,
        optimizer: OptimizerFactory,
        device: str,
    ) -> None:
        self.settings, self.images, self.seed, self.device = (
            settings,
            images,
            seed,
            device,
        )
        self.rank, self.world = _place()
        pieces = self.world * settings.accumulate
        if settings.batch % pieces:
            raise ValueError(
                f"batch must be a multiple of ranks × accumulate = {pieces}, got "
                f"{settings.batch}"
            )
        self.net = _network(settings, images, seed).to(device)
        if settings.channels_last:
            self.net = self.net.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.model = self._wrapped(self.net)
        self.optimizer = optimizer(self.net)
        self.needs_graph = optimizer.needs_graph
        self.initial_lr = [group["lr"] for group in self.optimizer.param_groups]
        self.steps_per_epoch = len(images.train_x) // settings.batch
        if not self.steps_per_epoch:
            raise ValueError(
                f"batch must be at most the {len(images.train_x)} training images, "
                f"got {settings.batch}"
            )
        self.step = 0
        self.sums = torch.zeros(3, dtype=torch.float64)  # loss, right answers, samples
        self.order = Tensor()
        # What draws from the global stream (AdaHessian's probes) is seeded as well.
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
        total = torch.zeros((), dtype=torch.float64)
        for i, (x, y) in enumerate(pieces):
            logits = self._logits(x)
            loss = cross_entropy(logits, y)
            last = i == len(pieces) - 1
            self._backward(loss / len(pieces), synchronise=last)
            total += loss.detach().cpu().double() / len(pieces)
            right = (logits.argmax(1) == y).sum().cpu()
            self.sums += torch.tensor(
                [float(loss.detach()) * len(y), float(right), float(len(y))],
                dtype=torch.float64,
            )
        self.optimizer.step()
        self.step += 1
        return {"loss": float(_mean(total))}

    def _backward(self, loss: Tensor, *, synchronise: bool) -> None:
        if isinstance(self.model, DistributedDataParallel) and not synchronise:
            with self.model.no_sync():
                loss.backward(create_graph=self.needs_graph)
        else:
            loss.backward(create_graph=self.needs_graph)

    def _logits(self, x: Tensor) -> Tensor:
        if self.settings.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        kind = self.device.split(":")[0]
        with torch.autocast(kind, torch.bfloat16, enabled=self.settings.autocast):
            return self.model(x).float()

    def _pieces(self) -> list[tuple[Tensor, Tensor]]:
        """This rank's slices of the global batch of this step."""
        s = self.settings
        epoch, place = divmod(self.step, self.steps_per_epoch)
        if place == 0 or not len(self.order):
            order = torch.Generator().manual_seed(stream(self.seed, "order", epoch))
            self.order = torch.randperm(len(self.images.train_x), generator=order)
        batch = self.order[place * s.batch : (place + 1) * s.batch]
        share = s.batch // self.world
        mine = slice(self.rank * share, (self.rank + 1) * share)
        x, y = self.images.train_x[batch[mine]], self.images.train_y[batch[mine]]
        if s.augment:
            # Drawn for the whole batch, so that a rank sees the numbers of its slice.
            draw = torch.Generator().manual_seed(stream(self.seed, "crop", self.step))
            x = augmented(x, draw, n=s.batch, part=mine)
        x = self._prepared(x)
        y = y.to(self.device)
        return list(
            zip(x.chunk(s.accumulate), y.chunk(s.accumulate), strict=True)
        )

    def _prepared(self, x: Tensor) -> Tensor:
        x = normalised(x, self.images).to(self.device)
        if self.settings.size is not None:
            shape = (self.settings.size, self.settings.size)
            x = nn.functional.interpolate(x, shape, mode="bilinear")
        return x

    def evaluate(self) -> Metrics:
        """What the epoch came to; test accuracy is for the curves, never for choosing."""
        sums = _total(self.sums)
        self.sums.zero_()
        out = {
            "train_loss": float(sums[0] / sums[2]),
            "train_accuracy": float(sums[1] / sums[2]),
            "samples": float(sums[2]),
        }
        loss, accuracy = self._judge(self.images.val_x, self.images.val_y)
        out |= {"val_loss": loss, "val_accuracy": accuracy}
        loss, accuracy = self._judge(self.images.test_x, self.images.test_y)
        out |= {"test_loss": loss, "test_accuracy": accuracy}
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.optimizer)
        return out

    @torch.no_grad()
    def _judge(self, x: Tensor, y: Tensor) -> tuple[float, float]:
        self.net.eval()
        sums = torch.zeros(2, dtype=torch.float64)
        for i in range(self.rank, -(-len(x) // EVALUATION_BATCH), self.world):
            part = slice(i * EVALUATION_BATCH, (i + 1) * EVALUATION_BATCH)
            logits = self.net(self._prepared(x[part])).float()
            target = y[part].to(self.device)
            loss = cross_entropy(logits, target, reduction="sum")
            right = (logits.argmax(1) == target).sum()
            sums += torch.tensor([float(loss), float(right)], dtype=torch.float64)
        sums = _total(sums) / len(x)
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


def _network(settings: VisionSettings, images: Images, seed: int) -> nn.Module:
    channels, height, width = images.train_x.shape[1:]
    side = settings.size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "weights"))
        return nets.build(
            settings.net,
            n_classes=images.n_classes,
            image=(channels, side or height, side or width),
            stem=settings.stem,
            width=settings.width,
            depth=settings.depth,
        )


def _place() -> tuple[int, int]:
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def _total(sums: Tensor) -> Tensor:
    if _place()[1] > 1:
        sums = sums.clone()
        distributed.all_reduce(sums)  # pyright: ignore[reportUnknownMemberType]
    return sums


def _mean(value: Tensor) -> Tensor:
    return _total(value) / _place()[1]
