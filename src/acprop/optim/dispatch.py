"""Which kernel takes which tensors: the one place where that is decided."""

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import (
    _default_to_fused_or_foreach,  # pyright: ignore[reportPrivateUsage]
)

from acprop import native as library
from acprop.optim.kernels import blocked, foreach, loop, native, small
from acprop.optim.params import ParamWithState, local
from acprop.optim.step_options import StepOptions

Kernel = Callable[[Sequence[ParamWithState], StepOptions], None]


class Work(NamedTuple):
    """Some tensors of a group, and the kernel that takes them."""

    kernel: Kernel
    items: list[ParamWithState]

    def __eq__(self, other: object) -> bool:
        """The same kernel and the same items: tensors are not compared by value."""
        return (
            isinstance(other, Work)
            and self.kernel is other.kernel
            and list(map(id, self.items)) == list(map(id, other.items))
        )


def share_out(
    group: dict[str, Any], items: list[ParamWithState], h: StepOptions
) -> list[Work]:
    """Decide; nothing moves yet. RuntimeError if fused=True is impossible."""
    if torch.compiler.is_compiling():
        coded, items = _coded(items)
        kernel = foreach.update if group["foreach"] else loop.update
        both = [Work(small.update, coded), Work(kernel, items)]
        return [work for work in both if work.items]
    if not h.differentiable and h.rule.reduction is None and h.constraint is None:
        items = [local(item) for item in items]
    coded, items = _coded(items)
    work = [Work(small.update, coded)] if coded else []
    if group["fused"] or (group["fused"] is None and group["foreach"] is None):
        taken, items = _for_native(group, items, h)
        work += [Work(native.update, taken)] if taken else []
    if not items:
        return work
    if h.differentiable or group["foreach"] is False:
        kernel = loop.update
    elif group["foreach"] or _torch_takes_foreach(items):
        kernel = foreach.update
    else:
        kernel = blocked.update
    return [*work, Work(kernel, items)]


def _coded(
    items: list[ParamWithState],
) -> tuple[list[ParamWithState], list[ParamWithState]]:
    """What has 8-bit state, and the rest."""
    coded = [item for item in items if item.mean_scale is not None]
    return coded, [item for item in items if item.mean_scale is None]


def _for_native(
    group: dict[str, Any], items: list[ParamWithState], h: StepOptions
) -> tuple[list[ParamWithState], list[ParamWithState]]:
    """What the C kernel takes, and what it leaves to another."""
    reasons = native.reasons(items, h)
    taken = [s for s, reason in zip(items, reasons, strict=True) if reason is None]
    rest = [s for s, reason in zip(items, reasons, strict=True) if reason is not None]
    if rest and group["fused"]:
        reason = next(filter(None, reasons))
        raise RuntimeError(
            f"fused must be None or False, got True; of the native kernel: {reason}"
        )
    if rest and library.load() is None and rest[0].param.device.type == "cpu":
        _say_once(str(library.why_not()))
    return taken, rest


def _torch_takes_foreach(items: list[ParamWithState]) -> bool:
    return (
        bool(items)
        and _default_to_fused_or_foreach(
            [item.param for item in items], differentiable=False
        )[1]
    )


@cache
def _say_once(reason: str) -> None:
    if not library.is_switched_off():
        warnings.warn(
            f"acprop takes its slower path on the CPU: {reason}",
            RuntimeWarning,
            stacklevel=_level_of_the_caller(),
        )


def _level_of_the_caller() -> int:
    """How far up the first line is that belongs neither to us nor to torch."""
    level, frame = 1, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] not in ("acprop", "torch"):
            break
        level, frame = level + 1, frame.f_back
    return level
