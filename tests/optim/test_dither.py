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
    for bit in range(16):
        share = ((other >> bit) & 1).double().mean()
        assert abs(share - 0.5) < 5 * 0.5 / N**0.5


@pytest.mark.parametrize("step", [1, 2, 1000, 2**24])
def test_the_bits_are_uniform(step):
    """χ² of 256 equal cells, of both halves; its mean is 255, its deviation 23.

    Of the elements of one step it may be less: they are spread more evenly than chance.
    """
    drawn = draw(step=step)
    assert drawn.min() >= 0
    assert drawn.max() < 2**16
    for cell in (drawn & 0xFF, drawn >> 8):
        assert chi2(cell) < 255 + 5 * 23


def chi2(cell):
    counts = torch.bincount(cell.flatten(), minlength=256).double()
    expected = cell.numel() / 256
    return ((counts - expected) ** 2 / expected).sum()


@pytest.mark.parametrize("element", [0, 1, 17, 2**20 + 5, 2**31 + 7, 2**40])
def test_one_element_draws_evenly_and_independently_over_steps(element):
    """Note [Cheap bits]: what a code that is rounded at random needs of its bits."""
    steps = range(1, N // 4)
    series = torch.cat([draw(step=t, offset=element, n=1) for t in steps])
    for cell in (series & 0xFF, series >> 8):
        assert abs(chi2(cell) - 255) < 5 * 23
    pair = (series[1:] >> 12) * 16 + (series[:-1] >> 12)
    assert abs(chi2(pair) - 255) < 5 * 23


def test_neighbours_and_successive_steps_are_not_correlated():
    series = torch.stack([draw(step=t, n=4096) for t in range(64)]).double()
    series = (series - series.mean()) / series.std()
    n = series.numel()
    assert abs((series[:, 1:] * series[:, :-1]).mean()) < 5 / n**0.5
    assert abs((series[1:] * series[:-1]).mean()) < 5 / n**0.5
