"""Walks: an optimizer driven along a fixed path of gradients, and where it got to.

The gradients depend on a seed, the number of the step and the position of a parameter,
never on the parameters: what two optimizers did can be compared after any step without
their differences having been fed back.
"""

import io

import torch

# Of a comparison in which the order of operations differs; absolute and relative, the
# walks are of size one. A few roundings of the arithmetic, one of a half type.
TOLERANCE = {
    torch.float16: 2**-10,
    torch.bfloat16: 2**-7,
    torch.float32: 4e-6,
    torch.float64: 8e-15,
}
# A half-precision parameter and its compensation are one number of twice the digits.
PAIR_TOLERANCE = {torch.float16: 4e-6, torch.bfloat16: 2**-14}


def leaf(values):
    """A parameter of its own with these values, and their memory format."""
    return values.detach().clone().requires_grad_()


def plain_params(dtype=torch.float32):
    """A weight, a bias, a temperature."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (4,), ()]
    return [leaf(torch.randn(s, generator=generator, dtype=dtype)) for s in shapes]


def typed_params():
    """One of every sort of arithmetic: single, half, complex."""
    torch.manual_seed(0)
    dtypes = (torch.float32, torch.bfloat16, torch.complex64)
    return [leaf(torch.randn(4, dtype=dtype)) for dtype in dtypes]


def mixed_params():
    """One of every kind that a parameter group may hold."""
    torch.manual_seed(0)
    return [
        leaf(torch.randn(3, 4)),
        leaf(torch.randn(5, dtype=torch.float64)),
        leaf(torch.randn(4, 2).bfloat16()),
        leaf(torch.randn(7).half()),
        leaf(torch.randn(())),
        leaf(torch.randn((), dtype=torch.bfloat16)),
        leaf(torch.randn(0, 3)),
        leaf(torch.randn(4, 3).t()),
        torch.randn(6, 4)[::2, ::2].requires_grad_(),  # a view with gaps
        leaf(torch.randn(2, 3, 2, 2).to(memory_format=torch.channels_last)),
        leaf(torch.randn(3, dtype=torch.complex64)),
        leaf(torch.randn(2, 2, dtype=torch.complex128).t()),
    ]


def gradient(param, i, t, seed=0):
    """The gradient of the parameter at position i in step t."""
    generator = torch.Generator().manual_seed(10_000 * seed + 100 * t + i)
    wide = torch.promote_types(param.dtype, torch.float32)
    drawn = torch.randn(param.shape, generator=generator, dtype=wide)
    # Not around zero, so that the mean is worth subtracting.
    return (drawn + 0.5).to(param.dtype)


def params_of(optimizer):
    return [param for group in optimizer.param_groups for param in group["params"]]


def feed(optimizer, t, seed=0):
    """Give every parameter the gradient of step t."""
    for i, param in enumerate(params_of(optimizer)):
        param.grad = torch.empty_like(param).copy_(gradient(param, i, t, seed))


def through_a_file(value):
    """Save and load as a careful user does: nothing but plain values is read back."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def copies(optimizer):
    return [leaf(param) for param in params_of(optimizer)]


def walk(optimizer, steps, seed=0):
    """Take the steps, which is a range or a number of them; return the optimizer."""
    for t in range(steps) if isinstance(steps, int) else steps:
        feed(optimizer, t, seed)
        optimizer.step()
    return optimizer


def snapshot(optimizer):
    """Copies of all parameters and all state, in order."""
    return [
        {"param": param.detach().clone()}
        | {name: value.clone() for name, value in optimizer.state[param].items()}
        for param in params_of(optimizer)
    ]


def exactly(actual, expected):
    """The same values, types and shapes, all the way down."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


def up_to_rounding(actual, expected, factor=1.0):
    """Two snapshots, in the precision of the arithmetic behind each tensor."""
    for one, other in zip(actual, expected, strict=True):
        assert one.keys() == other.keys()
        numbers = _numbers(other)
        for name, (value, tolerance) in _numbers(one).items():
            torch.testing.assert_close(
                value,
                numbers[name][0],
                rtol=factor * tolerance,
                atol=factor * tolerance,
                msg=lambda text, name=name: f"{name}: {text}",
            )


def _numbers(entry):
    """Each number of a snapshot's entry and its tolerance; a pair is one number."""
    found = {
        name: (value, TOLERANCE[value.dtype.to_real()]) for name, value in entry.items()
    }
    if "compensation" in entry:
        param, (lost, _) = entry["param"], found.pop("compensation")
        found["param"] = param.float() + lost.float(), PAIR_TOLERANCE[param.dtype]
    return found
