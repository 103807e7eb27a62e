"""Random streams by name: the ground of paired seeds and of resuming."""

import hashlib
from itertools import product

import pytest
import torch

from acprop.tasks.task import derive_seed

NAMES = [
    ("weights",),
    ("order", 0),
    ("order", 1),
    ("crop", 0),
    ("crop", 1),
    ("global",),
]


def test_a_stream_is_a_pure_function_of_its_name():
    torch.manual_seed(0)
    first = derive_seed(3, "order", 7)
    torch.rand(5)
    assert derive_seed(3, "order", 7) == first
    hashed = hashlib.sha256(b"3/order/7").digest()
    assert first == int.from_bytes(hashed[:8], "big") // 2


def test_no_two_streams_of_a_hundred_seeds_are_the_same():
    seeds = [derive_seed(seed, *names) for seed, names in product(range(100), NAMES)]
    assert len(set(seeds)) == len(seeds) == 600


@pytest.mark.parametrize("names", NAMES, ids=str)
def test_a_stream_seeds_a_generator(names):
    """torch takes 63 bits and a sign; a seed past them would be refused."""
    seed = derive_seed(0, *names)
    assert 0 <= seed < 2**63
    assert torch.Generator().manual_seed(seed).initial_seed() == seed
