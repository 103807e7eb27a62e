"""The four rooms as an environment of gymnasium: importing this file registers it.

gymnasium.make("acprop.tasks.envs.four_rooms:acprop/FourRooms-v0")
"""

from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from acprop import checks
from acprop.checks import UserError
from acprop.tasks.envs import rooms
from acprop.tasks.envs.contract import FLOATS

NAME = "acprop/FourRooms-v0"
PIXELS = 16  # a cell is so many wide
WALL, FLOOR = (60, 60, 60), (245, 245, 245)
GOAL, WALKER = (44, 160, 44), (31, 119, 180)


@final
class FourRooms(gymnasium.Env[np.int64, np.int64]):
    """One walker; the rules are those of `rooms`, the time limit gymnasium's."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        checks.one_of("render_mode", render_mode, (None, "rgb_array"))
        self.render_mode = render_mode
        self.observation_space = Discrete(rooms.N_CELLS)
        self.action_space = Discrete(rooms.N_ACTIONS)
        self.cell: np.int64 | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode in a cell drawn at random."""
        super().reset(seed=seed, options=options)
        cell: np.int64 = rooms.start(self._chance())[0]
        self.cell = cell
        return cell, {}

    def step(
        self, action: np.int64
    ) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Move one cell, mostly where the action says."""
        if self.cell is None:
            raise RuntimeError("step must come after reset, got no reset")
        if not self.action_space.contains(action):
            raise UserError(f"action must be in [0, 3], got {action!r}")
        where, what = np.array([self.cell]), np.array([action])
        cell: np.int64 = rooms.moved(where, what, self._chance())[0]
        self.cell, is_final = cell, bool(cell == rooms.GOAL)
        return cell, float(is_final), is_final, False, {}

    def _chance(self) -> FLOATS:
        return self.np_random.random(1)

    def render(self) -> NDArray[np.uint8] | None:  # pyright: ignore
        """The plan with goal and walker as a picture, if asked for."""
        if self.render_mode is None or self.cell is None:
            return None
        picture = np.where(rooms.WALLS[..., None], WALL, FLOOR)
        picture[tuple(rooms.CELLS[rooms.GOAL])] = GOAL
        picture[tuple(rooms.CELLS[self.cell])] = WALKER
        big = picture.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
        return big.astype(np.uint8)


gymnasium.register(  # pyright: ignore
    NAME, f"{__name__}:FourRooms", max_episode_steps=rooms.EPISODE_LIMIT
)
