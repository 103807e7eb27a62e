"""Environments to learn in: the four rooms, and gymnasium's."""

from acprop.tasks.envs.contract import Envs, Moved
from acprop.tasks.envs.gym import GymEnvs
from acprop.tasks.envs.rooms import Rooms

__all__ = ["FOUR_ROOMS", "Envs", "Moved", "make"]

FOUR_ROOMS = "four-rooms"


def make(name: str, n: int, seed: int, limit: int | None = None) -> Envs:
    """Make n copies of an environment. limit: of an episode; None is its own."""
    return (Rooms if name == FOUR_ROOMS else GymEnvs)(name, n, seed, limit)
