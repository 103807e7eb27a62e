"""What the two players descend: the losses as they are printed."""

import math

import pytest
import torch

from acprop.tasks.adversaries import LOSSES


def printed(kind, s, f):
    """The table of the module's first docstring, one score at a time."""
    mean = lambda values: sum(values) / len(values)  # noqa: E731
    log1p_exp = lambda x: math.log(1 + math.exp(x))  # noqa: E731
    mean_s, mean_f = mean(s), mean(f)
    if kind == "dcgan":
        d = mean([log1p_exp(-x) for x in s]) + mean([log1p_exp(x) for x in f])
        return d, mean([log1p_exp(-x) for x in f])
    if kind == "rlgan":
        d = mean([log1p_exp(-(x - mean_f)) for x in s])
        d += mean([log1p_exp(x - mean_s) for x in f])
        g = mean([log1p_exp(-(x - mean_s)) for x in f])
        return d, g + mean([log1p_exp(x - mean_f) for x in s])
    d = mean([max(0, 1 - x) for x in s]) + mean([max(0, 1 + x) for x in f])
    return d, -mean_f


@pytest.mark.parametrize("kind", LOSSES)
def test_the_losses_are_the_printed_ones(kind):
    s, f = [0.3, -1.7, 2.5, 0.0], [-0.4, 1.2, -2.1, 0.9]
    found = LOSSES[kind](torch.tensor(s), torch.tensor(f))
    assert [x.item() for x in found] == pytest.approx(printed(kind, s, f), rel=1e-6)
