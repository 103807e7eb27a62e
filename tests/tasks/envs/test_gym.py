"""Environments of gymnasium: played again from seeds and actions, or refused."""

import re
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text

from acprop.tasks.envs import make
from acprop.tasks.task import derive_seed


class Odd(gymnasium.Env):
    """What is seen is how many moves were made."""

    observation_space = Box(0, 100, (1,))
    action_space = Discrete(2)

    def __init__(self, **spaces):
        vars(self).update(spaces)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.t = np.zeros(1)
        return self.t, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.t = self.t + 1
        return self.t, 1.0, False, False, {}


ODD = {
    "acprop-test/Endless-v0": {},
    "acprop-test/Words-v0": {
        "max_episode_steps": 9,
        "kwargs": {"observation_space": Text(4)},
    },
    "acprop-test/Smooth-v0": {
        "max_episode_steps": 9,
        "kwargs": {"action_space": Box(0, 1)},
    },
}
for name, options in ODD.items():
    gymnasium.register(name, Odd, **options)


def play(copies, n_moves, first=0):
    """What is seen in so many moves, by actions that follow from their number."""
    out = []
    for t in range(first, first + n_moves):
        moved = copies.step(np.arange(len(copies.seen)) % 2 ^ t % 2)
        out.append([*map(np.copy, moved), copies.seen.copy()])
    return out


@pytest.mark.parametrize("name", ["four-rooms", "CartPole-v1"])
@pytest.mark.parametrize("n_moves", [0, 1, 13, 60])
def test_copies_go_on_from_their_state_as_if_nothing_had_happened(name, n_moves):
    """CartPole falls after about 10 of these moves: several episodes have ended."""
    whole, resumed = (make(name, 3, seed=7, limit=50) for _ in range(2))
    play(whole, n_moves)
    resumed.load_state_dict(whole.state_dict())
    np.testing.assert_equal(resumed.seen, whole.seen)
    np.testing.assert_equal(play(resumed, 50, n_moves), play(whole, 50, n_moves))


def test_copies_see_what_gymnasium_shows():
    copies = make("CartPole-v1", 2, seed=7)
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=derive_seed(7, "episode", 1))
    np.testing.assert_array_equal(copies.seen[1], seen)
    for action in (0, 1, 1, 0):
        seen, reward, *_ = env.step(action)
        moved = copies.step(np.array([0, action]))
        np.testing.assert_array_equal(moved.seen[1], seen)
        assert moved.reward[1] == reward


BAD = {
    "env must be four-rooms or registered in gymnasium, got 'five-rooms'": "five-rooms",
    "env must end its episodes, got acprop-test/Endless-v0, which has no limit; set "
    "episode_limit": "acprop-test/Endless-v0",
    "env must be observed as an array, got acprop-test/Words-v0 with "
    f"{Text(4)}": "acprop-test/Words-v0",
    "env must have actions 0, 1, …, got acprop-test/Smooth-v0 with "
    f"{Box(0, 1)}": "acprop-test/Smooth-v0",
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_learnt_in_is_refused(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make(BAD[message], 2, seed=0)


def test_an_endless_environment_ends_at_the_limit_it_is_given():
    copies = make("acprop-test/Endless-v0", 1, seed=0, limit=4)
    ended = [bool(move[3].all()) for move in play(copies, 8)]
    assert ended == [False, False, False, True] * 2


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    message = "^env must be .* got CartPole-v1; run pip install gymnasium$"
    with pytest.raises(ValueError, match=message):
        make("CartPole-v1", 1, seed=0)
