"""The C kernel: one call for a whole list of tensors, one pass over memory.

What costs time besides the pass itself is telling C where the tensors are. So the
addresses are kept between steps and only looked at again, never trusted: a parameter,
a gradient or a state that moved is found before the call.
"""

import ctypes
import functools
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import torch
from torch import Tensor

from acprop import native
from acprop.optim.settings import Settings, settings_of
from acprop.optim.slots import Slot, is_dense_alike, wide_dtype

State = Mapping[Tensor, dict[str, Any]]
_DTYPE = attrgetter("dtype")
_CODES = {getattr(torch, name): code for name, code in native.DTYPES.items()}


def refuses_settings(h: Settings) -> str | None:
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
    return None


def refuses_param(param: Tensor) -> str | None:
    """Why this parameter is left to the other kernels; None if it is not."""
    if type(param) not in (Tensor, torch.nn.Parameter) or param.device.type != "cpu":
        kind = f"{type(param).__name__} on {param.device}"
        return f"it needs plain tensors on the CPU, got {kind}"
    if param.dtype not in _CODES:
        return f"it needs real floating-point parameters, got {param.dtype}"
    return None


def refuses(slot: Slot) -> str | None:
    """Why this tensor is left to the other kernels; None if it is not."""
    if (reason := refuses_param(slot.param)) is not None:
        return reason
    if slot.grad.dtype != slot.param.dtype or slot.grad.is_neg():
        return f"it needs plain gradients like the parameter, got {slot.grad.dtype}"
    if slot.step.device.type != "cpu":
        return f"it needs the step counter on the CPU, got {slot.step.device}"
    if not is_dense_alike(slot):
        return "it needs dense tensors, with gradient and state laid out alike"
    if not _has_its_types(slot):
        return "it needs state in the type of the arithmetic; was the model converted?"
    return None


def _has_its_types(slot: Slot) -> bool:
    """Is everything in memory of the type and length that C will take it for?"""
    wide = wide_dtype(slot.param)
    numbers = (slot.exp_avg, slot.exp_avg_sq, slot.max_exp_avg_sq, slot.guard)
    lost, guard = slot.compensation, slot.guard
    return (
        all(t is None or (t.dtype == wide and t.device.type == "cpu") for t in numbers)
        and (lost is None or lost.dtype == slot.param.dtype)
        and (guard is None or (guard.shape == (3,) and guard.is_contiguous()))
        and slot.step.dtype in (torch.float32, torch.float64)
    )


class GroupPlan:
    """A whole parameter group for the C kernel, ready to be run again and again."""

    def __init__(
        self, group: dict[str, Any], slots: Sequence[Slot], state: State
    ) -> None:
        kinds: dict[tuple[torch.dtype, torch.dtype], list[Slot]] = {}
        for slot in slots:
            kinds.setdefault((slot.param.dtype, slot.step.dtype), []).append(slot)
        self._parts = [Plan(same, state) for same in kinds.values()]
        # Which dicts there are, without hashing a parameter: that is slow.
        self._states = list(map(id, state.values()))
        self._n_params = len(group["params"])
        self._silent = [p for p in group["params"] if p.grad is None]
        self._options = _OPTIONS(group)
        h = settings_of(group)
        for part in self._parts:
            part.set_options(h)

    def is_current(self, group: dict[str, Any], state: State) -> bool:
        """May `run` be called? False if a new plan has to be made."""
        return (
            _OPTIONS(group) == self._options
            and len(group["params"]) == self._n_params
            and list(map(id, state.values())) == self._states
            and all(p.grad is None for p in self._silent)
            and all(part.is_current() for part in self._parts)
        )

    def run(self, group: dict[str, Any], unscale: float) -> None:
        """Advance all tensors of the group by one step."""
        lr = float(group["lr"])
        for part in self._parts:
            part.run(lr, unscale)


# All options but lr, which changes most often and is handed over at every step.
_OPTIONS = itemgetter(
    "betas",
    "eps",
    "weight_decay",
    "convention",
    "decoupled_weight_decay",
    "amsgrad",
    "centered",
    "delay",
    "numerator",
    "reduction",
    "clip",
    "constraint",
    "maximize",
    "foreach",
    "fused",
    "capturable",
    "differentiable",
    "kahan",
)


class Plan:
    """Tensors of one type that `refuses` lets pass, with their addresses."""

    def __init__(self, slots: Sequence[Slot], state: State) -> None:
        first = slots[0]
        self.params = [slot.param for slot in slots]
        # Held so that no other tensor can come to lie at the address of a lost one.
        self._held = [slot._replace(grad=slot.param) for slot in slots]
        self._states = [state[param] for param in self.params]
        self._dtype = first.param.dtype
        self._step_is_double = first.step.dtype == torch.float64
        self._odd = [i for i, p in enumerate(self.params) if not p.is_contiguous()]
        columns: dict[str, list[int]] = {}
        for name in Slot._fields:
            tensors = [getattr(slot, name) for slot in slots]
            if tensors[0] is not None and name != "past":
                columns[name] = _addresses(tensors)
        self._param = columns.pop("param")
        self._state = {n: column for n, column in columns.items() if n != "grad"}
        # The same as C reads it; the arrays must live as long as the table.
        columns["param"] = self._param
        columns["numel"] = self._numel = _sizes(self.params)
        self._arrays = {n: array("Q", column) for n, column in columns.items()}
        starts = {n: column.buffer_info()[0] for n, column in self._arrays.items()}
        self._table = native.Table(n=len(slots), **starts)
        self._address = ctypes.addressof(self._table)

    def is_current(self) -> bool:
        """Look at every address again; False if more than the gradients has moved."""
        try:
            grads: list[Any] = [p.grad for p in self.params]
            found = _addresses(grads)  # a TypeError where there is no gradient now
            if _addresses(self.params) != self._param:
                return False
            # A view may start at the same address and be shorter.
            if _sizes(self.params) != self._numel or _sizes(grads) != self._numel:
                return False
            for name, column in self._state.items():
                if _addresses([s[name] for s in self._states]) != column:
                    return False
        except (KeyError, TypeError, RuntimeError):
            return False
        # Also at an old address: it may be another tensor's by now.
        if not self._fit(grads):
            return False
        self._arrays["grad"] = array("Q", found)
        self._table.grad = self._arrays["grad"].buffer_info()[0]
        return True

    def _fit(self, grads: list[Tensor]) -> bool:
        """Are new gradients laid out as the C code will read them?"""
        return (
            sum(map(Tensor.is_contiguous, grads)) >= len(grads) - len(self._odd)
            and all(grads[i].stride() == self.params[i].stride() for i in self._odd)
            and set(map(_DTYPE, grads)) == {self._dtype}
            and not any(map(Tensor.is_neg, grads))
        )

    def set_options(self, h: Settings) -> None:
        """Take over the options of the group."""
        self._settings = _settings(h, self._dtype, self._step_is_double)

    def run(self, lr: float, unscale: float) -> None:
        """Advance all tensors by one step."""
        settings = self._settings
        settings.lr, settings.unscale = lr, unscale
        library = native.load()
        assert library is not None  # `refuses_settings` has asked
        if library.acprop_step(self._address, ctypes.addressof(settings), _pool()):
            raise MemoryError("acprop's native step found no memory for its sums")
        # Autograd must learn of a write it did not see: a graph that saved one of the
        # parameters would otherwise go back through the wrong values.
        torch.autograd.graph.increment_version(self.params)


def _addresses(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.data_ptr, tensors))


def _sizes(tensors: Iterable[Tensor]) -> list[int]:
    return list(map(Tensor.numel, tensors))


def _settings(h: Settings, dtype: torch.dtype, step_is_double: bool) -> native.Settings:
    c = h.convention
    return native.Settings(
        beta1=h.beta1,
        beta2=h.beta2,
        eps=h.eps,
        weight_decay=h.weight_decay,
        clip=h.clip if isinstance(h.clip, int | float) else 0.0,
        kappa=c.kappa,
        n0=c.n0,
        clamp=c.clamp,
        dtype=_CODES[dtype],
        step_is_double=step_is_double,
        centered=h.rule.centered,
        delay=h.rule.delay,
        momentum=h.rule.numerator == "m",
        residual_previous=c.residual == "previous",
        eps_placement=native.EPS_PLACEMENTS[c.eps_placement],
        bias_correction=c.bias_correction,
        first_step=native.FIRST_STEPS[c.first_step],
        amsgrad=native.AMSGRADS[c.amsgrad if h.amsgrad else None],
        clip_kind=0 if h.clip is None else 2 if h.clip == "t**0.25" else 1,
        guarded=c.is_guarded,
        decoupled=h.decoupled_weight_decay,
        maximize=h.maximize,
    )


@functools.cache
def _pool() -> int | None:
    """torch's own thread pool, as a C function; None runs on the calling thread."""
    # Looked up through torch's extension module, whose dependencies hold it.
    function = getattr(ctypes.CDLL(torch._C.__file__), "torch_parallel_for", None)  # pyright: ignore[reportPrivateUsage]
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value
