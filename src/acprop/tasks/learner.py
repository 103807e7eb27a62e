"""A network and its optimizer, and one step of them: what sessions share.

The global batch of a step is the same whatever the number of ranks: each takes its
slice of it, and the mean of their gradients is the batch's. That mean is what is
clipped,

    g ← g · min(1, clip_norm / ‖g‖)          ‖g‖ over all parameters together

so the number of ranks does not change what a step does.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar, final, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DistributedDataParallel

from acprop import ranks
from acprop.checks import UserError
from acprop.tasks.settings import StepSettings
from acprop.tasks.task import Metrics, OptimizerFactory, derive_seed

# What the network takes, and the answers.
Pair = tuple[Any, Tensor]
# Of logits and labels: the loss to descend, and sums that add up over ranks.
Measure = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
S = TypeVar("S", bound=StepSettings)


@runtime_checkable
class TrainsElsewhere(Protocol):
    """An optimizer whose gradients are not of the weights that it is evaluated by."""

    def train(self) -> None: ...
    def eval(self) -> None: ...


@final
class Trained:
    """A network with its optimizer."""

    def __init__(self, net: nn.Module, optimizer: OptimizerFactory) -> None:
        self.net, self.optimizer = net, optimizer(net)
        self.initial_lr = [group["lr"] for group in self.optimizer.param_groups]

    def scale_lr(self, factor: float) -> None:
        for group, lr in zip(self.optimizer.param_groups, self.initial_lr, strict=True):
            group["lr"] = lr * factor

    @contextmanager
    def evaluated(self) -> Generator[None]:
        """Inside, the network has the weights to evaluate; after it, those of before.

        Schedule-free methods have two sets of weights. The way there and back would
        round, so that the number of evaluations changed a run: what was is kept.
        """
        if not isinstance(self.optimizer, TrainsElsewhere):
            yield
            return
        kept = [(p, p.detach().clone()) for p in self.net.parameters()]
        self.optimizer.eval()
        try:
            yield
        finally:
            self.optimizer.train()
            for param, weights in kept:
                param.data.copy_(weights)

    def state_dict(self) -> dict[str, Any]:
        """Weights and what the optimizer knows."""
        return {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])


class NetworkSession(ABC, Generic[S]):
    """One run of a task with one network, alone or as a rank among others.

    net: the network itself, which is evaluated and saved; model: what is trained, net
    wrapped for ranks.
    batch: the rows of every global batch, of which `share` are this rank's; None if
    their number varies.
    sums: of the running epoch, over all ranks, as one rank's checkpoint is all's.
    checksums: of the data, which must be the same after a resume.
    """

    steps_per_epoch: int

    def __init__(
        self,
        net: nn.Module,
        optimizer: OptimizerFactory,
        settings: S,
        seed: int,
        device: str,
        *,
        batch: int | None,
        n_sums: int,
    ) -> None:
        self.settings, self.seed, self.device = settings, seed, device
        self.rank, self.world = ranks.rank(), ranks.world()
        if (batch or 0) % self.world:
            raise UserError(
                f"batch must be a multiple of the {self.world} ranks, got {batch}"
            )
        if settings.clip_norm is not None and optimizer.needs_graph:
            raise UserError(
                "clip_norm must be none for an optimizer that differentiates its "
                f"gradients, got {settings.clip_norm}; clipping cuts their graph"
            )
        self.net = self.model = net.to(device)
        if self.world > 1:
            if device.startswith("cuda"):
                net = nn.SyncBatchNorm.convert_sync_batchnorm(net)  # pyright: ignore
            self.model = DistributedDataParallel(net)
        self.trained = Trained(self.net, optimizer)
        self.optimizer, self.needs_graph = self.trained.optimizer, optimizer.needs_graph
        rows = (batch or 0) // self.world
        self.share = slice(self.rank * rows, (self.rank + 1) * rows)
        self.n_steps = 0
        self.sums = torch.zeros(n_sums, dtype=torch.float64)
        self.checksums: dict[str, str] = {}
        # What draws from the global stream (dropout) is seeded as well.
        torch.manual_seed(derive_seed(seed, "global"))  # pyright: ignore

    @abstractmethod
    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""

    @abstractmethod
    def metrics(self, sums: Tensor) -> Metrics:
        """What the epoch of these sums came to; the test part never chooses."""

    def scale_lr(self, factor: float) -> None:
        self.trained.scale_lr(factor)

    def descend(self, x: Any, y: Tensor, measure: Measure) -> Tensor:
        """One step of the optimizer on this rank's rows; the sums of all ranks."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        sums = self._backward(x, y, measure)
        if self.settings.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.clip_norm)
        self.optimizer.step()
        self.n_steps += 1
        return ranks.total(sums)

    def _backward(self, x: Any, y: Tensor, measure: Measure) -> Tensor:
        if not self.needs_graph:
            loss, sums = measure(self.model(x), y)
            loss.backward()  # pyright: ignore
            return sums
        # Differentiable twice, which torch's fused attention is not.
        with sdpa_kernel(SDPBackend.MATH), warnings.catch_warnings():  # pyright: ignore
            # torch warns of the cycle; zero_grad breaks it
            warnings.filterwarnings("ignore", "Using backward.*create_graph")
            loss, sums = measure(self.model(x), y)
            loss.backward(create_graph=True)  # pyright: ignore
        return sums

    def evaluate(self) -> Metrics:
        """What the epoch came to; the next begins."""
        sums, self.sums = self.sums, torch.zeros_like(self.sums)
        with self.trained.evaluated():
            out = self.metrics(sums)
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.optimizer)
        return out

    @torch.no_grad()
    def sum_over_batches(
        self,
        n_batches: int,
        batch: Callable[[int], Pair],
        sums_of: Callable[[Tensor, Tensor], Tensor],
        *,
        n_sums: int,
    ) -> Tensor:
        """The sums over all batches; each rank takes every world-th of them."""
        self.net.eval()
        sums = torch.zeros(n_sums, dtype=torch.float64)
        for i in range(self.rank, n_batches, self.world):
            x, y = batch(i)
            sums += sums_of(self.net(x), y)
        return ranks.total(sums)

    def state_dict(self) -> dict[str, Any]:
        """Network, optimizer, the steps taken and the global random stream.

        What is drawn for a step follows from the seed and the step's number.
        """
        return {
            **self.trained.state_dict(),
            "step": self.n_steps,
            "rng": torch.get_rng_state(),
            "sums": self.sums.clone(),
            **self.checksums,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, sha256 in self.checksums.items():
            if state[name] != sha256:
                raise UserError(
                    f"{name} must have sha256 {state[name][:12]}… as when the run "
                    f"began, got {sha256[:12]}…; begin again with --restart"
                )
        self.trained.load_state_dict(state)
        self.n_steps = state["step"]
        self.sums = state["sums"].clone()
        torch.set_rng_state(state["rng"])


SECOND_MOMENTS = ("exp_avg_sq", "exp_avg_var", "square_avg")


def second_moment(optimizer: torch.optim.Optimizer) -> float:
    """The mean over all parameters of the buffer under the root (Fig. 6a)."""
    total, n = 0.0, 0
    for state in optimizer.state.values():
        for key in SECOND_MOMENTS:
            buffer = state.get(key)
            if isinstance(buffer, Tensor):
                total += float(buffer.double().sum())
                n += buffer.numel()
    return total / n if n else float("nan")


def mean_loss(loss: Tensor, *seen: float) -> tuple[Tensor, Tensor]:
    """A batch's mean loss, and sums: of losses, then of what else was seen.

    The last of it is how many rows the mean is of.
    """
    sums = [float(loss.detach()) * seen[-1], *seen]
    return loss, torch.tensor(sums, dtype=torch.float64)
