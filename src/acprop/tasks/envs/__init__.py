"""Environments to learn in: the four rooms, and whatever gymnasium has."""

from acprop.tasks.envs.contract import Envs, Moved
from acprop.tasks.envs.gym import GymEnvs
from acprop.tasks.envs.gym import package_of as registering
from acprop.tasks.envs.rooms import Rooms

__all__ = ["FOUR_ROOMS", "Envs", "Moved", "make", "package_of"]

FOUR_ROOMS = "four-rooms"


def make(name: str, n: int, seed: int, limit: int | None = None) -> Envs:
    """Make n copies of an environment. limit: of an episode; None is its own."""
    if name == FOUR_ROOMS:
        return Rooms(n, seed, limit)
    return GymEnvs(name, n, seed, limit)


def package_of(name: str) -> str:
    """Whose environment it is."""
    return "acprop" if name == FOUR_ROOMS else registering(name)
