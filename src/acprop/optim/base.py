"""One optimizer for the whole family: options in, state kept, checkpoints read.

There is no arithmetic here. `optimizers` gives the family its names, `options` says
what a parameter group may hold, `dispatch` which kernel takes it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, overload

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import (
    ParamsT,
    StateDict,
    _global_optimizer_post_hooks,  # pyright: ignore[reportPrivateUsage]
    _global_optimizer_pre_hooks,  # pyright: ignore[reportPrivateUsage]
    _use_grad_for_differentiable,  # pyright: ignore[reportPrivateUsage]
)

from acprop import rule as rules
from acprop.optim.dispatch import Work, share_out
from acprop.optim.kernels import native
from acprop.optim.options import (
    FIELDS,
    OWN_EPS,
    Group,
    Keywords,
    checked,
    resolved,
    rule_of,
)
from acprop.optim.params import HALF, ParamWithState, real, wide_dtype
from acprop.optim.state import EXACT, WIDE, complete, fits, mean_of, wanted
from acprop.optim.step_options import step_options_of
from acprop.optim.switch import adopt, is_foreign


class FamilyOptimizer(Optimizer):
    """The family's common part; use one of the named classes.

    DEFAULTS: where a class departs from the defaults of `Options`.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, params: ParamsT, options: Mapping[str, Any]) -> None:
        for name in options:
            if name not in FIELDS:
                raise TypeError(
                    f"{type(self).__name__} must be given options among "
                    f"{', '.join(FIELDS)}, got {name!r}"
                )
        # What the native kernel knows of each group, by the identity of its dict.
        self._plans: dict[int, tuple[Group, native.GroupPlan]] = {}
        # ε and bound as they were given: a group of another convention has its own.
        super().__init__(params, checked({**self.DEFAULTS, **options}))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the options of a named class in its signature; see `Keywords`."""
        super().__init_subclass__(**kwargs)
        if "DEFAULTS" in cls.__dict__:
            cls.__init__.__signature__ = _signature(cls)  # pyright: ignore

    def add_param_group(self, param_group: Group) -> None:
        """Add a group; its options are checked before anything is changed."""
        if isinstance(param_group, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            options = resolved(checked({**self.defaults, **param_group}))
            param_group = {**options, **_besides(param_group, options)}
        super().add_param_group(param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        for group in self.param_groups:
            self._complete_group(group)

    def _complete_group(self, group: Group) -> None:
        """Give a group of another optimizer what it lacks."""
        if is_foreign(group):  # there these mean something else
            for option in ("eps", "foreach", "fused", "nesterov", "momentum"):
                group.pop(option, None)
        group.setdefault("small_state", False)
        if group.pop(OWN_EPS, False):
            group["eps"] = None
        group.update(resolved({**self.defaults, **group}))

    def state_dict(self) -> StateDict:
        """What `load_state_dict` reads; `acprop.to_adamw` makes it AdamW's.

        There ε would be a tuning knob and ours far too small a number for one, so a
        convention's own ε is written as AdamW's, and marked.
        """
        saved = super().state_dict()
        for group in saved["param_groups"]:
            if group["eps"] == rules.convention(group["convention"]).eps:
                group.update({"eps": 1e-8, OWN_EPS: True})
        return saved

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` returned; see Note [Types of loaded state]."""
        saved: dict[Any, Any] = {}
        small = [group["small_state"] for group in self.param_groups]

        def remember(_: Optimizer, final: StateDict) -> None:
            self._check_saved(final)
            saved.update(final)

        def restore(_: Optimizer) -> None:
            self._restore(saved, small)

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
            found = [name for name in _MEANS if name in state]
            if not found or not {"exp_avg_sq", "exp_avg_sq_code"} & state.keys():
                raise ValueError(
                    f"state_dict must hold exp_avg or momentum_buffer, and exp_avg_sq, "
                    f"of parameter {i}, got {', '.join(map(str, state))}; it is of "
                    "another optimizer"
                )
            shape = tuple(real(state[found[0]]).shape)
            if shape != tuple(real(param).shape):
                raise ValueError(
                    f"state_dict must have {found[0]} of parameter {i} in the shape of "
                    f"the parameter, {tuple(real(param).shape)}, got {shape}; "
                    "are the parameters in the order in which they were saved?"
                )

    def _restore(self, saved: StateDict, small: list[bool]) -> None:
        """See Note [Types of loaded state]; how small it is kept is ours to say."""
        ids = [i for group in saved["param_groups"] for i in group["params"]]
        params = [p for group in self.param_groups for p in group["params"]]
        for i, param in zip(ids, params, strict=True):
            odd = param.dtype in HALF or param.is_complex()
            for name, value in saved["state"].get(i, {}).items():
                if not isinstance(value, Tensor):
                    continue
                if name in EXACT:
                    self.state[param][name] = value.to(param.device)
                elif odd and name in WIDE:
                    wide = real(value).to(param.device, wide_dtype(real(param)))
                    self.state[param][name] = wide
        groups = zip(self.param_groups, saved["param_groups"], small, strict=True)
        for group, theirs, is_small in groups:
            group["small_state"] = is_small
            for param in group["params"]:
                if not self.state.get(param):
                    continue
                if is_foreign(theirs):
                    adopt(self.state[param], group)
                self._complete_state(param, group)

    def _init_group(
        self,
        group: Group,
        params: list[Tensor],
        grads: list[Tensor],
        steps: list[Tensor],
        exp_avgs: list[Tensor | None],
        exp_avg_sqs: list[Tensor],
        max_exp_avg_sqs: list[Tensor | None],
        pasts: list[Tensor | None],
        momentum_buffers: list[Tensor | None],
        compensations: list[Tensor | None],
        mean_scales: list[Tensor | None],
        exp_avg_sq_scales: list[Tensor | None],
        streams: list[Tensor | None],
        seeds: list[int | None],
    ) -> None:
        """Append what a step needs, one entry for each parameter with a gradient.

        The name and the flat lists are what torch.compile knows: it runs this method
        while tracing, so that state is made once and outside the graph.
        """
        # What an option needs is made when it is first needed, and what none needs any
        # more is not handed on: options may change between steps.
        columns: dict[str, list[Any]] = {
            "step": steps,
            "exp_avg": exp_avgs,
            "exp_avg_sq": exp_avg_sqs,
            "max_exp_avg_sq": max_exp_avg_sqs,
            "past": pasts,
            "momentum_buffer": momentum_buffers,
            "compensation": compensations,
            "exp_avg_sq_scale": exp_avg_sq_scales,
            "stream": streams,
        }
        # Once for all parameters: on accelerators this runs at every step.
        rule = rule_of(group)
        mean = mean_of(rule)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            names = wanted(group, rule, param)
            if not fits(state, names):
                self._complete_state(param, group)
            params.append(param)
            grads.append(grad)
            for name, column in columns.items():
                coded = f"{name}_code" if f"{name}_code" in names else name
                column.append(state[coded] if coded in names else None)
            scale = f"{mean}_scale"
            mean_scales.append(state[scale] if scale in names else None)
            seeds.append(group["stochastic_rounding"])

    def _complete_state(self, param: Tensor, group: Group) -> None:
        params = (p for group in self.param_groups for p in group["params"])
        number = next(i for i, p in enumerate(params) if p is param)
        complete(self.state[param], param, group, number)

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
            for group in self.param_groups:
                self._plans[id(group)][1].run(group)
            return None
        # A subclass with a step of its own has had its hooks run around that.
        own = type(self).step is FamilyOptimizer.step
        run = self._hooked_step if own else self._full_step
        # Hooks are shown the arguments as they were given.
        return run() if closure is None else run(closure)

    # Hooks, profiler and autograd are looked after below, not around `step`.
    step.hooked = True  # pyright: ignore[reportFunctionMemberAccess]

    def _is_lean(self) -> bool:
        """Is there nothing to do but to call C again? Small models feel the rest."""
        return (
            not (self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks)
            and not (_global_optimizer_pre_hooks or _global_optimizer_post_hooks)
            and not torch.autograd._profiler_enabled()  # pyright: ignore
            and all(
                not group["error_if_nonfinite"] and self._plan_of(group) is not None
                for group in self.param_groups
            )
        )

    def _plan_of(self, group: Group) -> native.GroupPlan | None:
        """The plan of a group, if it still says the truth."""
        known = self._plans.get(id(group))
        if known is None or not known[1].refresh(group, self.state):
            return None
        return known[1]

    @_use_grad_for_differentiable
    def _full_step(self, closure: Callable[[], float] | None = None) -> float | None:
        _check_capture(self)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if torch.compiler.is_compiling():
            if any(group["error_if_nonfinite"] for group in self.param_groups):
                # A look at values breaks the graph.
                check: Any = torch.compiler.disable(self._check_gradients)  # pyright: ignore[reportUnknownMemberType]
                check()
            for group in self.param_groups:
                h = step_options_of(group)
                for kernel, items in share_out(group, self._items(group), h):
                    kernel(items, h)
            return loss
        self._check_gradients()
        for run in [self._prepare(group) for group in self.param_groups]:
            run()
        return loss

    _hooked_step = Optimizer.profile_hook_step(_full_step)

    def _prepare(self, group: Group) -> Callable[[], None]:
        """Share out a group's tensors; nothing moves yet."""
        if (plan := self._plan_of(group)) is not None:
            return partial(plan.run, group)
        alive = set(map(id, self.param_groups)) - {id(group)}
        self._plans = {i: plan for i, plan in self._plans.items() if i in alive}
        h = step_options_of(group)
        items = self._items(group)
        work = share_out(group, items, h)
        if items and work == [Work(native.update, items)]:
            plan = native.GroupPlan(group, items, self.state)
            self._plans[id(group)] = group, plan
            return partial(plan.run, group)

        def run() -> None:
            for kernel, part in work:
                kernel(part, h)

        return run

    @torch.no_grad()
    def step_one(self, i: int, j: int, *, n_before: int) -> None:
        """Step parameter j of group i alone; what `release_gradients` calls.

        Hooks of the whole step are not run.

        Args:
            n_before: how many were stepped before it in the same backward pass.
        """
        group = self.param_groups[i]
        self._check_dense(i, j)
        if group["error_if_nonfinite"]:
            self._check_finite(i, j, n_before=n_before)
        alone = {**group, "params": [group["params"][j]]}
        h = step_options_of(alone)
        for kernel, items in share_out(alone, self._items(alone), h):
            kernel(items, h)

    def _items(self, group: Group) -> list[ParamWithState]:
        # All but the place in a sharded tensor, which only a kernel asks for.
        fields: list[list[Any]] = [[] for _ in ParamWithState._fields[:-1]]
        self._init_group(group, *fields)
        return [ParamWithState(*values) for values in zip(*fields, strict=True)]

    def _check_gradients(self) -> None:
        """Look at all groups before the first state is made or parameter moved."""
        for i, group in enumerate(self.param_groups):
            self._check_dense(i)
            if group["error_if_nonfinite"]:
                self._check_finite(i)

    def _check_dense(self, i: int, *only: int) -> None:
        for name, grad in self._gradients(i, *only):
            if grad.layout != torch.strided:
                raise RuntimeError(
                    f"the gradient of {name} must be dense, got {grad.layout}; pass "
                    "sparse=False to its nn.Embedding, or give that parameter to "
                    "torch.optim.SparseAdam"
                )

    def _check_finite(self, i: int, *only: int, n_before: int = 0) -> None:
        changed = "nothing was changed, so the step can be skipped"
        if n_before > 0:
            changed = (
                f"it was not changed, but {n_before} parameters whose gradients came "
                "first were; go back to a checkpoint, or go on after opt.step()"
            )
        for name, grad in self._gradients(i, *only):
            if not bool(grad.isfinite().all()):
                raise RuntimeError(
                    f"the gradient of {name} must be finite, got "
                    f"{int((~grad.isfinite()).sum())} of {grad.numel()} elements NaN "
                    f"or infinite; {changed}"
                )

    def _gradients(self, i: int, *only: int) -> Iterator[tuple[str, Tensor]]:
        group = self.param_groups[i]
        names = group.get("param_names")
        for j in only or range(len(group["params"])):
            grad = group["params"][j].grad
            if grad is not None:
                name = f"{names[j]!r}" if names else f"parameter {j} of group {i}"
                yield name, grad


# Note [Types of loaded state]
# torch casts floating-point state to the parameter's type when it is loaded. For a
# bfloat16 parameter that would round m and s to 8 bits, and 1 - β2 = 0.001 away. For a
# complex parameter it casts nothing: m and s would keep another precision, or stay
# complex if torch.optim saved them. So the saved values are put back in the type of the
# arithmetic afterwards.

# A running mean in a checkpoint, as numbers or as codes.
_MEANS = ("exp_avg", "exp_avg_code", "momentum_buffer", "momentum_buffer_code")


def _besides(group: Group, options: Group) -> Group:
    """What a group holds that is no option: its parameters, notes of the user's."""
    return {name: value for name, value in group.items() if name not in options}


def _check_capture(optimizer: Optimizer) -> None:
    """torch's own look at whether a graph is being captured; renamed in torch 2.11."""
    for name in (
        "_accelerator_graph_capture_health_check",
        "_cuda_graph_capture_health_check",
    ):
        if hasattr(optimizer, name):
            return getattr(optimizer, name)()
    return None


def _signature(cls: type[FamilyOptimizer]) -> inspect.Signature:
    """The constructor's own parameters, then the options behind its **options."""
    own = [
        p
        for p in inspect.signature(cls.__init__).parameters.values()
        if p.kind is not p.VAR_KEYWORD
    ]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=cls.DEFAULTS.get(name, FIELDS[name].default),
            annotation=kind,
        )
        for name, kind in Keywords.__annotations__.items()
        if name not in {p.name for p in own}
    ]
    return inspect.Signature([*own, *shared])
