"""A replay memory: the last moves, from which batches are drawn at random."""

from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from acprop.tasks.envs import Moved


class Moves(NamedTuple):
    """Rows of moves: what was seen, done, gained, and seen then. See `Moved`."""

    before: Tensor
    action: Tensor
    reward: Tensor
    is_final: Tensor
    after: Tensor


@final
class Replay:
    """A ring: the newest moves replace the oldest. like: an observation of each copy.

    n_added: of all moves, also of those that have been replaced.
    """

    def __init__(self, capacity: int, like: Tensor) -> None:
        self.capacity, self.n_added = capacity, 0
        seen = like.new_empty(capacity, *like.shape[1:])
        self.rows = Moves(
            seen,
            torch.empty(capacity, dtype=torch.int64),
            torch.empty(capacity),
            torch.empty(capacity, dtype=torch.bool),
            seen.clone(),
        )

    @property
    def size(self) -> int:
        return min(self.n_added, self.capacity)

    def add(self, before: Tensor, action: Tensor, moved: Moved) -> None:
        after = (moved.reward, moved.is_final, moved.seen)
        news = (before, action, *map(torch.as_tensor, after))
        at = (self.n_added + torch.arange(len(action))) % self.capacity
        for column, new in zip(self.rows, news, strict=True):
            column[at] = new
        self.n_added += len(action)

    def sample(self, n: int, seed: int) -> Moves:
        """So many of those that are held, each drawn from all."""
        draw = torch.Generator().manual_seed(seed)
        at = torch.randint(self.size, (n,), generator=draw)
        return Moves(*(column[at] for column in self.rows))

    def state_dict(self) -> dict[str, Any]:
        held = {k: v[: self.size].clone() for k, v in self.rows._asdict().items()}
        return {**held, "n_added": self.n_added}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.n_added = state["n_added"]
        for name, column in self.rows._asdict().items():
            column[: self.size] = state[name]
