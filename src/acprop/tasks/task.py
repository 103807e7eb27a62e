"""What a task is to the one training loop: a session that takes steps.

A GAN has two optimizers, reinforcement learning an environment: the loop cannot tell.
"""

import hashlib
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from torch import nn

Metrics = dict[str, float]


class OptimizerFactory(Protocol):
    """Makes the optimizer of a network.

    needs_graph: must the backward pass keep its graph, as AdaHessian asks?
    """

    @property
    def needs_graph(self) -> bool: ...
    def __call__(self, module: nn.Module, /) -> torch.optim.Optimizer: ...


class Target(NamedTuple):
    """What a task is judged by, and what counts as reached."""

    metric: str
    direction: Literal["max", "min"]
    value: float | None = None


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

    Asked after every evaluation; the same name takes the place of what was there.
    """

    def artifacts(self) -> dict[str, bytes]: ...


class Task(Protocol):
    """A problem that can be begun with any optimizer and seed.

    source: where its data came from.
    """

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> Target: ...
    @property
    def source(self) -> dict[str, Any]: ...
    def begin(self, seed: int, optimizer: OptimizerFactory) -> Session: ...


def stream(seed: int, *names: str | int) -> int:
    """The seed of one random stream: weights, order, augmentation are independent.

    A pure function, so that a resumed run finds the numbers of any step again, and
    every optimizer with the same seed sees the same weights and the same data.
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
