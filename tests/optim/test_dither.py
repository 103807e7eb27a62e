"""Random bits that are a function of where and when, and are random enough."""

import pytest
import torch

from acprop.optim import dither

N = 2**16


def draw(step=1, stream=0, seed=0, offset=0, n=N):
    key = dither.key(torch.tensor(float(step)), torch.tensor(stream), seed)
    return dither.bits(torch.empty(n), key, offset)


def test_the_same_place_and_time_draw_the_same_bits():
    assert torch.equal(draw(), draw())
    assert torch.equal(draw(offset=1000, n=50), draw()[1000:1050])


@pytest.mark.parametrize("change", [{"step": 2}, {"stream": 1}, {"seed": 1}], ids=str)
def test_another_time_or_place_draws_others(change):
    """Each bit differs half of the time: within 5 standard deviations."""
    other = draw() ^ draw(**change)
    for bit in range(32):
        share = ((other >> bit) & 1).double().mean()
        assert abs(share - 0.5) < 5 * 0.5 / N**0.5


@pytest.mark.parametrize("step", [1, 2, 1000, 2**24])
def test_the_bits_are_uniform(step):
    """χ² of 256 equal cells, of both halves; its mean is 255, its deviation 23."""
    drawn = draw(step=step)
    assert drawn.min() >= 0
    assert drawn.max() < 2**32
    for cell in (drawn & 0xFF, (drawn >> 16) & 0xFF, drawn >> 24):
        counts = torch.bincount(cell, minlength=256).double()
        chi2 = ((counts - N / 256) ** 2 / (N / 256)).sum()
        assert abs(chi2 - 255) < 5 * 23


def test_neighbours_and_successive_steps_are_not_correlated():
    series = torch.stack([draw(step=t, n=4096) for t in range(64)]).double()
    series = (series - series.mean()) / series.std()
    n = series.numel()
    assert abs((series[:, 1:] * series[:, :-1]).mean()) < 5 / n**0.5
    assert abs((series[1:] * series[:-1]).mean()) < 5 / n**0.5
