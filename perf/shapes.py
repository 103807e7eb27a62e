"""The shapes of the parameters of well-known networks, from their papers."""

from math import prod

Shape = tuple[int, ...]


def mlp() -> list[Shape]:
    """784-126-10: about 100,000 parameters in 4 tensors."""
    return [(126, 784), (126,), (10, 126), (10,)]


def resnet50() -> list[Shape]:
    """He et al. 2016, with the batch norms of the usual implementation: 161 tensors."""
    shapes: list[Shape] = [(64, 3, 7, 7), (64,), (64,)]
    n_in = 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(depth):
            n_out = 4 * width
            convs: list[Shape] = [
                (width, n_in, 1, 1),
                (width, width, 3, 3),
                (n_out, width, 1, 1),
            ]
            if block == 0:
                convs.append((n_out, n_in, 1, 1))
            for conv in convs:
                shapes += [conv, (conv[0],), (conv[0],)]
            n_in = n_out
    return [*shapes, (1000, n_in), (1000,)]


def densenet121() -> list[Shape]:
    """Huang et al. 2017: growth 32, bottlenecks of 128: 364 tensors."""
    shapes: list[Shape] = [(64, 3, 7, 7), (64,), (64,)]
    n = 64
    for depth in (6, 12, 24, 16):
        for _ in range(depth):
            shapes += [(n,), (n,), (128, n, 1, 1), (128,), (128,), (32, 128, 3, 3)]
            n += 32
        if depth != 16:  # a transition halves the channels
            shapes += [(n,), (n,), (n // 2, n, 1, 1)]
            n //= 2
    return [*shapes, (n,), (n,), (1000, n), (1000,)]


def gpt2() -> list[Shape]:
    """Radford et al. 2019, the small one: 148 tensors."""
    d = 768
    shapes: list[Shape] = [(50257, d), (1024, d)]
    for _ in range(12):
        shapes += [(d,), (d,), (d, 3 * d), (3 * d,), (d, d), (d,)]
        shapes += [(d,), (d,), (d, 4 * d), (4 * d,), (4 * d, d), (d,)]
    return [*shapes, (d,), (d,)]


def one_tensor() -> list[Shape]:
    """64 Mi elements in one piece."""
    return [(64 * 2**20,)]


SETS = {
    "MLP": mlp,
    "DenseNet-121": densenet121,
    "ResNet-50": resnet50,
    "GPT-2": gpt2,
    "64M": one_tensor,
}


def n_elements(shapes: list[Shape]) -> int:
    """All elements of all tensors."""
    return sum(map(prod, shapes))
