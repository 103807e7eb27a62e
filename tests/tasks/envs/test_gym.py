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
    """Numbers from 5, actions from 3; what is seen is how many moves were made."""

    observation_space = Discrete(100, start=5)
    action_space = Discrete(2, start=3)

    def __init__(self, **spaces):
        vars(self).update(spaces)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.t = 5
        return np.int64(5), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.t += 1
        return np.int64(self.t), 1.0, False, False, {}


ODD = {
    "acprop-test/Odd-v0": {"max_episode_steps": 9},
    "acprop-test/Endless-v0": {},
    "acprop-test/Long-v0": {"max_episode_steps": 10**9},
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
        moved = copies.step(np.arange(copies.n) % 2 ^ t % 2)
        out.append([*map(np.copy, moved), copies.observe().copy()])
    return out


@pytest.mark.parametrize("name", ["four-rooms", "CartPole-v1", "MiniGrid-FourRooms-v0"])
@pytest.mark.parametrize("n_moves", [0, 1, 13, 60])
def test_copies_go_on_from_their_state_as_if_nothing_had_happened(name, n_moves):
    """CartPole falls after about 10 of these moves: several episodes have ended."""
    whole, resumed = (make(name, 3, seed=7, limit=50) for _ in range(2))
    play(whole, n_moves)
    resumed.load_state_dict(whole.state_dict())
    np.testing.assert_equal(resumed.observe(), whole.observe())
    np.testing.assert_equal(play(resumed, 50, n_moves), play(whole, 50, n_moves))


def test_copies_see_what_gymnasium_shows():
    copies = make("CartPole-v1", 2, seed=7)
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=derive_seed(7, "episode", 1))
    np.testing.assert_array_equal(copies.observe()[1], seen)
    for action in (0, 1, 1, 0):
        seen, reward, *_ = env.step(action)
        moved = copies.step(np.array([0, action]))
        np.testing.assert_array_equal(moved.seen[1], seen)
        assert moved.reward[1] == reward


def test_numbers_that_do_not_begin_at_zero_are_counted_from_zero():
    copies = make("acprop-test/Odd-v0", 2, seed=0)
    assert (copies.n_values, copies.n_actions, copies.limit) == (100, 2, 9)
    assert copies.observe().tolist() == [0, 0]
    for t in range(1, 10):
        moved = copies.step(np.array([0, 1]))
        assert moved.seen.tolist() == [t, t]
        assert moved.has_ended.all() == (t == 9)
        assert not moved.is_final.any()
    assert copies.observe().tolist() == [0, 0]


def test_the_four_rooms_of_minigrid_are_seen_as_a_picture():
    """7 × 7 cells before the walker: kind, colour, state. Turning finds no goal."""
    copies = make("MiniGrid-FourRooms-v0", 2, seed=0, limit=100)
    assert (copies.n_values, copies.shape, copies.n_actions) == (None, (7, 7, 3), 7)
    moves = play(copies, 100)
    assert moves[-1][3].all()
    assert not any(move[3].any() for move in moves[:-1])


BAD = {
    "env must be four-rooms or registered in gymnasium, got 'five-rooms'": "five-rooms",
    "env must end its episodes, got acprop-test/Endless-v0, which has no limit; set "
    "episode_limit": "acprop-test/Endless-v0",
    "env must end its episodes, got MiniGrid-FourRooms-v0, which has no limit; set "
    "episode_limit": "MiniGrid-FourRooms-v0",
    "env must end its episodes within 100000 moves, got acprop-test/Long-v0 with "
    "1000000000; set episode_limit": "acprop-test/Long-v0",
    "env must be observed as a number or an array, got acprop-test/Words-v0 with "
    f"{Text(4)}": "acprop-test/Words-v0",
    "env must have a finite number of actions, got acprop-test/Smooth-v0 with "
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


@pytest.mark.parametrize(
    ("name", "package"),
    [("MiniGrid-FourRooms-v0", "minigrid"), ("CartPole-v1", "gymnasium")],
)
def test_a_package_that_is_missing_is_named(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    message = f"^env must be .* got {name}; run pip install {package}$"
    with pytest.raises(ValueError, match=message):
        make(name, 1, seed=0)
