"""The C kernel: one call for a whole list of tensors, one pass over memory.

What costs time besides the pass itself is telling C where the tensors are. So the
addresses are kept between steps and only looked at again, never trusted: a parameter,
a gradient or a state that moved is found before the call.
"""

import ctypes
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from acprop import native
from acprop.optim._torch_internals import thread_pool
from acprop.optim.params import (
    ParamWithState,
    is_dense_alike,
    is_plain,
    running,
    wide_dtype,
)
from acprop.optim.step_options import StepOptions
from acprop.rule import AVERAGES, CENTERS

State = Mapping[Tensor, dict[str, Any]]
_DTYPE = attrgetter("dtype")
_CODES = {getattr(torch, name): code for name, code in native.DTYPES.items()}


def obstacle_in_options(h: StepOptions) -> str | None:
    """Why these options are left to the other kernels; None if they are not."""
    if native.load() is None:
        return native.why_not()
    if h.on_device or h.differentiable:
        return "it can be neither captured nor differentiated"
    if h.rule.delay > 1:
        return f"its delay is 0 or 1, got {h.rule.delay}"
    if h.rule.reduction is not None:
        return f"it has no reduction, got {h.rule.reduction!r}"
    if h.constraint is not None:
        return f"it has no constraint, got {h.constraint!r}"
    if h.as_rmsprop and (h.rule.average or h.rule.center):
        return "it has neither the momentum nor the center of torch.optim.RMSprop"
    return None


def obstacle(item: ParamWithState) -> str | None:
    """Why this tensor is left to the other kernels; None if it is not."""
    param, grad = item.param, item.grad
    if param.device.type != "cpu" or not is_plain(item):
        kinds = f"{type(param).__name__} on {param.device}, {type(grad).__name__}"
        return f"it needs plain tensors on the CPU, got {kinds}"
    if item.mean_scale is not None:
        return "it needs state as numbers, got 8-bit codes"
    if item.seed is not None:
        return "it rounds to the nearest, got stochastic_rounding"
    if param.dtype not in _CODES:
        return f"it needs real floating-point parameters, got {param.dtype}"
    if grad.dtype != param.dtype:
        return f"it needs plain gradients like the parameter, got {grad.dtype}"
    if item.step.device.type != "cpu":
        return f"it needs the step counter on the CPU, got {item.step.device}"
    if not is_dense_alike(item):
        return "it needs dense tensors, with gradient and state laid out alike"
    if not _has_its_types(item):
        return "it needs state in the type of the arithmetic; was the model converted?"
    return None


def reasons(items: Sequence[ParamWithState], h: StepOptions) -> list[str | None]:
    """For each tensor why it is left to the other kernels, or None."""
    if (reason := obstacle_in_options(h)) is not None:
        return [reason] * len(items)
    found = [obstacle(item) for item in items]
    fit = [i for i, reason in enumerate(found) if reason is None]
    # One after the other, tensors that share memory are well defined; C takes all
    # of them at once.
    fit.sort(key=lambda i: items[i].param.data_ptr())
    end, before = 0, -1
    for i in fit:
        param = items[i].param
        start = param.data_ptr()
        if start < end:
            found[i] = found[before] = "it needs parameters that share no memory"
        stop = start + param.numel() * param.element_size()
        if stop > end:
            end, before = stop, i
    return found


def _has_its_types(item: ParamWithState) -> bool:
    """Is everything in memory of the type that C will take it for?"""
    wide = wide_dtype(item.param)
    lost = item.compensation
    state = [t for t in running(item) if t is not None]
    return (
        all(t.dtype == wide and t.device.type == "cpu" for t in state)
        and (lost is None or lost.dtype == item.param.dtype)
        and item.step.dtype in (torch.float32, torch.float64)
    )


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step; none of them has an `obstacle`."""
    for prepared in prepare(items, h):
        prepared.run(float(h.lr))


def prepare(
    items: Sequence[ParamWithState], h: StepOptions, state: State | None = None
) -> list["PreparedCall"]:
    """A call for each of the types that one call has in common; see `PreparedCall`."""
    kinds: dict[tuple[torch.dtype, torch.dtype], list[ParamWithState]] = {}
    for item in items:
        kinds.setdefault((item.param.dtype, item.step.dtype), []).append(item)
    return [PreparedCall(same, h, state) for same in kinds.values()]


# The columns whose addresses C reads.
_COLUMNS = (
    "param",
    "grad",
    "step",
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "momentum_buffer",
    "compensation",
)


class PreparedCall:
    """Tensors of one type without an `obstacle`, with their addresses.

    state: where `refresh` finds the state again; a call for one step needs none.
    """

    def __init__(
        self, items: Sequence[ParamWithState], h: StepOptions, state: State | None
    ) -> None:
        first = items[0]
        self.params = [item.param for item in items]
        # Held so that no other tensor can come to lie at the address of a lost one.
        self._held = [item._replace(grad=item.param) for item in items]
        states = [state[param] for param in self.params] if state else []
        self._dtype = first.param.dtype
        self._options = _in_numbers(h, self._dtype, first.step.dtype == torch.float64)
        # Held while C reads them: another thread may drop a gradient meanwhile.
        self._grads: list[Any] = [item.grad for item in items]
        self._odd = [i for i, p in enumerate(self.params) if not p.is_contiguous()]
        self._strides = [self.params[i].stride() for i in self._odd]
        columns: dict[str, list[int]] = {}
        for name in _COLUMNS:
            tensors = [getattr(item, name) for item in items]
            if any(t is not None for t in tensors):
                columns[name] = [0 if t is None else t.data_ptr() for t in tensors]
        self._param = columns.pop("param")
        # Which parameter's state has which address; a tensor without one has a 0.
        self._state = {
            name: [(s, at) for s, at in zip(states, column, strict=False) if at]
            for name, column in columns.items()
            if name != "grad"
        }
        # The same as C reads it; the arrays must live as long as the table.
        columns["param"] = self._param
        columns["numel"] = self._numel = _sizes(self.params)
        self._n_empty = self._numel.count(0)
        self._arrays = {n: array("Q", column) for n, column in columns.items()}
        starts = {n: column.buffer_info()[0] for n, column in self._arrays.items()}
        self._table = native.Table(n=len(items), **starts)
        self._address = ctypes.addressof(self._table)

    def refresh(self) -> bool:
        """Look at every address again; False if more than the gradients has moved."""
        grads: list[Any] = [p.grad for p in self.params]
        # No gradient now, or one that only looks like a tensor?
        if set(map(type, grads)) != {Tensor}:
            return False
        try:
            found = _addresses(grads)  # a sparse one has none
            if _addresses(self.params) != self._param:
                return False
            # A view may start at the same address and be shorter.
            if _sizes(self.params) != self._numel or _sizes(grads) != self._numel:
                return False
            for name, column in self._state.items():
                if any(state[name].data_ptr() != at for state, at in column):
                    return False
        except (KeyError, TypeError, RuntimeError):
            return False
        # Also at an old address: it may be another tensor's by now.
        if found.count(0) != self._n_empty or not self._fit(grads):
            return False
        self._grads = grads
        self._arrays["grad"] = array("Q", found)
        self._table.grad = self._arrays["grad"].buffer_info()[0]
        return True

    def _fit(self, grads: list[Tensor]) -> bool:
        """Are parameters and new gradients laid out as the C code will read them?"""
        n_even = len(grads) - len(self._odd)
        return (
            sum(map(Tensor.is_contiguous, grads)) >= n_even
            and sum(map(Tensor.is_contiguous, self.params)) >= n_even
            and all(
                grads[i].stride() == self.params[i].stride() == stride
                for i, stride in zip(self._odd, self._strides, strict=True)
            )
            and set(map(_DTYPE, grads)) == {self._dtype}
            and not any(map(Tensor.is_neg, grads))
            and not any(map(Tensor.is_neg, self.params))
        )

    def run(self, lr: float) -> None:
        """Advance all tensors by one step."""
        options = self._options
        options.lr = lr
        library = native.load()
        assert library is not None  # `obstacle_in_options` has looked
        if library.acprop_step(self._address, ctypes.addressof(options), thread_pool()):
            raise MemoryError("acprop's native step found no memory for its scalars")
        self._grads = []
        # Autograd must learn of a write it did not see: a graph that saved one of the
        # parameters would otherwise go back through the wrong values.
        torch.autograd.graph.increment_version(self.params)


def _addresses(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.data_ptr, tensors))


def _sizes(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.numel, tensors))


def _in_numbers(
    h: StepOptions, dtype: torch.dtype, step_is_double: bool
) -> native.NativeStepOptions:
    c = h.convention
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    return native.NativeStepOptions(
        beta1=h.beta1,
        beta2=h.beta2,
        eps=max(h.eps_inside(wide), h.eps_outside(wide)),
        weight_decay=h.weight_decay,
        clip=h.clip if isinstance(h.clip, int | float) else 0.0,
        dtype=_CODES[dtype],
        step_is_double=step_is_double,
        average=AVERAGES.index(h.rule.average),
        center=CENTERS.index(h.rule.center),
        nesterov=h.rule.nesterov,
        delay=h.rule.delay,
        residual_previous=c.residual == "previous",
        eps_placement=native.EPS_PLACEMENTS[c.eps_placement],
        bias_correction=c.bias_correction,
        first_step=native.FIRST_STEPS[c.first_step],
        amsgrad=native.AMSGRADS[c.amsgrad if h.amsgrad else None],
        clip_kind=0 if h.clip is None else 2 if h.clip == "t**0.25" else 1,
        decoupled=h.decoupled_weight_decay,
        maximize=h.maximize,
    )
