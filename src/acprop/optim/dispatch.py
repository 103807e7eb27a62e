"""Which kernel takes which tensors: the one place where that is decided."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from acprop import native as library
from acprop.optim._torch_internals import takes_foreach
from acprop.optim.kernels import foreach, loop, native, small
from acprop.optim.params import ParamWithState, local
from acprop.optim.step_options import StepOptions

Kernel = Callable[[Sequence[ParamWithState], StepOptions], None]


class KernelCall(NamedTuple):
    """Some tensors of a group, and the kernel that takes them."""

    kernel: Kernel
    items: list[ParamWithState]


def assign_kernels(
    group: dict[str, Any], items: list[ParamWithState], h: StepOptions
) -> list[KernelCall]:
    """Decide; nothing moves yet. RuntimeError if fused=True is impossible."""
    compiling = torch.compiler.is_compiling()
    by_element = h.rule.reduction is None and h.constraint is None
    if by_element and not compiling and not h.differentiable:
        items = [local(item) for item in items]
    taken: list[ParamWithState] = []
    free = group["fused"] is None and group["foreach"] is None
    if not compiling and (group["fused"] or free):
        taken, items, reason = native.split(items, h)
        if items and group["fused"]:
            raise RuntimeError(
                f"fused must be None or False, got True; of the native kernel: {reason}"
            )
        if items and library.load() is None and items[0].param.device.type == "cpu":
            _warn_once(str(library.why_not()))
    coded = [item for item in items if item.mean_scale is not None]
    items = [item for item in items if item.mean_scale is None]
    in_lists = group["foreach"]
    if in_lists is None and not compiling and not h.differentiable:
        in_lists = bool(items) and takes_foreach([item.param for item in items])
    kernel = foreach.update if in_lists else loop.update
    calls = ((small.update, coded), (native.update, taken), (kernel, items))
    return [KernelCall(kernel, items) for kernel, items in calls if items]


@cache
def _warn_once(reason: str) -> None:
    if not library.is_switched_off():
        warnings.warn(
            f"acprop takes its slower path on the CPU: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )
