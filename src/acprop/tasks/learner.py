"""A network and its optimizer, and one step of them: what sessions share.

The global batch of a step is the same whatever the number of ranks and of accumulated
pieces: each takes its slice of it, and the mean of their gradients is the batch's. That
mean is what is clipped,

    g ← g · min(1, clip_norm / ‖g‖)          ‖g‖ over all parameters together

so ranks and pieces do not change what a step does.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar, cast, final

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
# Of logits and labels: the loss to descend, and sums that add up over pieces and ranks.
Measure = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
S = TypeVar("S", bound=StepSettings)


@final
class Trained:
    """A network with its optimizer."""

    def __init__(self, net: nn.Module, optimizer: OptimizerFactory) -> None:
        self.net, self.optimizer = net, optimizer(net)
        self.initial_lr = [group["lr"] for group in self.optimizer.param_groups]

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        for group, lr in zip(self.optimizer.param_groups, self.initial_lr, strict=True):
            group["lr"] = lr * factor

    def state_dict(self) -> dict[str, Any]:
        """Weights and what the optimizer knows."""
        return {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])


class NetworkSession(ABC, Generic[S]):
    """One run of a task with one network, alone or as a rank among others.

    net: the network itself, which is evaluated and saved; model: what is trained, net
    wrapped for ranks and compiled as the settings say.
    batch: the rows of every global batch; None if they vary, and are `dealt` out.
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
        self.n_pieces = self.world * settings.accumulate
        _check(settings, optimizer, batch, self.n_pieces)
        self.net = net.to(device)
        self.model = self._wrapped(self.net)
        self.trained = Trained(self.net, optimizer)
        self.optimizer, self.needs_graph = self.trained.optimizer, optimizer.needs_graph
        rows = (batch or 0) // self.world
        self.share = slice(self.rank * rows, (self.rank + 1) * rows)
        self.n_steps = 0
        self.sums = torch.zeros(n_sums, dtype=torch.float64)
        self.checksums: dict[str, str] = {}
        # What draws from the global stream (dropout) is seeded as well.
        torch.manual_seed(derive_seed(seed, "global"))  # pyright: ignore

    def _wrapped(self, net: nn.Module) -> nn.Module:
        if self.world > 1:
            if self.device.startswith("cuda"):
                net = nn.SyncBatchNorm.convert_sync_batchnorm(net)  # pyright: ignore
            net = DistributedDataParallel(net)
        return cast(nn.Module, torch.compile(net)) if self.settings.compile else net  # pyright: ignore

    @abstractmethod
    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""

    @abstractmethod
    def metrics(self, sums: Tensor) -> Metrics:
        """What the epoch of these sums came to; the test part never chooses."""

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        self.trained.scale_lr(factor)

    def pieces(self, x: Tensor, y: Tensor) -> list[Pair]:
        """Cut this rank's rows as `accumulate` says."""
        n = self.settings.accumulate
        return list(zip(x.chunk(n), y.chunk(n), strict=True))

    def dealt(self, rows: list[int]) -> list[list[int]]:
        """This rank's pieces of a batch that varies; one may have no rows."""
        n = self.settings.accumulate
        mine = range(self.rank * n, (self.rank + 1) * n)
        return [rows[i :: self.n_pieces] for i in mine]

    def descend(self, pieces: Sequence[Pair], measure: Measure) -> Tensor:
        """One step of the optimizer; the sums over all pieces of all ranks."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        sums: list[Tensor] = []
        for i, piece in enumerate(pieces):
            is_last = i == len(pieces) - 1
            with self._synchronised(last=is_last):
                sums.append(self._backward(piece, measure, len(pieces)))
        if self.settings.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.clip_norm)
        self.optimizer.step()
        self.n_steps += 1
        return ranks.total(torch.stack(sums).sum(0))

    def _synchronised(self, *, last: bool) -> AbstractContextManager[None]:
        """Ranks exchange gradients once a step; DDP decides it in the forward pass."""
        if isinstance(self.model, DistributedDataParallel) and not last:
            return self.model.no_sync()
        return nullcontext()

    def _backward(self, piece: Pair, measure: Measure, n: int) -> Tensor:
        x, y = piece
        if not self.needs_graph:
            loss, seen = measure(self._logits(x), y)
            (loss / n).backward()  # pyright: ignore
            return seen
        # Differentiable twice, which torch's fused attention is not.
        with sdpa_kernel(SDPBackend.MATH), warnings.catch_warnings():  # pyright: ignore
            # torch warns of the cycle; zero_grad breaks it
            warnings.filterwarnings("ignore", "Using backward.*create_graph")
            loss, seen = measure(self._logits(x), y)
            (loss / n).backward(create_graph=True)  # pyright: ignore
        return seen

    def _logits(self, x: Any) -> Tensor:
        kind, half = self.device.split(":")[0], self.settings.autocast
        with torch.autocast(kind, torch.bfloat16, enabled=half):
            logits = self.model(x)
        return logits.float() if half else logits

    def evaluate(self) -> Metrics:
        """What the epoch came to; the next begins."""
        sums, self.sums = self.sums, torch.zeros_like(self.sums)
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
        """Go on where `state_dict` was taken."""
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


def _check(
    settings: StepSettings,
    optimizer: OptimizerFactory,
    batch: int | None,
    n_pieces: int,
) -> None:
    if batch is not None and batch % n_pieces:
        raise UserError(
            f"batch must be a multiple of ranks × accumulate = {n_pieces}, got {batch}"
        )
    if settings.compile and optimizer.needs_graph:
        raise UserError(
            "compile must be false for an optimizer that differentiates its "
            "gradients, got true; torch.compile keeps no graph of them"
        )
    if settings.clip_norm is not None and optimizer.needs_graph:
        raise UserError(
            "clip_norm must be none for an optimizer that differentiates its "
            f"gradients, got {settings.clip_norm}; clipping cuts their graph"
        )


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
