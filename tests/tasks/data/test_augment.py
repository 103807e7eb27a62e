"""A whole batch at once does what a loop over its images does."""

import pytest
import torch

from acprop.tasks.data.augment import (
    PADDING,
    Crops,
    crop_and_flip,
    draw_crops,
    normalised,
)


def made(shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(256, shape, generator=generator).to(torch.uint8)


def one_by_one(x, crops):
    """The naive way: pad each image, cut, and mirror."""
    out, padding = [], PADDING
    for image, top, left, flip in zip(x, *crops, strict=True):
        c, h, w = image.shape
        big = torch.zeros(c, h + 2 * padding, w + 2 * padding, dtype=x.dtype)
        big[:, padding : padding + h, padding : padding + w] = image
        window = big[:, top : top + h, left : left + w]
        out.append({True: window.flip(-1), False: window}[bool(flip)])
    return torch.stack(out)


@pytest.mark.parametrize(
    "shape", [(64, 3, 32, 32), (9, 1, 28, 28), (5, 2, 6, 11)], ids=str
)
def test_the_batch_is_the_loop(shape):
    x = made(shape)
    crops = draw_crops(shape[0], generator=torch.Generator().manual_seed(1))
    assert torch.equal(crop_and_flip(x, crops), one_by_one(x, crops))


def test_the_window_in_the_middle_is_the_image():
    x = made((4, 3, 32, 32))
    middle = torch.full((4,), 4)
    still = Crops(middle, middle, torch.zeros(4, dtype=torch.bool))
    assert torch.equal(crop_and_flip(x, still), x)
    mirrored = still._replace(flip=torch.ones(4, dtype=torch.bool))
    assert torch.equal(crop_and_flip(x, mirrored), x.flip(-1))


def test_every_window_is_as_likely_as_any_other():
    n = 81_000
    crops = draw_crops(n, generator=torch.Generator().manual_seed(0))
    cells = torch.bincount(crops.top * 9 + crops.left, minlength=81)
    assert len(cells) == 81
    # Binomial(81000, 1/81): 1000 ± 31.4; five deviations over 81 cells
    assert (cells - 1000).abs().max() < 5 * 31.4
    assert abs(int(crops.flip.sum()) - n / 2) < 5 * (n / 4) ** 0.5


def test_a_seed_gives_the_same_crops_and_another_seed_others():
    first, again, other = (
        draw_crops(32, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1)
    )
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.top, other.top)


def test_normalisation_is_the_formula():
    x = made((8, 3, 5, 5))
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    m, s = (torch.tensor(v, dtype=torch.float64).view(3, 1, 1) for v in (mean, std))
    expected = (x.double() / 255 - m) / s
    found = normalised(x, mean, std)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)
