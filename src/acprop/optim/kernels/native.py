"""The C kernel: one call for a whole list of tensors, one pass over memory.

What costs time besides the pass itself is telling C where the tensors are. So the
addresses are kept between steps and only looked at again, never trusted: a parameter,
a gradient or a state that moved is found before the call.
"""

import ctypes
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import torch
from torch import Tensor

from acprop import native
from acprop.optim import codes
from acprop.optim._torch_internals import has_no_storage, memory_of, thread_pool
from acprop.optim.params import (
    ParamWithState,
    is_half_state,
    moments_of,
    wide_dtype,
)
from acprop.optim.state import mean_of
from acprop.optim.step_options import StepOptions

State = Mapping[Tensor, dict[str, Any]]
_DTYPE = attrgetter("dtype")
_DISTRIBUTION = attrgetter("placements", "device_mesh")
_DTYPES = [getattr(torch, str(name)) for name in native.WORDS["dtype"]]


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
    state = [t for t in item[2:] if isinstance(t, Tensor)]
    # A subclass such as DTensor has its memory elsewhere; then torch's lazy forms.
    if (
        param.device.type != "cpu"
        or type(param) not in (Tensor, torch.nn.Parameter)
        or any(type(t) is not Tensor for t in (grad, *state))
        or (param.is_neg() or grad.is_neg() or has_no_storage(grad))
    ):
        kinds = f"{type(param).__name__} on {param.device}, {type(grad).__name__}"
        return f"it needs plain tensors on the CPU, got {kinds}"
    if param.dtype not in _DTYPES:
        return f"it needs real floating-point parameters, got {param.dtype}"
    if grad.dtype != param.dtype:
        return f"it needs plain gradients like the parameter, got {grad.dtype}"
    if any(t.device.type != "cpu" for t in state):
        return f"it needs the step counter on the CPU, got {item.step.device}"
    moments = [t for t in moments_of(item) if t is not None]
    lost = [] if item.compensation is None else [item.compensation]
    if item.mean_scale is not None:
        if param.dtype == torch.float64:
            return "it has 8-bit state of float32 and half precision, got float64"
        coded = [t for t in moments if t.dtype in _CODED]
        moments = [t for t in moments if t.dtype not in _CODED]
        if not _fits_codes(item, coded):
            return "it needs codes in order, with a float32 scale for each block"
    if not _is_dense(param) or any(
        t.shape != param.shape or t.stride() != param.stride()
        for t in (grad, *moments, *lost)
    ):
        return "it needs dense tensors, with gradient and state laid out alike"
    kept = {t.dtype for t in moments if t is not item.max_exp_avg_sq}
    half = kept == {torch.bfloat16} and item.stream is not None
    if (
        (kept - {wide_dtype(param)} and not half)
        or (
            item.max_exp_avg_sq is not None
            and item.max_exp_avg_sq.dtype != wide_dtype(param)
        )
        or any(t.dtype != param.dtype for t in lost)
        or item.step.dtype not in (torch.float32, torch.float64)
    ):
        return "it needs state in the type of the arithmetic; was the model converted?"
    return None


_CODED = (codes.MEAN.dtype, codes.SURPRISE.dtype)


def _fits_codes(item: ParamWithState, coded: list[Tensor]) -> bool:
    """Are m or M and s, and their scales, as `codes` makes them?"""
    n_rows, columns = codes.rows(item.param.shape)
    scales = item.mean_scale, item.exp_avg_sq_scale
    return (
        {t.dtype for t in coded} == {*_CODED}
        and all(t.shape == item.param.shape and t.is_contiguous() for t in coded)
        and all(
            t is not None
            and t.dtype == torch.float32
            and t.shape == (n_rows, codes.n_blocks(columns))
            and t.is_contiguous()
            for t in scales
        )
    )


def _is_dense(tensor: Tensor) -> bool:
    """Without gaps, so that it may be walked through in the order of memory."""
    if tensor.is_contiguous():
        return True
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.ndim)
    return layout is not None and tensor.is_contiguous(memory_format=layout)


def split(
    items: list[ParamWithState], h: StepOptions
) -> tuple[list[ParamWithState], list[ParamWithState], str | None]:
    """What it takes, what it leaves to other kernels, and why the first of these."""
    if (reason := obstacle_in_options(h)) is not None:
        return [], items, reason
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
    taken = [item for item, reason in zip(items, found, strict=True) if reason is None]
    rest = [item for item, reason in zip(items, found, strict=True) if reason]
    return taken, rest, next(filter(None, found), None)


def update(items: Sequence[ParamWithState], h: StepOptions) -> None:
    """Move every parameter by one step; none of them has an `obstacle`."""
    for prepared in prepare(items, h):
        prepared.run(float(h.lr))


def prepare(
    items: Sequence[ParamWithState],
    h: StepOptions,
    state: State | None = None,
    owners: Sequence[Tensor] | None = None,
) -> list["PreparedCall"]:
    """A call for each of the types that one call has in common; see `PreparedCall`.

    owners: the parameters as the optimizer has them; an item may be a shard of one.
    """
    owners = owners or [item.param for item in items]
    kinds: dict[Any, list[tuple[ParamWithState, Tensor]]] = {}
    for item, owner in zip(items, owners, strict=True):
        kind = item.param.dtype, item.step.dtype, owner is item.param
        kinds.setdefault(kind, []).append((item, owner))
    return [
        PreparedCall([item for item, _ in same], h, state, [owner for _, owner in same])
        for same in kinds.values()
    ]


# The columns whose addresses C reads; those that follow are numbers.
_NUMBERS = ("offset", "row", "inner")
_COLUMNS = [field[0] for field in native.Table._fields_[2:] if field[0] not in _NUMBERS]


class PreparedCall:
    """Tensors of one type without an `obstacle`, with their addresses.

    state: where `refresh` finds the state again; a call for one step needs none.
    owners: the parameters themselves, or the DTensors that they are shards of.
    """

    def __init__(
        self,
        items: Sequence[ParamWithState],
        h: StepOptions,
        state: State | None,
        owners: list[Any],
    ) -> None:
        first = items[0]
        self.params = [item.param for item in items]
        self._owners = owners
        # How the owners are cut into shards, where they are.
        self._cuts = _cuts(owners) if owners[0] is not self.params[0] else None
        # Held so that no other tensor can come to lie at the address of a lost one.
        self._held = [item[2:] for item in items]
        states = [state[param] for param in owners] if state else []
        self._dtype = first.param.dtype
        self._options = _in_numbers(first, h)
        # Held while C reads them: another thread may drop a gradient meanwhile.
        self._grads: list[Any] = [item.grad for item in items]
        self._odd = [i for i, p in enumerate(self.params) if not p.is_contiguous()]
        self._strides = [self.params[i].stride() for i in self._odd]
        columns: dict[str, list[int]] = {}
        for name in _COLUMNS:
            tensors = [getattr(item, name) for item in items]
            if any(t is not None for t in tensors):
                columns[name] = [0 if t is None else t.data_ptr() for t in tensors]
        self._param = columns["param"]
        # Whose state has which address, by its name there.
        self._state: dict[str, tuple[list[dict[str, Any]], list[int]]] = {}
        for name, column in columns.items():
            if name in ("param", "grad"):
                continue
            for item, kept, at in zip(items, states, column, strict=False):
                if at:  # a tensor without one has a 0
                    key = _name_in_state(item, name, h)
                    owned, places = self._state.setdefault(key, ([], []))
                    owned.append(kept)
                    places.append(at)
        # The same as C reads it; the arrays must live as long as the table.
        columns["numel"] = self._numel = _sizes(self.params)
        if "stream" in columns:
            columns |= _numbers_of(items)
        self._n_empty = self._numel.count(0)
        self._arrays = {n: array("q", column) for n, column in columns.items()}
        starts = {n: column.buffer_info()[0] for n, column in self._arrays.items()}
        self._table = native.Table(n=len(items), **starts)
        self._address = ctypes.addressof(self._table)

    def refresh(self) -> bool:
        """Look at every address again; False if more than the gradients has moved."""
        grads: list[Any] = [p.grad for p in self._owners]
        params = self.params
        try:
            if self._cuts is not None:
                if not self._cuts == _cuts(self._owners) == _cuts(grads):
                    return False
                grads, params = list(map(memory_of, grads)), self._shards()
            # No gradient now, or one that only looks like a tensor?
            if set(map(type, grads)) != {Tensor}:
                return False
            found = _addresses(grads)  # a sparse one has none
            if _addresses(params) != self._param:
                return False
            # A view may start at the same address and be shorter.
            if _sizes(params) != self._numel or _sizes(grads) != self._numel:
                return False
            if not all(self._is_in_place(name) for name in self._state):
                return False
        except (AttributeError, KeyError, TypeError, RuntimeError):
            return False
        # Also at an old address: it may be another tensor's by now.
        if found.count(0) != self._n_empty or not self._fit(params, grads):
            return False
        self._grads, self.params = grads, params
        self._arrays["grad"] = array("q", found)
        self._table.grad = self._arrays["grad"].buffer_info()[0]
        return True

    def _shards(self) -> list[Tensor]:
        """What this rank holds of each parameter, if no subclass of a tensor."""
        shards: list[Tensor] = list(map(memory_of, self._owners))
        return shards if set(map(type, shards)) == {Tensor} else []

    def _is_in_place(self, name: str) -> bool:
        """Is this state where it was? Of a shard, all but two numbers are shards."""
        owned, places = self._state[name]
        # By map and in lists, because many small tensors feel every line of Python.
        tensors: Iterable[Any] = map(itemgetter(name), owned)
        if self._cuts is not None and name not in ("step", "stream"):
            tensors = map(memory_of, tensors)
        return _addresses(tensors) == places

    def _fit(self, params: list[Tensor], grads: list[Tensor]) -> bool:
        """Are parameters and new gradients laid out as the C code will read them?"""
        n_even = len(grads) - len(self._odd)
        return (
            sum(map(Tensor.is_contiguous, grads)) >= n_even
            and sum(map(Tensor.is_contiguous, params)) >= n_even
            and all(
                grads[i].stride() == params[i].stride() == stride
                for i, stride in zip(self._odd, self._strides, strict=True)
            )
            and set(map(_DTYPE, grads)) == {self._dtype}
            and not any(map(Tensor.is_neg, grads))
            and not any(map(Tensor.is_neg, params))
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


def _cuts(tensors: Iterable[Any]) -> list[Any]:
    """How DTensors are distributed; an AttributeError if one is none."""
    return list(map(_DISTRIBUTION, tensors))


def _addresses(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.data_ptr, tensors))


def _sizes(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.numel, tensors))


def _name_in_state(item: ParamWithState, column: str, h: StepOptions) -> str:
    """What the optimizer's state calls a column of this parameter's."""
    if column == "mean_scale":
        return f"{mean_of(h.rule)}_scale"
    is_coded = item.mean_scale is not None and getattr(item, column).dtype in _CODED
    return f"{column}_code" if is_coded else column


def _numbers_of(items: Sequence[ParamWithState]) -> dict[str, list[int]]:
    """How C finds an element's number, by which it draws its random bits."""
    found: dict[str, list[int]] = {name: [] for name in _NUMBERS}
    for item in items:
        shape = item.param.shape
        row = codes.rows(shape)[1] if shape else 1
        in_order = item.stream is None or item.param.is_contiguous()
        found["offset"].append(item.offset)
        found["row"].append(row)
        found["inner"].append(1 if in_order or not row else row // shape[1])
    return found


def _in_numbers(item: ParamWithState, h: StepOptions) -> native.NativeStepOptions:
    is_number = isinstance(h.clip, int | float)
    dtype = item.param.dtype
    own = {
        "lr": 0.0,  # of each call
        "eps": h.safe_eps(torch.promote_types(dtype, torch.float32)),
        "clip": h.clip if is_number else 0.0,
        "clip_kind": "number" if is_number else h.clip,
        "amsgrad": h.convention.amsgrad if h.amsgrad else None,
        "dtype": str(dtype).removeprefix("torch."),
        "step_is_double": item.step.dtype == torch.float64,
        "seed": -1 if item.seed is None else item.seed,
        "state_is_half": is_half_state(item),
    }
    numbers = native.NativeStepOptions()
    for name in (field[0] for field in numbers._fields_):
        places = (place for place in (h, h.rule, h.convention) if hasattr(place, name))
        value = own[name] if name in own else getattr(next(places), name)
        words = native.WORDS.get(name)
        setattr(numbers, name, value if words is None else words.index(value))
    return numbers
