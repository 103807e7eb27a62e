"""The vision task: pairs of runs that see the same, resuming."""

import copy
import io
import re
from dataclasses import replace
from math import isnan

import pytest
import torch
from torch.nn.functional import cross_entropy, interpolate

from acprop.bench.optimizers import build
from acprop.bench.run import digest
from acprop.bench.tasks import read_settings
from acprop.tasks import vision
from acprop.tasks.data.augment import normalised
from acprop.tasks.feed import Feed
from acprop.tasks.learner import second_moment
from acprop.tasks.vision import VisionSettings, VisionTask

from ..bench.wide import ROUNDED, begin_wide

SMALL = {
    "dataset": "mnist",
    "net": "mlp",
    "batch": 64,
    "n_train": 640,
    "n_validation": 200,
    "n_test": 200,
}
WITH_BATCH_NORM = {"net": "resnet18", "width": 0.125, "depth": 0.5}


@pytest.fixture(scope="module")
def task(mnist):
    """One for all: loading takes longer than a test."""
    del mnist
    tasks = {}

    def make(**changes):
        key = tuple(sorted(changes.items()))
        if key not in tasks:
            tasks[key] = VisionTask(VisionSettings(**SMALL | changes))
        return tasks[key]

    return make


def begin(task, name="acprop", seed=0, **options):
    return task.begin(seed, build(name, {"lr": 1e-3, **options}))


def wide(task, name="acprop", **options):
    return begin_wide(task, build(name, {"lr": 1e-3, **options}))


def weights(session):
    return digest(session.net.state_dict())


def steps(session, n):
    return [session.train_step()["loss"] for _ in range(n)]


class Spy:
    """Stands between a session and its feed and remembers what was trained on."""

    def __init__(self, session, n_steps):
        self.feed, self.rows, self.draws, self.x, self.y = session.feed, [], [], [], []
        session.feed = self
        steps(session, n_steps)

    def __getattr__(self, name):
        return getattr(self.feed, name)

    def training(self, rows, draw, *, part):
        x, y = self.feed.training(rows, draw, part=part)
        self.rows += rows.tolist()
        self.draws.append(draw and draw.initial_seed())
        self.x.append(x)
        self.y.append(y)
        return x, y

    def digest(self):
        return digest([self.x, self.y])


@pytest.mark.parametrize("name", ["sgd", "adam", "lookahead", "adahessian"])
def test_every_optimizer_with_a_seed_sees_the_same_weights_and_images(task, name):
    """AdaHessian draws random numbers of its own; nobody's data may feel it."""
    one, other = begin(task()), begin(task(), name)
    assert weights(one) == weights(other)
    assert Spy(one, 12).digest() == Spy(other, 12).digest()
    assert weights(one) != weights(other)


def test_another_seed_has_other_weights_another_order_and_other_crops(task):
    one, two = (begin(task(), seed=seed) for seed in (0, 1))
    assert weights(one) != weights(two)
    one, two = Spy(one, 3), Spy(two, 3)
    assert one.rows != two.rows
    assert not set(one.draws) & set(two.draws)


def test_what_others_draw_changes_nothing(task):
    torch.manual_seed(1)
    one = begin(task())
    torch.manual_seed(2)
    other = begin(task())
    assert weights(one) == weights(other)
    seen = Spy(one, 3).digest()
    torch.rand(100)
    assert Spy(other, 3).digest() == seen


def test_without_crops_weights_and_order_are_what_they_were(task):
    cropped, plain = begin(task()), begin(task(augment=False))
    assert weights(cropped) == weights(plain)
    cropped, plain = Spy(cropped, 3), Spy(plain, 3)
    assert cropped.rows == plain.rows
    assert all(map(torch.equal, cropped.y, plain.y))
    assert not any(map(torch.equal, cropped.x, plain.x))
    assert plain.draws == [None] * 3


def test_another_net_sees_the_same_images(task):
    mlp, resnet = begin(task()), begin(task(**WITH_BATCH_NORM))
    assert Spy(mlp, 2).digest() == Spy(resnet, 2).digest()


def test_an_epoch_shows_every_image_once_and_the_next_in_another_order(task):
    rows = Spy(begin(task()), 20).rows
    first, second = rows[:640], rows[640:]
    assert sorted(first) == sorted(second) == list(range(640))
    assert first != second


def contents(x):
    return {row.numpy().tobytes() for row in x}


def test_validation_is_held_out_of_training(task):
    images = task().feed.images
    assert len(contents(images.val_x)) == 200
    assert not contents(images.train_x) & contents(images.val_x)


def test_validation_is_the_same_for_all_seeds_and_sizes(task):
    first, other = begin(task(), seed=0), begin(task(), seed=1)
    fewer = begin(task(n_train=256), seed=2)
    judged = [
        s.feed.evaluation_rows("val", slice(0, 200)) for s in (first, other, fewer)
    ]
    assert len({digest(list(pair)) for pair in judged}) == 1


def test_only_images_of_the_training_part_are_trained_on(task):
    session = begin(task(augment=False))
    images = session.feed.images
    seen = contents(torch.cat(Spy(session, 10).x))
    how = images.mean, images.std
    assert seen == contents(normalised(images.train_x, *how))
    assert not seen & contents(normalised(images.test_x, *how))


def test_what_is_judged_has_no_part_in_training(task):
    """Other validation and test sets, other accuracies, the same weights."""
    other = copy.copy(task())
    images = other.feed.images
    blank = {"val_x": images.val_x * 0, "test_x": images.test_x * 0}
    other.feed = Feed(replace(images, **blank))
    sessions = [begin(task()), begin(other)]
    seen = []
    for session in sessions:
        steps(session, 10)
        seen.append(session.evaluate())
        steps(session, 3)
    assert seen[0]["val_accuracy"] > seen[1]["val_accuracy"]
    assert seen[0]["test_accuracy"] > seen[1]["test_accuracy"]
    assert weights(sessions[0]) == weights(sessions[1])


def test_evaluating_changes_nothing(task):
    """BatchNorm's running averages and the random streams stay as they are."""
    often, never = (begin(task(n_train=256, **WITH_BATCH_NORM)) for _ in range(2))
    for _ in range(3):
        steps(often, 1)
        often.evaluate()
    steps(never, 3)
    assert weights(often) == weights(never)


def test_the_metrics_are_those_computed_by_hand(task, monkeypatch):
    """Evaluated 64 at a time: three times, and the 8 that are left."""
    monkeypatch.setattr(vision, "EVALUATION_BATCH", 64)
    session = wide(task(second_moment=True))
    spied = copy.deepcopy(session.net)
    for _ in range(2):  # an epoch's sums are its own
        losses, right = [], 0
        for _ in range(10):
            spied.load_state_dict(session.net.state_dict())
            spy = Spy(session, 1)
            session.feed = spy.feed
            logits = spied(spy.x[0])
            losses.append(cross_entropy(logits, spy.y[0]).item())
            right += int((logits.argmax(1) == spy.y[0]).sum())
        seen = session.evaluate()
        assert seen["train_loss"] == pytest.approx(sum(losses) / 10, rel=ROUNDED)
        assert (seen["train_accuracy"], seen["samples"]) == (right / 640, 640)
    for part in ("val", "test"):
        x, y = session.feed.evaluation_rows(part, slice(0, 200))
        logits = session.net(x)
        n_right = int((logits.argmax(1) == y).sum())
        assert seen[f"{part}_accuracy"] == n_right / 200
        loss = cross_entropy(logits, y).item()
        assert seen[f"{part}_loss"] == pytest.approx(loss, rel=ROUNDED)
    buffers = [s["exp_avg_sq"].flatten() for s in session.optimizer.state.values()]
    mean = torch.cat(buffers).double().mean().item()
    assert seen["second_moment"] == pytest.approx(mean, rel=ROUNDED)


def test_the_second_moment_is_the_mean_over_all_elements(task):
    """Three elements of 1 and one of 5 have the mean 2, however they are grouped."""
    optimizer = begin(task()).optimizer
    ones, five = torch.ones(3, 1), torch.tensor(5.0)
    (a, b, *_) = optimizer.param_groups[0]["params"]
    optimizer.state.update({a: {"exp_avg_sq": ones}, b: {"square_avg": five}})
    assert second_moment(optimizer) == 2.0


def test_an_optimizer_without_a_second_moment_has_none(task):
    session = begin(task(), "sgd")
    steps(session, 1)
    assert isnan(second_moment(session.optimizer))
    assert "second_moment" not in session.evaluate()


NETS = {
    "mlp": {},
    "with BatchNorm": WITH_BATCH_NORM | {"channels_last": True},
}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", ["acprop", "adam", "sgd", "adahessian"])
def test_a_session_resumed_in_the_middle_of_an_epoch_has_the_same_bits(task, name, net):
    """Stopped after 3 of 4 steps, through a file; the loss and the epoch as well."""
    small = task(n_train=256, **NETS[net])
    whole = begin(small, name)
    steps(whole, 3)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    losses, seen = steps(whole, 1), whole.evaluate()
    losses += steps(whole, 2)
    resumed = begin(small, name, seed=0)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert steps(resumed, 1) == losses[:1]
    assert resumed.evaluate() == seen
    assert steps(resumed, 2) == losses[1:]
    assert digest(whole.state_dict()) == digest(resumed.state_dict())


def test_channels_last_is_a_layout_and_not_another_network(task):
    plain, other = (
        wide(task(n_train=128, **WITH_BATCH_NORM, **option))
        for option in ({}, {"channels_last": True})
    )
    assert weights(plain) == weights(other)
    layouts = []
    # past the stem: an image with one channel has no order of channels
    other.net.features.register_forward_hook(lambda *a: layouts.append(a[2]))
    assert steps(plain, 2) == pytest.approx(steps(other, 2), rel=ROUNDED)
    layout = {"memory_format": torch.channels_last}
    assert all(out.is_contiguous(**layout) for out in layouts)
    assert not any(out.is_contiguous() for out in layouts)


def test_images_are_resized_in_training_and_in_judging(task):
    session = begin(task(n_train=128, size=32, **WITH_BATCH_NORM))
    inputs = []
    session.net.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    spy = Spy(session, 1)
    assert torch.equal(inputs[0], interpolate(spy.x[0], (32, 32), mode="bilinear"))
    session.evaluate()
    assert {tuple(x.shape[1:]) for x in inputs} == {(1, 32, 32)}


def test_the_learning_rate_is_a_multiple_of_the_first(task):
    session = begin(task())
    session.scale_lr(0.1)
    session.scale_lr(0.5)
    assert session.optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)


BAD = {
    "batch must be 1 or more, got 0": {"batch": 0},
    "size must be 1 or more, got 0": {"size": 0},
    "n_test must be 1 or more, got -1": {"n_test": -1},
    "batch must be at most the 640 training images, got 1000": {"batch": 1000},
}


@pytest.mark.parametrize("message", BAD)
def test_settings_that_cannot_be_are_refused(task, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        begin(task(**BAD[message]))


def test_an_unknown_setting_is_refused():
    message = r"^a vision task's setting must be one of dataset, .* mean batch\?$"
    with pytest.raises(ValueError, match=message):
        read_settings("vision", {"dataset": "mnist", "net": "mlp", "bach": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": "foo"}, "batch must be a whole number, got 'foo'"),
        ({"batch": 64.0}, "batch must be a whole number, got 64.0"),
        ({"augment": 3}, "augment must be True or False, got 3"),
    ],
)
def test_a_setting_of_another_kind_is_refused(changes, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        read_settings("vision", {"dataset": "mnist", "net": "mlp", **changes})
