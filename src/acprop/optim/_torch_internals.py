"""What torch has no public name for, all in one place.

Checked with torch 2.6 and 2.13, the oldest and the newest that we support. Besides
these `kernels/foreach` uses `torch._foreach_…`, which torch documents as private and
torch.optim is built on.
"""

# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import ctypes
import functools
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import (
    _default_to_fused_or_foreach,
    _get_scalar_dtype,  # pyright: ignore[reportUnknownVariableType]
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
    _use_grad_for_differentiable,
)

use_grad_for_differentiable = _use_grad_for_differentiable
NormBase = nn.modules.batchnorm._NormBase


def is_watched(optimizer: Optimizer) -> bool:
    """Is there a hook or a profiler that must see a step?"""
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _global_optimizer_pre_hooks
        or _global_optimizer_post_hooks
        or torch.autograd._profiler_enabled()  # pyright: ignore
    )


def check_capture(optimizer: Optimizer) -> None:
    """torch's own look at whether a graph is being captured; renamed in torch 2.11."""
    name = "_accelerator_graph_capture_health_check"
    if not hasattr(optimizer, name):
        name = "_cuda_graph_capture_health_check"
    getattr(optimizer, name)()


def step_dtype() -> torch.dtype:
    """The type of a step counter."""
    return _get_scalar_dtype()


def takes_foreach(params: list[Tensor]) -> bool:
    """Would torch.optim use list operations for these?"""
    return _default_to_fused_or_foreach(params, differentiable=False)[1]


def has_no_storage(tensor: Tensor) -> bool:
    """Is it one of the zeros that autograd makes without memory?"""
    return tensor._is_zerotensor()  # pyright: ignore


# A DTensor's memory in this rank. `to_local` makes a new Parameter of it each time.
memory_of = attrgetter("_local_tensor")


def first_indices(shard: Any) -> tuple[int, ...]:
    """Where this rank's part of a DTensor begins in the whole one."""
    # Only reached with a DTensor in hand, so the import costs nothing new.
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    return compute_local_shape_and_global_offset(
        shard.shape, shard.device_mesh, shard.placements
    )[1]


@functools.cache
def thread_pool() -> int | None:
    """torch's own thread pool, as a C function; None runs on the calling thread."""
    # Looked up through torch's extension module, whose dependencies hold it.
    function = getattr(ctypes.CDLL(torch._C.__file__), "torch_parallel_for", None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value
