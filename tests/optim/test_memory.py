"""How much memory a step borrows while it runs."""

import weakref

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .infos import CASES, each_case, paired
from .walks import leaf, walk


class PeakBytes(TorchDispatchMode):
    """Counts the bytes of all storages that are made while it is active and alive."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.known = weakref.WeakSet()

    def know(self, tensors):
        """Storages that existed before are nobody's temporary."""
        self.known.update(tensor.untyped_storage() for tensor in tensors)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        del types
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return out

    def _count(self, storage):
        if storage not in self.known:
            self.known.add(storage)
            self.live += storage.nbytes()
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self._forget, storage.nbytes())

    def _forget(self, n_bytes):
        self.live -= n_bytes


N_ELEMENTS = 4096


def borrowed(case, n_tensors, dtype, foreach):
    """The peak of a warm step, in tensors of the type of the arithmetic."""
    params = [leaf(torch.ones(N_ELEMENTS, dtype=dtype)) for _ in range(n_tensors)]
    optimizer = walk(case.make(params, foreach=foreach), 1)
    state = [value for p in params for value in optimizer.state[p].values()]
    with PeakBytes() as memory:
        memory.know([*params, *(p.grad for p in params), *state])
        optimizer.step()
    assert memory.live == 0
    return memory.peak / (N_ELEMENTS * torch.float32.itemsize)


# A half-precision parameter and its gradient are read into copies of twice the size.
COPIES_READ = {torch.float32: 0, torch.bfloat16: 2}


@pytest.mark.parametrize(("case", "dtype"), paired(CASES, COPIES_READ), ids=str)
def test_foreach_borrows_at_most_four_times_the_parameters(case, dtype):
    """And the window's past, where there is one. torch's own Adam borrows one copy."""
    n_tensors, n_past = 8, max(case.kwargs.get("delay", 1) - 1, 0)
    allowed = n_tensors * (4 + COPIES_READ[dtype] + n_past)
    # Scalars travel as tensors too; some bytes for each parameter.
    assert borrowed(case, n_tensors, dtype, foreach=True) < allowed + 0.25


@each_case
def test_the_loop_borrows_for_one_tensor_whatever_their_number(case):
    few, many = (borrowed(case, n, torch.bfloat16, foreach=False) for n in (1, 3))
    assert few == many
    assert few < 16.25
