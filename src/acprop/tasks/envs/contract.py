"""What a learner needs of an environment: several copies of it, stepped together."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

INTS = NDArray[np.int64]
FLOATS = NDArray[np.float64]
BOOLS = NDArray[np.bool_]


class Moved(NamedTuple):
    """What one move of every copy led to.

    seen: the observation after the move, before a new episode begins.
    is_final: nothing can follow; a time limit ends an episode and is not final.
    """

    seen: NDArray[Any]
    reward: NDArray[np.float32]
    is_final: BOOLS
    has_ended: BOOLS


class Envs(Protocol):
    """Copies of one environment; an episode that ends is followed by the next.

    n_values: an observation is one of so many; None if it is an array of numbers.
    shape: of one observation. limit: the longest that an episode can be.
    seen: what each copy shows.
    """

    n_actions: int
    n_values: int | None
    shape: tuple[int, ...]
    limit: int
    seen: NDArray[Any]

    def step(self, actions: INTS) -> Moved: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
