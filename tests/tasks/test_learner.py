"""What all sessions share: the gradient that is clipped is the whole batch's."""

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from acprop.bench.optimizers import build
from acprop.tasks.learner import NetworkSession
from acprop.tasks.settings import StepSettings
from acprop.tasks.vision import VisionSettings, VisionTask


class Plain(NetworkSession):
    """A session that is told its batch."""

    def train_step(self):
        raise NotImplementedError

    def metrics(self, sums):
        raise NotImplementedError


DRAW = torch.Generator().manual_seed(0)
X, Y = torch.randn(8, 3, generator=DRAW), 10 * torch.randn(8, 2, generator=DRAW)


def measure(out, y):
    """The mean loss; and the loss and the number of rows, to be added up."""
    loss = mse_loss(out, y)
    seen = [float(loss.detach()) * len(y), len(y)]
    return loss, torch.tensor(seen, dtype=torch.float64)


def learner(name="sgd", *, lr=1.0, **options):
    torch.manual_seed(0)
    factory = build(name, {"lr": lr})
    batch = options.pop("batch", 8)
    settings, about = StepSettings(**options), {"batch": batch, "n_sums": 2}
    return Plain(nn.Linear(3, 2), factory, settings, 0, "cpu", **about)


def moved(made):
    """What one step does to all parameters, in a row."""
    before = nn.utils.parameters_to_vector(made.net.parameters()).detach()
    made.descend(X, Y, measure)
    return before - nn.utils.parameters_to_vector(made.net.parameters()).detach()


def test_a_gradient_that_is_too_long_keeps_its_direction():
    """g·(clip_norm/‖g‖), over weight and bias together; SGD with lr 1 moves by it."""
    free, clipped = moved(learner()), moved(learner(clip_norm=0.5))
    assert free.norm() > 1
    torch.testing.assert_close(clipped, free * 0.5 / free.norm(), rtol=1e-4, atol=1e-6)


def test_a_gradient_that_is_short_enough_is_left_to_the_bit():
    free = moved(learner())
    assert torch.equal(moved(learner(clip_norm=2 * free.norm().item())), free)


def test_an_optimizer_that_differentiates_its_gradients_is_not_clipped():
    message = "^clip_norm must be none for an optimizer that .* got 1.0; clipping cuts"
    with pytest.raises(ValueError, match=message):
        learner("adahessian", clip_norm=1.0)


@pytest.mark.usefixtures("mnist")
def test_a_vision_task_can_clip_as_well():
    sizes = {"batch": 64, "n_train": 128, "n_validation": 100, "n_test": 100}
    lengths = []
    for norm in (None, 0.01):
        task = VisionTask(VisionSettings("mnist", "mlp", **sizes, clip_norm=norm))
        session = task.begin(0, build("sgd", {"lr": 1.0}))
        before = nn.utils.parameters_to_vector(session.net.parameters()).detach()
        session.train_step()
        after = nn.utils.parameters_to_vector(session.net.parameters()).detach()
        lengths.append((after - before).norm().item())
    assert lengths[0] > 0.1
    assert lengths[1] == pytest.approx(0.01, rel=1e-3)


def test_a_schedule_free_method_is_evaluated_at_its_average():
    """x, where it trains at y = (1 - β1)·z + β1·x; then back, to the bit."""
    made = learner("schedulefree-adamw", lr=0.1)
    for _ in range(3):
        made.descend(X, Y, measure)
    trained = [p.detach().clone() for p in made.net.parameters()]
    z = [made.optimizer.state[p]["z"] for p in made.net.parameters()]
    with made.trained.evaluated():
        for x, y, fast in zip(made.net.parameters(), trained, z, strict=True):
            assert (x - y).abs().max() > 1e-3
            torch.testing.assert_close(0.1 * fast + 0.9 * x, y)
    for after, before in zip(made.net.parameters(), trained, strict=True):
        assert torch.equal(after, before)
    assert made.optimizer.param_groups[0]["train_mode"]
