"""Reinforcement learning: a deep Q-network (Mnih et al. 2013).

A step moves every copy of the environment once, ε-greedily, puts the moves into the
replay memory, and takes one step of the optimizer on a batch drawn from it:

    y = r + γ·max_a Q'(s', a)      r alone where s' is final
    minimise  (Q(s, a) - y)²

Q' is the target network (Mnih et al. 2015), a copy of Q renewed every `target_every`
steps. Their clipped error is left out: it weighs a large error like a small one, and on
CartPole, where one move in twenty is final, Q grew without bound. Before its first
batch, the first step moves at random until the memory holds `warm_up` moves.
Exploration, draws from the memory and environments are functions of the seed and of a
count, so every optimizer with a seed has the same weights and the same luck.
"""

import copy
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from acprop import checks, ranks
from acprop.checks import UserError
from acprop.tasks import envs
from acprop.tasks.learner import NetworkSession, mean_loss
from acprop.tasks.nets.q import QNet
from acprop.tasks.replay import Replay
from acprop.tasks.settings import StepSettings
from acprop.tasks.task import (
    Metrics,
    OptimizerFactory,
    derive_seed,
    random_stream,
    weights_of,
)


@dataclass(frozen=True, slots=True)
class RLSettings(StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    env: four-rooms, or the name of an environment in gymnasium.
    episode_limit: the longest an episode may be; None is the environment's own.
    copies: of the environment; each moves once in a step.
    layers, width: of the network.
    batch: so many moves are learnt from in a step. memory: so many are kept.
    warm_up: so many are made at random before the first batch.
    discount: γ.
    epsilon: the share of moves at random once it has fallen from 1, linearly, over
        epsilon_steps steps.
    target_every: so many steps pass before the target network is renewed.
    steps_per_epoch: an epoch is a unit of length here.
    n_validation, n_test: so many greedy episodes, the same ones for every run.
    """

    env: str = envs.FOUR_ROOMS
    episode_limit: int | None = None
    copies: int = 32
    layers: int = 2
    width: int = 64
    batch: int = 128
    memory: int = 20_000
    warm_up: int = 1000
    discount: float = 0.95
    epsilon: float = 0.1
    epsilon_steps: int = 500
    target_every: int = 50
    steps_per_epoch: int = 100
    n_validation: int = 100
    n_test: int = 100

    def __post_init__(self) -> None:
        StepSettings.__post_init__(self)
        checks.decay("discount", self.discount)
        if not 0 <= checks.number("epsilon", self.epsilon) <= 1:
            raise UserError(f"epsilon must be in [0, 1], got {self.epsilon}")
        if self.memory < max(self.copies, self.warm_up):
            raise UserError(
                f"memory must be {max(self.copies, self.warm_up)} or more, what copies "
                f"and warm_up need, got {self.memory}"
            )

    @property
    def dataset(self) -> None:
        """An environment is played, not fetched."""
        return


class RLTask:
    """Learn to gain reward in an environment."""

    def __init__(self, settings: RLSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        limit = self.envs(1, seed=0).limit
        if settings.steps_per_epoch < limit:
            raise UserError(
                f"steps_per_epoch must be {limit} or more, the longest episode of "
                f"{settings.env}, got {settings.steps_per_epoch}; an epoch in which "
                "none ends has no return"
            )
        self.name = f"rl/{settings.env}-dqn"
        package = "acprop" if settings.env == envs.FOUR_ROOMS else "gymnasium"
        self.source = {settings.env: {"origin": f"{package} {version(package)}"}}

    def envs(self, n: int, seed: int) -> envs.Envs:
        """So many copies of the environment."""
        return envs.make(self.settings.env, n, seed, self.settings.episode_limit)

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "RLSession":
        """Same seed: same weights, starts and luck for every optimizer."""
        return RLSession(self, seed, optimizer)


class RLSession(NetworkSession[RLSettings]):
    """One run. sums: loss, batches, returns, episodes, moves."""

    def __init__(self, task: RLTask, seed: int, optimizer: OptimizerFactory) -> None:
        if ranks.world() > 1:
            raise UserError(
                f"ranks must be 1 for a task that plays, got {ranks.world()}; run "
                "without torchrun"
            )
        s, self.task = task.settings, task
        self.envs = task.envs(s.copies, derive_seed(seed, "envs"))
        with weights_of(seed):
            made = self.envs.n_values, self.envs.shape, self.envs.n_actions
            net = QNet(*made, layers=s.layers, width=s.width)
        super().__init__(net, optimizer, s, seed, task.device, batch=s.batch, n_sums=5)
        self.target_net = copy.deepcopy(self.net)
        self.replay = Replay(s.memory, torch.as_tensor(self.envs.seen))
        self.steps_per_epoch = s.steps_per_epoch
        self.n_moves = 0  # of every copy
        # The reward so far of each copy's running episode.
        self.gained = torch.zeros(s.copies, dtype=torch.float64)
        # Of the whole run: returns, episodes.
        self.totals = torch.zeros(2, dtype=torch.float64)

    @property
    def epsilon(self) -> float:
        """The share of moves at random: falls from 1 along a line, then stays."""
        s = self.settings
        fallen = min(1.0, self.n_steps / s.epsilon_steps)
        return 1 + fallen * (s.epsilon - 1)

    def train_step(self) -> Metrics:
        """Move every copy once, then learn from one batch."""
        s = self.settings
        while self.replay.n_added < s.warm_up:
            self._move(1.0)
        self._move(self.epsilon)
        if self.n_steps % s.target_every == 0:
            self.target_net.load_state_dict(self.net.state_dict())
        x, y = self._lesson(derive_seed(self.seed, "replay", self.n_steps))
        sums = self.descend(x, y, _measure)
        loss = float(sums[0] / sums[1])
        self.sums[:2] += torch.tensor([loss, 1.0])
        return {"loss": loss}

    def _move(self, epsilon: float) -> None:
        s = self.settings
        before = torch.as_tensor(self.envs.seen)
        draw = random_stream(self.seed, "explore", self.n_moves)
        chance = torch.rand(s.copies, generator=draw)
        action = torch.randint(self.envs.n_actions, (s.copies,), generator=draw)
        if epsilon < 1:
            action = torch.where(chance < epsilon, action, self._greedy(before))
        moved = self.envs.step(action.numpy())
        self.replay.add(before, action, moved)
        self.n_moves += 1
        self.gained += torch.as_tensor(moved.reward)
        ended = torch.as_tensor(moved.has_ended)
        self.sums[2:] += torch.tensor(
            [float(self.gained[ended].sum()), float(ended.sum()), s.copies]
        )
        self.gained[ended] = 0

    @torch.no_grad()
    def _greedy(self, seen: Tensor) -> Tensor:
        return self.net(seen.to(self.device)).argmax(1).cpu()

    def _lesson(self, seed: int) -> tuple[Tensor, Tensor]:
        """What was seen; and [batch, 2], the action and what its value should be."""
        moves = self.replay.sample(self.settings.batch, seed)
        with torch.no_grad():
            after = self.target_net(moves.after.to(self.device)).amax(1).cpu()
        # Not a product with zero: that would keep an infinite value.
        future = torch.where(moves.is_final, 0.0, self.settings.discount * after)
        y = torch.stack([moves.action.float(), moves.reward + future], 1)
        return moves.before.to(self.device), y.to(self.device)

    def metrics(self, sums: Tensor) -> Metrics:
        loss, n, gained, n_episodes, n_moves = map(float, sums)
        self.totals += sums[2:4]
        return {
            "train_loss": loss / n,
            "train_return": gained / n_episodes,
            "mean_return": float(self.totals[0] / self.totals[1]),
            "val_return": self._mean_return("val", self.settings.n_validation),
            "test_return": self._mean_return("test", self.settings.n_test),
            "samples": n_moves,
        }

    def _mean_return(self, part: str, n: int) -> float:
        """The mean return of greedy episodes; the same starts for every run."""
        copies = self.task.envs(n, derive_seed(0, part))
        gained, is_open = np.zeros(n), np.ones(n, bool)
        while is_open.any():
            seen = torch.as_tensor(copies.seen)
            moved = copies.step(self._greedy(seen).numpy())
            gained += moved.reward * is_open
            is_open &= ~moved.has_ended
        return float(gained.mean())

    def state_dict(self) -> dict[str, Any]:
        """Everything; exploration and draws follow from the seed and the counts."""
        return {
            **super().state_dict(),
            "target_net": self.target_net.state_dict(),
            "replay": self.replay.state_dict(),
            "envs": self.envs.state_dict(),
            "n_moves": self.n_moves,
            "gained": self.gained.clone(),
            "totals": self.totals.clone(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.target_net.load_state_dict(state["target_net"])
        self.replay.load_state_dict(state["replay"])
        self.envs.load_state_dict(state["envs"])
        self.n_moves = state["n_moves"]
        self.gained, self.totals = state["gained"].clone(), state["totals"].clone()


def _measure(values: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss of the actions taken; and its sum, and how many they are."""
    taken = values.gather(1, y[:, :1].long())[:, 0]
    return mean_loss(mse_loss(taken, y[:, 1]), len(y))
