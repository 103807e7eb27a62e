"""The four rooms of Sutton, Precup and Singh (1999), many copies stepped at once.

Eleven by eleven cells inside a wall, four rooms, a hallway between each two neighbours.
An action moves one cell up, down, left or right with probability 2/3, and in one of the
other three directions with 1/9 each; a move into a wall leaves the walker where it is.
Reaching the goal, the east hallway (their G1), gives reward 1 and ends the episode;
every other move gives 0. An episode begins in any other cell.
"""

from typing import Any, final

import numpy as np
import torch

from acprop.tasks.envs.contract import BOOLS, FLOATS, INTS, Moved
from acprop.tasks.task import derive_seed

PLAN = """
#############
#     #     #
#     #     #
#           #
#     #     #
#     #     #
## ####     #
#     ### ###
#     #     #
#     #     #
#           #
#     #     #
#############
"""
WALLS: BOOLS = np.array([[c == "#" for c in row] for row in PLAN.split("\n")[1:-1]])
CELLS: INTS = np.argwhere(~WALLS)  # [104, 2]: row and column of every free cell
MOVES: INTS = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])  # up, down, left, right
N_CELLS, N_ACTIONS = len(CELLS), len(MOVES)
SLIP = 1 / 3  # how often the walker goes in one of the other three directions
EPISODE_LIMIT = 100


def cell_at(row: int, column: int) -> int:
    """The number of a free cell, counted along the rows."""
    return int(_NUMBERS[row, column])


def _neighbours() -> tuple[INTS, INTS]:
    numbers = np.full(WALLS.shape, -1)
    numbers[~WALLS] = np.arange(N_CELLS)
    there = numbers[tuple((CELLS[:, None] + MOVES).transpose(2, 0, 1))]
    return numbers, np.where(there < 0, np.arange(N_CELLS)[:, None], there)


# [13, 13] numbers of cells, -1 in walls; [104, 4] the cell that a move leads to.
_NUMBERS, NEXT = _neighbours()
GOAL = cell_at(7, 9)


def moved(cell: INTS, action: INTS, chance: FLOATS) -> INTS:
    """Where walkers come to. chance: uniform in [0, 1), one for each walker."""
    other = (action + 1 + np.floor(chance / SLIP * (N_ACTIONS - 1)).astype(int)) % 4
    return NEXT[cell, np.where(chance < SLIP, other, action)]


def start(chance: FLOATS) -> INTS:
    """A cell that is not the goal, each as likely as any other."""
    cell = np.floor(chance * (N_CELLS - 1)).astype(int)
    return cell + (cell >= GOAL)


@final
class Rooms:
    """n walkers. What chance brings is a function of the seed and the move's number."""

    n_actions: int = N_ACTIONS
    n_values: int | None = N_CELLS
    shape: tuple[int, ...] = ()

    def __init__(self, _: str, n: int, seed: int, limit: int | None = None) -> None:
        self.n, self.seed, self.limit = n, seed, limit or EPISODE_LIMIT
        self.n_moves = 0
        self.age: INTS = np.zeros(n, int)  # moves made in the running episode
        self.seen = start(self._chance()[0])  # the cell that each walker is in

    def _chance(self) -> FLOATS:
        draw = np.random.default_rng(derive_seed(self.seed, "rooms", self.n_moves))
        return draw.random((2, self.n))

    def step(self, actions: INTS) -> Moved:
        """One move of each; who has ended begins anew."""
        self.n_moves += 1
        fresh, slip = self._chance()
        cell = moved(self.seen, actions, slip)
        self.age = self.age + 1
        at_goal = cell == GOAL
        has_ended = at_goal | (self.age >= self.limit)
        self.seen = np.where(has_ended, start(fresh), cell)
        self.age = np.where(has_ended, 0, self.age)
        return Moved(cell, at_goal.astype(np.float32), at_goal, has_ended)

    def state_dict(self) -> dict[str, Any]:
        """Where the walkers are, and how many moves have been made."""
        cell, age = torch.as_tensor(self.seen), torch.as_tensor(self.age)
        return {"cell": cell.clone(), "age": age.clone(), "n_moves": self.n_moves}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen, self.age = state["cell"].numpy().copy(), state["age"].numpy().copy()
        self.n_moves = state["n_moves"]
