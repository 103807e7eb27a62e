"""What a task is to the one training loop: a session that takes steps.

A GAN has two optimizers, reinforcement learning an environment: the loop need not know.
"""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

Metrics = dict[str, float]


class OptimizerFactory(Protocol):
    """Makes the optimizer of a network.

    needs_graph: must the backward pass keep its graph, as AdaHessian needs it?
    """

    @property
    def needs_graph(self) -> bool: ...
    def __call__(self, module: nn.Module, /) -> torch.optim.Optimizer: ...


class Session(Protocol):
    """One run of a task, from its seed on.

    `state_dict` holds everything a bit-exact resume needs; `scale_lr` sets every
    learning rate to so many times its initial value.
    """

    @property
    def steps_per_epoch(self) -> int: ...
    def scale_lr(self, factor: float) -> None: ...
    def train_step(self) -> Metrics: ...
    def evaluate(self) -> Metrics: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class HasArtifacts(Protocol):
    """A session that also has something to look at: file names and their bytes.

    Called after every evaluation; the same name takes the place of what was there.
    """

    def artifacts(self) -> dict[str, bytes]: ...


class Task(Protocol):
    """A problem that can be begun with any optimizer and seed.

    source: where its data came from.
    """

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> dict[str, Any]: ...
    def begin(self, seed: int, optimizer: OptimizerFactory) -> Session: ...


def derive_seed(seed: int, *names: str | int) -> int:
    """The seed of one random stream: weights, order, augmentation are independent.

    A pure function, so that a resumed run finds the numbers of any step again, and
    every optimizer with the same seed sees the same weights and the same data.
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def random_stream(seed: int, *names: str | int) -> torch.Generator:
    """The numbers of one random stream."""
    return torch.Generator().manual_seed(derive_seed(seed, *names))


@contextmanager
def weights_of(seed: int) -> Generator[None]:
    """Inside, a network that is made gets the initial weights of this seed."""
    with torch.random.fork_rng(devices=[]):  # pyright: ignore
        torch.manual_seed(derive_seed(seed, "weights"))  # pyright: ignore
        yield
