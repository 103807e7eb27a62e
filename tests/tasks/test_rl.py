"""The DQN: pairs of runs with the same luck, its target, its returns, resuming."""

import io
import re

import numpy as np
import pytest
import torch

from acprop import ranks
from acprop.bench.optimizers import build
from acprop.bench.run import digest, run
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder
from acprop.bench.tasks import read_settings
from acprop.tasks.envs import Moved
from acprop.tasks.replay import Replay
from acprop.tasks.rl import RLSettings, RLTask, _measure

SMALL = {
    "episode_limit": 10,
    "copies": 4,
    "width": 16,
    "batch": 8,
    "memory": 60,
    "warm_up": 20,
    "epsilon_steps": 20,
    "target_every": 7,
    "steps_per_epoch": 10,
    "n_validation": 5,
    "n_test": 5,
}


def begin(name="acprop", seed=0, lr=1e-3, **changes):
    return RLTask(RLSettings(**SMALL | changes)).begin(seed, build(name, {"lr": lr}))


def steps(session, n):
    return [session.train_step()["loss"] for _ in range(n)]


def weights(session):
    return digest(session.net.state_dict())


@pytest.mark.parametrize("name", ["sgd", "adamw", "adahessian"])
def test_every_optimizer_with_a_seed_has_the_same_weights_and_the_same_luck(name):
    """Moves at random, and what they lead to, are the same: ε stays 1 here."""
    one, other = begin(epsilon=1.0), begin(name, epsilon=1.0)
    assert weights(one) == weights(other)
    for session in (one, other):
        steps(session, 6)
    assert digest(one.replay.state_dict()) == digest(other.replay.state_dict())
    assert weights(one) != weights(other)


def test_another_seed_has_other_weights_and_another_luck():
    one, two = begin(seed=0), begin(seed=1)
    assert weights(one) != weights(two)
    for session in (one, two):
        steps(session, 1)
    assert not torch.equal(one.replay.rows.before, two.replay.rows.before)


def test_the_first_step_waits_until_the_memory_is_warm():
    session = begin()
    steps(session, 1)
    assert session.replay.n_added == 20 + 4
    steps(session, 1)
    assert session.replay.n_added == 20 + 8


def test_epsilon_falls_along_a_line_and_stays():
    session = begin(epsilon=0.2, epsilon_steps=4)
    seen = []
    for _ in range(6):
        seen.append(session.epsilon)
        steps(session, 1)
    assert seen == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


def test_the_loss_is_that_of_the_bellman_equation():
    """y = r + γ·max Q'(s', ·), r alone where s' is final; squares, by hand."""
    session = begin(discount=0.8)
    steps(session, 5)  # Q' is Q at the first step
    session.replay.rows.is_final[::2] = True
    session.replay.rows.reward[::3] = 3.0
    moves = session.replay.sample(8, seed=1)
    x, y = session._lesson(1)
    q, old = session.net, session.target_net
    errors = []
    for i in range(8):
        value = q(moves.before[i : i + 1])[0, moves.action[i]].item()
        best = max(old(moves.after[i : i + 1])[0].tolist())
        wanted = float(moves.reward[i])
        wanted += 0.0 if moves.is_final[i] else 0.8 * best
        assert y[i].tolist() == pytest.approx([int(moves.action[i]), wanted])
        errors.append((value - wanted) ** 2)
    loss, _ = _measure(q(x), y)
    assert loss.item() == pytest.approx(sum(errors) / 8, rel=1e-5)


def test_the_target_network_is_renewed_every_so_many_steps():
    session = begin(target_every=3)
    seen = []
    for _ in range(7):
        steps(session, 1)
        seen.append(digest(session.target_net.state_dict()))
    assert seen[0] == seen[1] == seen[2] != seen[3]
    assert seen[3] == seen[4] == seen[5] != seen[6]


def test_the_newest_moves_replace_the_oldest():
    replay = Replay(5, torch.zeros(2, dtype=torch.int64))
    for t in range(4):
        news = np.array([2 * t, 2 * t + 1])
        flags = np.zeros(2, bool)
        moved = Moved(news + 100, news.astype(np.float32), flags, flags)
        replay.add(torch.as_tensor(news), torch.as_tensor(news), moved)
    assert replay.rows.before.tolist() == [5, 6, 7, 3, 4]
    assert replay.rows.after.tolist() == [105, 106, 107, 103, 104]
    drawn = replay.sample(200, seed=0).before
    assert set(drawn.tolist()) == {3, 4, 5, 6, 7}
    assert torch.equal(drawn, replay.sample(200, seed=0).before)


def test_only_what_is_held_is_drawn():
    replay = Replay(500, torch.zeros(1, dtype=torch.int64))
    seen, reward, flag = np.array([7]), np.ones(1, np.float32), np.zeros(1, bool)
    replay.add(torch.tensor([7]), torch.tensor([0]), Moved(seen, reward, flag, flag))
    assert set(replay.sample(100, seed=0).before.tolist()) == {7}


def test_returns_are_means_over_the_episodes_of_the_epoch_and_of_the_run():
    """Counted once more, from what the environments said."""
    session, running, ended = begin(episode_limit=9), np.zeros(4), []
    ever = []
    step = session.envs.step

    def spied(actions):
        moved = step(actions)
        np.add(running, moved.reward, out=running)
        ended.extend(running[moved.has_ended])
        ever.extend(running[moved.has_ended])
        running[moved.has_ended] = 0
        return moved

    session.envs.step = spied
    for _ in range(3):
        losses = steps(session, 10)
        seen = session.evaluate()
        assert seen["train_return"] == pytest.approx(np.mean(ended))
        assert seen["mean_return"] == pytest.approx(np.mean(ever))
        assert seen["train_loss"] == pytest.approx(np.mean(losses))
        ended.clear()
    assert seen["samples"] == 40


def test_evaluating_changes_nothing_and_is_the_same_for_every_seed():
    often, never = begin(), begin()
    for _ in range(3):
        steps(often, 10)
        first = often.evaluate()
    steps(never, 30)
    last = never.evaluate()
    assert first["val_return"] == last["val_return"]
    assert weights(often) == weights(never)
    other = begin(seed=1)
    other.net.load_state_dict(never.net.state_dict())
    assert other._mean_return("test", 5) == last["test_return"]


@pytest.mark.parametrize("n_steps", [0, 1, 8, 23])
@pytest.mark.parametrize("name", ["acprop", "adamw", "sgd"])
@pytest.mark.parametrize("env", ["four-rooms", "CartPole-v1"])
def test_a_session_resumed_anywhere_has_the_same_bits(env, name, n_steps):
    """Through a file; after 23 steps the memory of 60 has gone round."""
    options = {"env": env, "epsilon": 0.3}
    whole = begin(name, **options)
    steps(whole, n_steps)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    resumed = begin(name, **options)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert digest(whole.state_dict()) == digest(resumed.state_dict())
    assert steps(whole, 12) == steps(resumed, 12)
    assert whole.evaluate() == resumed.evaluate()
    assert steps(whole, 5) == steps(resumed, 5)
    assert digest(whole.state_dict()) == digest(resumed.state_dict())


def test_the_four_rooms_are_learnt():
    """A walk at random finds the goal in 1 of 4 episodes; seen after learning: 1.00."""
    task = RLTask(RLSettings())
    session = task.begin(0, build("acprop", {"lr": 3e-3}))
    assert random_return(task) < 0.35
    for _ in range(8):
        steps(session, 100)
        seen = session.evaluate()
    assert seen["train_return"] > 0.6


def random_return(task):
    session = task.begin(0, build("sgd", {"lr": 1.0}))
    for _ in range(500):
        session._move(1.0)
    return float(session.sums[2] / session.sums[3])


def test_a_run_that_diverges_is_a_result(tmp_path):
    spec = RunSpec("rl", SMALL, "sgd", {"lr": 1e30}, 3, 0)
    task, optimizer = RLTask(RLSettings(**SMALL)), build("sgd", {"lr": 1e30})
    assert run(spec, RunFolder(tmp_path), task, optimizer) == "diverged"


def test_the_task_says_what_it_is():
    task = RLTask(RLSettings())
    assert task.name == "rl/four-rooms-dqn"
    assert task.source["four-rooms"]["origin"].startswith("acprop ")
    assert task.settings.dataset is None
    pole = RLTask(RLSettings("CartPole-v1", steps_per_epoch=500))
    assert pole.source["CartPole-v1"]["origin"].startswith("gymnasium ")


def test_several_ranks_are_refused(monkeypatch):
    monkeypatch.setattr(ranks, "world", lambda: 2)
    message = "^ranks must be 1 for a task that plays, got 2; run without torchrun$"
    with pytest.raises(ValueError, match=message):
        begin()


BAD = {
    "env must be a string, got 3": {"env": 3},
    "episode_limit must be 1 or more, got 0": {"episode_limit": 0},
    "copies must be 1 or more, got 0": {"copies": 0},
    "batch must be a whole number, got 8.0": {"batch": 8.0},
    "discount must be in [0, 1), got 1": {"discount": 1},
    "epsilon must be in [0, 1], got 1.5": {"epsilon": 1.5},
    "epsilon must be in [0, 1], got nan": {"epsilon": float("nan")},
    "memory must be 20 or more, what copies and warm_up need, got 19": {"memory": 19},
    "clip_norm must be finite and above 0, got 0": {"clip_norm": 0},
    "second_moment must be True or False, got 1": {"second_moment": 1},
    "steps_per_epoch must be 11 or more, the longest episode of four-rooms, got 10; an "
    "epoch in which none ends has no return": {"episode_limit": 11},
}


@pytest.mark.parametrize("message", BAD)
def test_settings_that_cannot_be_are_refused(message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        begin(**BAD[message])


def test_an_unknown_setting_is_refused():
    message = "^a rl task's setting must be one of env, .*, got gamma$"
    with pytest.raises(ValueError, match=message):
        read_settings("rl", {"gamma": 0.9})
