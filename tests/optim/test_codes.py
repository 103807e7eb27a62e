"""m, M and s in 8 bits: right on average, and no s is ever 0 beside another."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acprop.optim import codes, dither


def way(coder):
    return lambda x, bits: coder.encode(x, bits, 0.0), coder.decode, coder.dtype


WAYS = {"m": way(codes.MEAN), "M": way(codes.AVERAGE), "s": way(codes.SURPRISE)}
each = pytest.mark.parametrize("name", WAYS)


def bits(like):
    key = dither.key(torch.tensor(1.0), torch.tensor(0))
    return dither.bits(like, key)


def values(name, *shape, decades=0.0):
    """Of both signs for means; of widely different sizes if need be."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=draw)
    x = x * 10 ** (decades * torch.randn(shape, generator=draw))
    return x.square() if name == "s" else x


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
    "m": {1: 0.032, 1e-1: 0.08, 1e-2: 0.25},
    "M": {1: 0.016, 1e-1: 0.16},
    "s": {1: 0.032, 1e-2: 0.032, 1e-4: 0.063, 1e-8: 0.25, 1e-16: 4.0},
}


@pytest.mark.parametrize(
    ("name", "size", "spacing"),
    [(name, *row) for name, rows in SPACING.items() for row in rows.items()],
)
def test_the_resolution_is_the_documented_one(name, size, spacing):
    """docs/small-state.md; tapered codes trade it for ten decades of √s."""
    encode, decode, _ = WAYS[name]
    x = size * torch.linspace(0.5, 1, 63).repeat(200, 1)
    x = torch.cat([x, torch.ones(200, 1)], dim=1)
    error = (decode(encode(x, bits(x))) / x)[:, :-1]
    error = (error.sqrt() if name == "s" else error) - 1
    assert error.abs().max() < spacing


@each
def test_rounding_is_right_on_average(name):
    """Over 4000 draws; within 5 standard deviations of their mean.

    Of s only where two codes are closer than a factor of 2, Note [The fourth root].
    """
    encode, decode, _ = WAYS[name]
    x = values(name, 1, 64)
    x[0, :4] = torch.tensor([1e-5, 0.9999, 1.0, 1e-3]) * x.abs().max()
    n = 4000
    rows = x.repeat(n, 1)  # a block each
    seen = decode(encode(rows, bits(rows))).double()
    error = (seen.mean(0) - x).abs()
    allowed = 5 * seen.std(0) / n**0.5 + 4e-5 * x.abs().max() * (name == "M")
    assert (error <= allowed + 2e-5 * x.abs()).all()


def test_a_lean_adds_its_share_of_a_code():
    """Note [The fourth root]: 1/8 of a code upwards in an eighth of all draws."""
    x = torch.tensor([1.0, 24 / 31]).repeat(40_000, 32)
    drawn = bits(x)
    plain, leant = (codes.encode_surprise(x, drawn, lean).code for lean in (0.0, 1 / 8))
    more = (leant.int() - plain.int())[:, 1::2].double()
    assert set(more.unique().tolist()) == {0.0, 1.0}
    assert abs(more.mean() - 1 / 8) < 5 * (1 / 8 * 7 / 8 / more.numel()) ** 0.5
    assert codes.lean_of(0.999) == pytest.approx(0.375e-3)


@each
def test_a_code_that_is_read_and_written_again_is_itself(name):
    """Else s would wander by itself, a thousand times for each gradient it keeps."""
    encode, decode, dtype = WAYS[name]
    low, high = (1, 254) if dtype == torch.uint8 else (-127, 127)
    every = torch.arange(low, high + 1).to(dtype)
    top = every.max().expand(len(every))
    code = torch.stack([every, top], dim=1)
    scale = torch.full((len(every), 1), 0.7)
    again = encode(decode(codes.Codes(code, scale)), bits(code))
    moved = (again.code.int() - code.int()).abs()
    assert moved.max() <= 1
    assert moved.double().mean() < 1e-3  # a rounding of float32, now and then


def test_no_s_is_0_beside_another():
    """A denominator of 0 would send the next gradient to the bound."""
    x = torch.logspace(0, -37, 64).reshape(1, 64)
    s = codes.decode_surprise(codes.encode_surprise(x, bits(x)))
    assert (s >= 2.0**-64).all()
    silent = torch.zeros(1, 64)
    for encode, decode, _ in WAYS.values():
        assert not decode(encode(silent, bits(silent))).any()


number = st.floats(-(2.0**99), 2.0**99, width=32, allow_nan=False, allow_infinity=False)


@each
@settings(deadline=None, max_examples=60)
@given(row=st.lists(number, min_size=1, max_size=130), seed=st.integers(0, 2**31))
def test_any_row_comes_back_within_two_codes(name, row, seed):
    """Whatever the sizes: no overflow, no other sign, nothing above the largest."""
    encode, decode, _ = WAYS[name]
    x = torch.tensor([row])
    x = x.abs() if name == "s" else x
    drawn = dither.bits(x, dither.key(torch.tensor(1.0), torch.tensor(seed)))
    made = encode(x, drawn)
    y = decode(made)
    assert y.isfinite().all()
    for k in range(0, len(row), codes.BLOCK):
        a, b = x[0, k : k + codes.BLOCK].double(), y[0, k : k + codes.BLOCK].double()
        scale = made.scale[0, k // codes.BLOCK].double()
        assert scale == max(a.abs().max(), 2.0**-118)
        assert (b.abs() <= scale * (1 + 1 / 31)).all()
        assert (b * a.sign() >= (-scale / 126 if name == "M" else 0)).all()
        # Two neighbours are 1/127 of the largest apart at most, or within a factor.
        if name == "s":
            low = 2.0**-64 * scale
            assert (b <= torch.maximum(a * 256, 257 * low)).all()
            assert (b * 257 >= torch.minimum(a, scale)).all()
        else:
            assert ((a - b).abs() <= scale / 31).all()


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
