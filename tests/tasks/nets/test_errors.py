"""What cannot be built is refused at the door: <argument> must <condition>, got ..."""

import math
import re

import pytest
import torch

from acprop.tasks.nets import NETS, Plan, build

GOOD = {"n_classes": 10, "image": (3, 32, 32)}

# name, options, error, message
BAD = [
    (
        "vgg16",
        {},
        ValueError,
        "name must be one of mlp, vgg11, vgg11-bn, resnet18, resnet34, densenet121, "
        "wrn-28-10, got 'vgg16'; did you mean vgg11?",
    ),
    ("mlp", {"n_classes": 1}, ValueError, "n_classes must be 2 or more, got 1"),
    ("mlp", {"n_classes": 2.0}, TypeError, "n_classes must be a whole number, got 2.0"),
    (
        "mlp",
        {"n_classes": True},
        TypeError,
        "n_classes must be a whole number, got True",
    ),
    (
        "mlp",
        {"image": (28, 28)},
        ValueError,
        "image must be (channels, height, width), got (28, 28)",
    ),
    (
        "mlp",
        {"image": 784},
        ValueError,
        "image must be (channels, height, width), got 784",
    ),
    (
        "mlp",
        {"image": (0, 28, 28)},
        ValueError,
        "image's channels must be 1 or more, got 0",
    ),
    (
        "mlp",
        {"image": (1, 28.0, 28)},
        TypeError,
        "image's height must be a whole number, got 28.0",
    ),
    ("mlp", {"width": 0}, ValueError, "width must be finite and above 0, got 0"),
    (
        "resnet18",
        {"width": math.nan},
        ValueError,
        "width must be finite and above 0, got nan",
    ),
    (
        "resnet18",
        {"depth": math.inf},
        ValueError,
        "depth must be finite and above 0, got inf",
    ),
    (
        "resnet18",
        {"depth": -0.5},
        ValueError,
        "depth must be finite and above 0, got -0.5",
    ),
    ("resnet18", {"width": "1"}, TypeError, "width must be a number, got '1'"),
    ("resnet18", {"depth": True}, TypeError, "depth must be a number, got True"),
    (
        "vgg11-bn",
        {"depth": 0.5},
        ValueError,
        "depth must be 1 for vgg11-bn, whose layers are fixed, got 0.5; use width",
    ),
    (
        "mlp",
        {"depth": 2},
        ValueError,
        "depth must be 1 for mlp, whose layers are fixed, got 2; use width",
    ),
    ("wrn-28-10", {"dropout": 1.0}, ValueError, "dropout must be in [0, 1), got 1.0"),
    ("wrn-28-10", {"dropout": -0.1}, ValueError, "dropout must be in [0, 1), got -0.1"),
    (
        "resnet34",
        {"dropout": 0.3},
        ValueError,
        "dropout must be 0 for resnet34 with stem 'cifar', which has no place for it, "
        "got 0.3",
    ),
    (
        "vgg11",
        {"dropout": 0.5},
        ValueError,
        "dropout must be 0 for vgg11 with stem 'cifar', which has no place for it, "
        "got 0.5",
    ),
    (
        "wrn-28-10",
        {"stem": "imagenet"},
        ValueError,
        "stem must be 'cifar' for wrn-28-10, got 'imagenet'",
    ),
    (
        "resnet18",
        {"stem": "mnist"},
        ValueError,
        "stem must be 'cifar' or 'imagenet' for resnet18, got 'mnist'",
    ),
    (
        "vgg11",
        {"image": (1, 28, 28)},
        ValueError,
        "image must be at least 32×32 for vgg11 with stem 'cifar', got 28×28, of "
        "which its pooling layers would leave nothing; pad or enlarge it",
    ),
    (
        "densenet121",
        {"image": (3, 64, 28), "stem": "imagenet"},
        ValueError,
        "image must be at least 29×29 for densenet121 with stem 'imagenet', got "
        "64×28, of which its pooling layers would leave nothing; pad or enlarge it",
    ),
]


@pytest.mark.parametrize(("name", "options", "error", "message"), BAD)
def test_a_bad_option_is_refused(name, options, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        build(name, **GOOD | options)


def test_no_dropout_may_be_asked_of_any_network():
    with torch.device("meta"):
        nets = [build(name, **GOOD, dropout=0.0) for name in NETS]
    assert len(nets) == len(NETS)


@pytest.mark.parametrize(
    ("name", "stem"), [("vgg11", "cifar"), ("densenet121", "imagenet")]
)
def test_one_pixel_less_than_the_smallest_leaves_nothing(name, stem):
    """The limits of the register are the networks' own, not a taste."""
    side = NETS[name].smallest[stem] - 1
    plan = Plan(10, (3, side, side), stem, width=0.25, depth=1, dropout=0)
    net = NETS[name].make(plan)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        net(torch.zeros(2, 3, side, side))
