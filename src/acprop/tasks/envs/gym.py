"""Environments of gymnasium that show arrays and have a finite number of actions.

An episode is a function of its seed and its actions. A checkpoint therefore holds the
actions of the running episodes, and a resume makes them again.
"""

from importlib import import_module
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from acprop.checks import UserError
from acprop.tasks.envs.contract import INTS, Moved
from acprop.tasks.task import derive_seed


@final
class GymEnvs:
    """n copies, stepped one after another."""

    n_values: int | None = None

    def __init__(self, name: str, n: int, seed: int, limit: int | None = None) -> None:
        try:
            gymnasium: Any = import_module("gymnasium")
        except ModuleNotFoundError as error:
            raise UserError(
                f"env must be one that is installed, got {name}; run pip install "
                "gymnasium"
            ) from error
        try:
            own = gymnasium.spec(name).max_episode_steps
        except (gymnasium.error.Error, ModuleNotFoundError) as error:
            raise UserError(
                f"env must be four-rooms or registered in gymnasium, got {name!r}"
            ) from error
        if (limit or own) is None:
            raise UserError(
                f"env must end its episodes, got {name}, which has no limit; set "
                "episode_limit"
            )
        self.seed, self.limit = seed, int(limit or own)
        # The checker of gymnasium warns of what its own environments do.
        how: Any = {"max_episode_steps": self.limit, "disable_env_checker": True}
        self.envs: list[Any] = [gymnasium.make(name, **how) for _ in range(n)]
        actions, space = self.envs[0].action_space, self.envs[0].observation_space
        spaces = gymnasium.spaces
        if not isinstance(actions, spaces.Discrete) or actions.start != 0:
            raise UserError(f"env must have actions 0, 1, …, got {name} with {actions}")
        if not isinstance(space, spaces.Box):
            raise UserError(
                f"env must be observed as an array, got {name} with {space}"
            )
        self.n_actions, self.shape = int(actions.n), space.shape
        self.n_episodes = 0
        self.seeds: list[int] = [0] * n
        self.actions: list[list[int]] = [[] for _ in range(n)]
        self.seen = np.stack([self._begin(i) for i in range(n)])

    def _begin(self, i: int) -> NDArray[Any]:
        self.seeds[i] = derive_seed(self.seed, "episode", self.n_episodes)
        self.actions[i] = []
        self.n_episodes += 1
        return self.envs[i].reset(seed=self.seeds[i])[0]

    def step(self, actions: INTS) -> Moved:
        """One move of each; who has ended begins anew."""
        moves = [self._move(i, int(action)) for i, action in enumerate(actions)]
        seen, reward, is_final, is_late = map(np.array, zip(*moves, strict=True))
        has_ended = is_final | is_late
        self.seen = seen.copy()
        for i in np.flatnonzero(has_ended):
            self.seen[i] = self._begin(int(i))
        return Moved(seen, reward.astype(np.float32), is_final, has_ended)

    def _move(self, i: int, action: int) -> tuple[NDArray[Any], float, bool, bool]:
        self.actions[i].append(action)
        seen, reward, is_final, is_late, _ = self.envs[i].step(action)
        return seen, float(reward), bool(is_final), bool(is_late)

    def state_dict(self) -> dict[str, Any]:
        """Seeds and actions of the running episodes."""
        return {
            "n_episodes": self.n_episodes,
            "seeds": list(self.seeds),
            "actions": [torch.tensor(a, dtype=torch.int64) for a in self.actions],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Make the running episodes again, up to where `state_dict` was taken."""
        self.n_episodes, self.seeds = state["n_episodes"], list(state["seeds"])
        for i, actions in enumerate(state["actions"]):
            self.actions[i] = []
            self.seen[i] = self.envs[i].reset(seed=self.seeds[i])[0]
            for action in actions.tolist():
                self.seen[i] = self._move(i, action)[0]
