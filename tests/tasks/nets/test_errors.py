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
        "net must be one of mlp, vgg11, vgg11-bn, resnet18, resnet34, densenet121, "
        "wrn-28-10, got 'vgg16'; did you mean vgg11?",
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
    (
        "wrn-28-10",
        {"stem": "imagenet"},
        ValueError,
        "stem of wrn-28-10 must be one of cifar, got 'imagenet'",
    ),
    (
        "resnet18",
        {"stem": "mnist"},
        ValueError,
        "stem of resnet18 must be one of cifar, imagenet, got 'mnist'",
    ),
    (
        "vgg11",
        {"image": (1, 28, 28)},
        ValueError,
        "image must be at least 32×32 for vgg11, got 28×28, of which its pooling "
        "layers would leave nothing; enlarge it with size",
    ),
]


@pytest.mark.parametrize(("name", "options", "error", "message"), BAD)
def test_a_bad_option_is_refused(name, options, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        build(name, **GOOD | options)


@pytest.mark.parametrize("name", ["vgg11", "densenet121"])
def test_one_pixel_less_than_the_smallest_leaves_nothing(name):
    """The limits of the register are the networks' own, not a taste."""
    side = NETS[name].smallest - 1
    net = NETS[name].make(Plan(10, (3, side, side), "cifar", width=0.25, depth=1))
    with pytest.raises(RuntimeError, match="Output size is too small"):
        net(torch.zeros(2, 3, side, side))
