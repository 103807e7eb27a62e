"""m and s^¼ in 8 bits: right on average, and never 0 for what is not."""

import pytest
import torch

from acprop.optim import codes, dither

WAYS = {
    "m": (codes.encode_mean, codes.decode_mean, torch.int8),
    "s": (codes.encode_surprise, codes.decode_surprise, torch.uint8),
}
each = pytest.mark.parametrize("name", WAYS)


def bits(like):
    key = dither.key(torch.tensor(1.0), torch.tensor(0))
    return dither.bits(like, key)


def values(name, *shape, decades=0.0):
    """Of both signs for m; of widely different sizes if asked."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=draw)
    x = x * 10 ** (decades * torch.randn(shape, generator=draw))
    return x if name == "m" else x.square()


@each
@pytest.mark.parametrize("shape", [(3, 16), (2, 64), (2, 65), (4, 3, 7, 2), (5000,)])
def test_codes_have_the_shape_of_the_parameter_and_a_scale_per_block(name, shape):
    encode, decode, dtype = WAYS[name]
    x = values(name, *shape)
    made = encode(x, bits(x))
    fresh = codes.zeros(x, dtype)
    assert (made.code.shape, made.code.dtype) == (x.shape, dtype)
    assert [t.shape for t in made] == [t.shape for t in fresh]
    assert [t.dtype for t in made] == [t.dtype for t in fresh]
    assert decode(made).shape == x.shape
    assert not decode(fresh).any()


def test_a_block_does_not_hear_of_its_neighbours():
    """A row of 65 elements has two blocks, and another row has its own."""
    x = torch.ones(2, 65)
    x[0, 64], x[1] = 1e6, 1e-6
    for encode, decode, _ in WAYS.values():
        assert torch.allclose(decode(encode(x, bits(x))), x, rtol=1e-6)


# The largest distance to the next code, in units of the value, at 1, 1/10 … of the
# block's largest; of √s, which is what is divided by.
SPACING = {
    "m": {1: 0.03, 1e-1: 0.08, 1e-2: 0.25},
    "s": {1: 0.02, 1e-2: 0.04, 1e-4: 0.07, 1e-8: 0.25, 1e-16: 2.0},
}


@pytest.mark.parametrize(
    ("name", "size", "spacing"),
    [(name, *row) for name, rows in SPACING.items() for row in rows.items()],
)
def test_the_resolution_is_the_documented_one(name, size, spacing):
    """docs/small-state.md; the eighth power trades it for ten decades of √s."""
    encode, decode, _ = WAYS[name]
    x = size * torch.linspace(0.5, 1, 63).repeat(200, 1)
    x = torch.cat([x, torch.ones(200, 1)], dim=1)
    error = (decode(encode(x, bits(x))) / x)[:, :-1]
    error = (error if name == "m" else error.sqrt()) - 1
    assert error.abs().max() < spacing


@each
def test_rounding_is_right_on_average(name):
    """m and s^¼, over 4000 draws; within 5 standard deviations of their mean."""
    encode, decode, _ = WAYS[name]
    power, small = {"m": (1.0, 1e-3), "s": (0.25, 1e-12)}[name]
    x = values(name, 1, 64)
    x[0, :4] = torch.tensor([0.0, 0.9999, 1.0, small]) * x.abs().max()
    n = 4000
    rows = x.repeat(n, 1)  # a block each
    seen = decode(encode(rows, bits(rows))).double()
    seen, x = (v.abs().pow(power).copysign(v) for v in (seen, x))
    error = (seen.mean(0) - x).abs()
    allowed = 5 * seen.std(0) / n**0.5 + 1e-6 * x.abs()
    assert (error <= allowed).all()


def test_what_is_not_0_stays_so():
    """A denominator of 0 would send the next gradient to the bound."""
    x = torch.logspace(0, -37, 64).reshape(1, 64)
    code, scale = codes.encode_surprise(x, bits(x))
    assert (code > 0).all()
    assert scale.item() == 1
    silent = torch.zeros(1, 64)
    for encode, decode, _ in WAYS.values():
        assert not decode(encode(silent, bits(silent))).any()


@each
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_seen_again(name, bad):
    """As in float32 state: a NaN that went in does not come out as a number."""
    encode, decode, _ = WAYS[name]
    x = torch.ones(2, 64)
    x[0, 5] = bad
    after = decode(encode(x, bits(x)))
    assert not after[0, 5].isfinite()
    assert after[1].isfinite().all()


@pytest.mark.parametrize(
    ("shape", "is_small"),
    [
        ((), False),
        ((10,), False),
        ((4096,), True),
        ((5, 15), False),
        ((5, 16), True),
        ((8, 3, 3, 3), True),
    ],
)
def test_only_what_pays_is_coded(shape, is_small):
    assert codes.pays(torch.zeros(shape)) is is_small
    assert not codes.pays(torch.zeros(shape, dtype=torch.complex64))
