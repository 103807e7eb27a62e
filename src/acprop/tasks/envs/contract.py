"""What a learner needs of an environment: several copies of it, stepped together."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from acprop.checks import UserError

INTS = NDArray[np.int64]
FLOATS = NDArray[np.float64]
BOOLS = NDArray[np.bool_]


# Whoever evaluates a policy waits for the end of an episode: it has to come.
LONGEST = 100_000


def ends_within(name: str, limit: int) -> int:
    """The limit of an episode, if it is one that can be waited for."""
    if limit > LONGEST:
        raise UserError(
            f"env must end its episodes within {LONGEST} moves, got {name} with "
            f"{limit}; set episode_limit"
        )
    return limit


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
    """

    @property
    def n(self) -> int: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def n_values(self) -> int | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def limit(self) -> int: ...
    def observe(self) -> NDArray[Any]: ...
    def step(self, actions: INTS) -> Moved: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
