"""Any environment of gymnasium with a finite number of actions.

An episode is a function of its seed and its actions. A checkpoint therefore holds the
actions of the running episodes, and a resume makes them again.
"""

from importlib import import_module
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray

from acprop import checks
from acprop.checks import UserError
from acprop.tasks.envs.contract import INTS, Moved, ends_within
from acprop.tasks.task import derive_seed


@final
class GymEnvs:
    """n copies, stepped one after another."""

    def __init__(self, name: str, n: int, seed: int, limit: int | None = None) -> None:
        self.n, self.seed = checks.integer("n", n), seed
        gymnasium = _imported(name)
        self.limit = _limit(gymnasium, name, limit)
        self.envs = [_made(gymnasium, name, self.limit) for _ in range(n)]
        actions, space = self.envs[0].action_space, self.envs[0].observation_space
        spaces = gymnasium.spaces
        if not isinstance(actions, spaces.Discrete):
            raise UserError(
                f"env must have a finite number of actions, got {name} with {actions}"
            )
        if not isinstance(space, spaces.Discrete | spaces.Box):
            raise UserError(
                f"env must be observed as a number or an array, got {name} with {space}"
            )
        is_number = isinstance(space, spaces.Discrete)
        self.n_actions = int(actions.n)
        self.n_values = int(space.n) if is_number else None
        self.shape: tuple[int, ...] = tuple(space.shape or ())
        # Some spaces of actions and observations begin with another number than 0.
        self.first_action = int(actions.start)
        self.first_value = int(space.start) if is_number else None
        self.n_episodes = 0
        self.seeds: list[int] = [0] * n
        self.actions: list[list[int]] = [[] for _ in range(n)]
        self.seen = np.stack([self._begin(i) for i in range(n)])

    def _begin(self, i: int) -> NDArray[Any]:
        self.seeds[i] = derive_seed(self.seed, "episode", self.n_episodes)
        self.actions[i] = []
        self.n_episodes += 1
        return self._plain(self.envs[i].reset(seed=self.seeds[i])[0])

    def _plain(self, seen: Any) -> NDArray[Any]:
        """An observation as an array, numbers counted from 0."""
        return np.asarray(seen - self.first_value if self.first_value else seen)

    def observe(self) -> NDArray[Any]:
        """What each copy shows."""
        return self.seen

    def step(self, actions: INTS) -> Moved:
        """One move of each; who has ended begins anew."""
        results = [self._move(i, int(action)) for i, action in enumerate(actions)]
        seen = np.stack([result[0] for result in results])
        has_ended = np.array([result[2] or result[3] for result in results])
        self.seen = seen.copy()
        for i in np.flatnonzero(has_ended):
            self.seen[i] = self._begin(int(i))
        return Moved(
            seen,
            np.array([result[1] for result in results], np.float32),
            np.array([bool(result[2]) for result in results]),
            has_ended,
        )

    def _move(self, i: int, action: int) -> tuple[NDArray[Any], float, bool, bool]:
        self.actions[i].append(action)
        move = self.envs[i].step(action + self.first_action)
        seen, reward, is_final, is_late, _ = move
        return self._plain(seen), float(reward), is_final, is_late

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
            seen = self._plain(self.envs[i].reset(seed=self.seeds[i])[0])
            for action in actions.tolist():
                seen = self._move(i, action)[0]
            self.seen[i] = seen


def package_of(name: str) -> str:
    """The package that registers this environment."""
    return "minigrid" if name.startswith("MiniGrid-") else "gymnasium"


def _imported(name: str) -> Any:
    """Gymnasium, after the package that registers this environment."""
    package = package_of(name)
    try:
        import_module(package)
        return import_module("gymnasium")
    except ModuleNotFoundError as error:
        raise UserError(
            f"env must be one that is installed, got {name}; run pip install {package}"
        ) from error


def _limit(gymnasium: Any, name: str, limit: int | None) -> int:
    try:
        own = gymnasium.spec(name).max_episode_steps
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        raise UserError(
            f"env must be four-rooms or registered in gymnasium, got {name!r}"
        ) from error
    limit = own if limit is None else limit
    if limit is None:
        raise UserError(
            f"env must end its episodes, got {name}, which has no limit; set "
            "episode_limit"
        )
    return ends_within(name, int(limit))


def _made(gymnasium: Any, name: str, limit: int) -> Any:
    # The checker of gymnasium warns of what its own environments do.
    env = gymnasium.make(name, max_episode_steps=limit, disable_env_checker=True)
    if package_of(name) == "minigrid":
        # The picture of what the walker sees, without the mission in words.
        return import_module("minigrid.wrappers").ImgObsWrapper(env)
    return env
