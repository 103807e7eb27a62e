"""One optimizer for the whole family: options in, state kept, a kernel chosen.

There is no arithmetic here. `optimizers` gives the family its names, `options` says
what a parameter group may hold.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import (
    ParamsT,
    StateDict,
    _default_to_fused_or_foreach,  # pyright: ignore[reportPrivateUsage]
    _get_scalar_dtype,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
    _global_optimizer_post_hooks,  # pyright: ignore[reportPrivateUsage]
    _global_optimizer_pre_hooks,  # pyright: ignore[reportPrivateUsage]
    _use_grad_for_differentiable,  # pyright: ignore[reportPrivateUsage]
)

from acprop import native as library
from acprop import rule as rules
from acprop.optim.kernels import blocked, foreach, loop, native
from acprop.optim.options import Group, checked
from acprop.optim.settings import Settings, settings_of
from acprop.optim.slots import HALF, Slot, real, wide_dtype

Kernel = Callable[[Sequence[Slot], Settings], None]


class FamilyOptimizer(Optimizer):
    """The family's common part; use one of the named classes."""

    def __init__(self, params: ParamsT, defaults: Group) -> None:
        # What the native kernel knows of each group, by the group's index.
        self._plans: dict[int, native.GroupPlan] = {}
        # ε as it was given: a group of another convention takes that one's own.
        super().__init__(params, {**checked(defaults), "eps": defaults["eps"]})
        # torch.amp.GradScaler then leaves scaled gradients and overflows to `step`.
        self._step_supports_amp_scaling = bool(defaults["fused"])

    def add_param_group(self, param_group: Group) -> None:
        """Add a group; its options are checked before anything is changed."""
        if isinstance(param_group, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            options = checked({**self.defaults, **param_group})
            params = param_group["params"]
            if options["fused"] and not isinstance(params, Tensor | set):
                params = list(params)
                _demand_native(options, params)
            param_group = {**options, "params": params}
        super().add_param_group(param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        self._step_supports_amp_scaling = bool(self.defaults["fused"])
        for group in self.param_groups:
            if "convention" not in group:
                # A checkpoint of another optimizer: there these mean something else.
                for option in ("eps", "foreach", "fused"):
                    group[option] = self.defaults[option]
            for option, value in self.defaults.items():
                group.setdefault(option, value)
            if group["eps"] is None:
                group["eps"] = rules.convention(group["convention"]).eps
            for param in group["params"]:
                if self.state.get(param):
                    self._complete_state(param, group)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` returned; see Note [Types of loaded state]."""
        saved: dict[Any, Any] = {}

        def remember(_: Optimizer, final: StateDict) -> None:
            self._check_saved(final)
            saved.update(final)

        def restore(_: Optimizer) -> None:
            self._restore_types(saved)

        # Registered last and first, so that the user's own hooks see and decide
        # everything: the dict before it is loaded, the state after it was restored.
        before = self.register_load_state_dict_pre_hook(remember)
        after = self.register_load_state_dict_post_hook(restore, prepend=True)
        try:
            super().load_state_dict(state_dict)
        finally:
            before.remove()
            after.remove()

    def _check_saved(self, saved: StateDict) -> None:
        """Refuse what could not be continued, before anything is replaced."""
        ids = [i for group in saved["param_groups"] for i in group["params"]]
        params = [p for group in self.param_groups for p in group["params"]]
        for i, param in zip(ids, params, strict=False):  # torch compares the lengths
            state = saved["state"].get(i)
            if not state:
                continue
            if not {"exp_avg", "exp_avg_sq"} <= state.keys():
                raise ValueError(
                    f"state_dict must hold exp_avg and exp_avg_sq of parameter {i}, "
                    f"got {', '.join(map(str, state))}; it is of another optimizer"
                )
            shape = tuple(real(state["exp_avg"]).shape)
            if shape != tuple(real(param).shape):
                raise ValueError(
                    f"state_dict must have exp_avg of parameter {i} in the shape of "
                    f"the parameter, {tuple(real(param).shape)}, got {shape}; "
                    "are the parameters in the order in which they were saved?"
                )

    def _restore_types(self, saved: StateDict) -> None:
        ids = [i for group in saved["param_groups"] for i in group["params"]]
        params = [p for group in self.param_groups for p in group["params"]]
        for i, param in zip(ids, params, strict=True):
            if (param.dtype in HALF or param.is_complex()) and i in saved["state"]:
                dtype = wide_dtype(real(param))
                for name, value in saved["state"][i].items():
                    if isinstance(value, Tensor) and name in _WIDE:
                        self.state[param][name] = real(value).to(param.device, dtype)

    def _init_group(
        self,
        group: Group,
        params: list[Tensor],
        grads: list[Tensor],
        steps: list[Tensor],
        exp_avgs: list[Tensor],
        exp_avg_sqs: list[Tensor],
        max_exp_avg_sqs: list[Tensor | None],
        pasts: list[Tensor | None],
        guards: list[Tensor | None],
        compensations: list[Tensor | None],
    ) -> None:
        """Append what a step needs, one entry for each parameter with a gradient.

        The name and the flat lists are what torch.compile knows: it runs this method
        while tracing, so that state is made once and outside the graph.
        """
        # What an option asks for is made when it is first asked for, and what none asks
        # for any more is not handed on: options may change between steps.
        wanted = _wanted_state(group)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not wanted <= state.keys():
                self._complete_state(param, group)
            params.append(param)
            grads.append(grad)
            steps.append(state["step"])
            exp_avgs.append(state["exp_avg"])
            exp_avg_sqs.append(state["exp_avg_sq"])
            tops = state["max_exp_avg_sq"] if "max_exp_avg_sq" in wanted else None
            max_exp_avg_sqs.append(tops)
            pasts.append(state["past"] if "past" in wanted else None)
            guards.append(state["guard"] if "guard" in wanted else None)
            compensations.append(state.get("compensation") if group["kahan"] else None)

    def _complete_state(self, param: Tensor, group: Group) -> None:
        """Make the state of a parameter, or what an older checkpoint lacks of it."""
        state = self.state[param]
        value = real(param)
        dtype = wide_dtype(value)

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=param.device)

        def zeros_like_param() -> Tensor:
            return torch.zeros_like(
                value, dtype=dtype, memory_format=torch.preserve_format
            )

        second = zeros if group["reduction"] else zeros_like_param
        step = state.get("step", 0.0)
        if not isinstance(step, Tensor):
            state["step"] = torch.tensor(
                float(step),
                dtype=_get_scalar_dtype(),
                # On the host unless a graph needs it: a launch costs more than an add.
                device=param.device if group["capturable"] else "cpu",
            )
        if "exp_avg" not in state:
            state["exp_avg"] = zeros_like_param()
        if "exp_avg_sq" not in state:
            state["exp_avg_sq"] = second()
        if group["amsgrad"] and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = second()
        wanted = _wanted_state(group)
        if "past" in wanted and "past" not in state:
            state["past"] = torch.stack([zeros_like_param()] * (group["delay"] - 1))
        if "guard" in wanted and "guard" not in state:
            state["guard"] = zeros(3)
        if group["kahan"] and param.dtype in HALF and "compensation" not in state:
            state["compensation"] = torch.zeros_like(
                param, memory_format=torch.preserve_format
            )

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Perform one step.

        Args:
            closure: reevaluates the model and returns the loss.
        """
        if closure is None and not torch.compiler.is_compiling() and self._is_lean():
            for i, group in enumerate(self.param_groups):
                self._plans[i].run(group, 1.0)
            return None
        # Hooks are shown the arguments as they were given.
        return self._full_step() if closure is None else self._full_step(closure)

    # Hooks, profiler and autograd are looked after by `_full_step`, not around `step`.
    step.hooked = True  # pyright: ignore[reportFunctionMemberAccess]

    def _is_lean(self) -> bool:
        """Is there nothing to do but to call C again? Small models feel the rest."""
        return (
            len(self._plans) == len(self.param_groups)
            and not (self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks)
            and not (_global_optimizer_pre_hooks or _global_optimizer_post_hooks)
            and not torch.autograd._profiler_enabled()  # pyright: ignore
            and not hasattr(self, "found_inf")
            and not any(group["error_if_nonfinite"] for group in self.param_groups)
            and all(
                self._plans[i].is_current(group, self.state)
                for i, group in enumerate(self.param_groups)
            )
        )

    @Optimizer.profile_hook_step
    @_use_grad_for_differentiable
    def _full_step(self, closure: Callable[[], float] | None = None) -> float | None:
        self._accelerator_graph_capture_health_check()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if torch.compiler.is_compiling():
            for group in self.param_groups:
                slots = self._slots(group)
                _kernel(group, slots)(slots, settings_of(group))
            return loss
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None and found_inf.item():
            return loss
        # All groups are looked at before the first state is made or parameter moved.
        n_groups = len(self.param_groups)
        for i in range(n_groups):
            self._check_gradients(i)
        for run in [self._prepare(i) for i in range(n_groups)]:
            run()
        return loss

    def _prepare(self, i: int) -> Callable[[], None]:
        """Choose a group's kernel; nothing moves yet."""
        group = self.param_groups[i]
        scale = getattr(self, "grad_scale", None)  # only where `fused` was demanded
        unscale = 1.0 if scale is None else 1 / scale.item()
        plan = self._plans.get(i)
        if plan is None:
            slots = self._slots(group)
            h = settings_of(group)
            plan, rest = _plan(group, slots, h, self.state)
            if plan is None:
                return partial(_kernel(group, rest), rest, h)
            if rest:
                return partial(_run_both, plan, group, _kernel(group, rest), rest, h)
            self._plans[i] = plan
        return partial(plan.run, group, unscale)

    def _check_gradients(self, i: int) -> None:
        """Refuse what cannot be used; forget a plan that is no longer true."""
        group, plan = self.param_groups[i], self._plans.get(i)
        if plan is not None and not plan.is_current(group, self.state):
            plan = None
            del self._plans[i]
        if plan is None:  # a plan has only plain dense gradients
            self._check_dense(i)
        if group["error_if_nonfinite"]:
            self._check_finite(i)

    def _slots(self, group: Group) -> list[Slot]:
        fields: tuple[list[Any], ...] = ([], [], [], [], [], [], [], [], [])
        self._init_group(group, *fields)
        return [Slot(*values) for values in zip(*fields, strict=True)]

    def _check_dense(self, i: int) -> None:
        for name, grad in self._gradients(i):
            if grad.layout != torch.strided:
                raise RuntimeError(
                    f"the gradient of {name} must be dense, got {grad.layout}; pass "
                    "sparse=False to its nn.Embedding, or give that parameter to "
                    "torch.optim.SparseAdam"
                )

    def _check_finite(self, i: int) -> None:
        for name, grad in self._gradients(i):
            if not bool(grad.isfinite().all()):
                raise RuntimeError(
                    f"the gradient of {name} must be finite, got "
                    f"{int((~grad.isfinite()).sum())} of {grad.numel()} elements NaN "
                    "or infinite; nothing was changed, so the step can be skipped"
                )

    def _gradients(self, i: int) -> Iterator[tuple[str, Tensor]]:
        group = self.param_groups[i]
        names = group.get("param_names")
        for j, param in enumerate(group["params"]):
            if param.grad is not None:
                name = f"{names[j]!r}" if names else f"parameter {j} of group {i}"
                yield name, param.grad


# Note [Types of loaded state]
# torch casts floating-point state to the parameter's type when it is loaded. For a
# bfloat16 parameter that would round m and s to 8 bits, and 1 - β2 = 0.001 away. For a
# complex parameter it casts nothing: m and s would keep another precision, or stay
# complex if torch.optim saved them. So the saved values are put back in the type of the
# arithmetic afterwards.
_WIDE = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "past", "guard"})


def _wanted_state(group: Group) -> set[str]:
    """The names of the state that a group's options ask for in every parameter."""
    wanted = {"step", "exp_avg", "exp_avg_sq"}
    if group["amsgrad"]:
        wanted.add("max_exp_avg_sq")
    if group["delay"] > 1:
        wanted.add("past")
    if rules.convention(group["convention"]).is_guarded:
        wanted.add("guard")
    return wanted


def _demand_native(options: Group, params: list[Any]) -> None:
    reason = native.refuses_settings(settings_of(options))
    for param in params:
        # A named parameter is a pair.
        tensor = param[1] if isinstance(param, tuple) else param  # pyright: ignore[reportUnknownVariableType]
        if reason is None and isinstance(tensor, Tensor):
            reason = native.refuses_param(tensor)
    if reason is not None:
        raise RuntimeError(_NOT_FUSED.format(reason))


_NOT_FUSED = "fused must be None or False, got True; of the native kernel: {}"


def _plan(
    group: Group, slots: list[Slot], h: Settings, state: native.State
) -> tuple[native.GroupPlan | None, list[Slot]]:
    """What the native kernel takes, and what it leaves to another."""
    wanted = group["fused"] or (group["fused"] is None and group["foreach"] is None)
    if not wanted or not slots:
        return None, slots
    if (reason := native.refuses_settings(h)) is not None:
        if library.load() is None and slots[0].param.device.type == "cpu":
            _say_once(reason)
        reasons: list[str | None] = [reason] * len(slots)
    else:
        reasons = [native.refuses(slot) for slot in slots]
    taken = [s for s, r in zip(slots, reasons, strict=True) if r is None]
    rest = [s for s, r in zip(slots, reasons, strict=True) if r is not None]
    if group["fused"] and rest:
        raise RuntimeError(_NOT_FUSED.format(next(filter(None, reasons))))
    return (native.GroupPlan(group, taken, state) if taken else None), rest


@cache
def _say_once(reason: str) -> None:
    if not library.is_switched_off():
        warnings.warn(
            f"acprop takes its slower path on the CPU: {reason}",
            RuntimeWarning,
            stacklevel=6,
        )


def _run_both(
    plan: native.GroupPlan, group: Group, kernel: Kernel, rest: list[Slot], h: Settings
) -> None:
    plan.run(group, 1.0)
    kernel(rest, h)


def _kernel(group: Group, slots: Sequence[Slot]) -> Kernel:
    """The caller's choice; else foreach where torch.optim takes it, else blocks."""
    if not slots or group["differentiable"] or torch.compiler.is_compiling():
        return foreach.update if slots and group["foreach"] else loop.update
    if group["foreach"] is not None:
        return foreach.update if group["foreach"] else loop.update
    _, use_foreach = _default_to_fused_or_foreach([s.param for s in slots], False)
    return foreach.update if use_foreach else blocked.update
