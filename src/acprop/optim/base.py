"""One optimizer for the whole family: options in, state kept, steps planned and run.

There is no arithmetic here. `optimizers` gives the family its names, `options` says
what a parameter group may hold, `plan` what a step does.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Unpack, get_type_hints, overload

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT, StateDict

from acprop import checks
from acprop.optim import _torch_internals, checkpoints
from acprop.optim.options import (
    OPTIONS,
    RULE_OPTIONS,
    Group,
    Keywords,
    checked,
    from_rmsprop,
    resolved,
    rule_of,
)
from acprop.optim.params import ParamWithState
from acprop.optim.plan import StepPlan
from acprop.optim.state import (
    check_window,
    complete,
    fits,
    values_of,
    wanted,
    wants_half,
)
from acprop.rule import Rule


class FamilyOptimizer(Optimizer):
    """The family's common part; use one of the named classes.

    RULE: what a class is.
    FREE: the options of the rule that it takes all the same.
    DERIVED: those that follow from words of its own.
    DEFAULTS: where it departs from the defaults of `Options`.
    """

    RULE: ClassVar[Rule | None] = None
    FREE: ClassVar[Collection[str]] = ()
    DERIVED: ClassVar[Collection[str]] = ()
    DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    _fixed: ClassVar[Mapping[str, Any]] = {}
    _taken: ClassVar[Collection[str]] = OPTIONS
    __signature__: ClassVar[inspect.Signature | None] = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float | None = None,
        weight_decay: float | Tensor = 0.0,
        **options: Unpack[Keywords],
    ) -> None:
        given = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        for name in options:
            if name not in self._taken:
                owner = f"; acprop.{_owner(name)} takes it" if name in OPTIONS else ""
                remedy = owner or checks.meant(name, self._taken)
                raise TypeError(
                    f"{type(self).__name__} must be given options among "
                    f"{', '.join(self._taken)}, got {name!r}{remedy}"
                )
        self._forget()
        given = {**self._fixed, **self.DEFAULTS, **given, **options}
        if self._fixed.get("as_rmsprop"):
            given = from_rmsprop(given)
        # ε and bound as they were given: a group of another convention has its own.
        super().__init__(params, checked(given))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the options of a named class in its signature."""
        super().__init_subclass__(**kwargs)
        if cls.RULE is not None and "RULE" in cls.__dict__:
            is_rmsprop = cls.DEFAULTS.get("as_rmsprop", False)
            fixed = {**asdict(cls.RULE), "as_rmsprop": is_rmsprop}
            for name in (*cls.FREE, *cls.DERIVED):
                del fixed[name]
            cls._fixed = fixed
            shown = _signature(cls)
            cls._taken = [name for name in shown.parameters if name != "params"]
            cls.__signature__ = shown
        elif "__init__" in cls.__dict__:
            cls.__signature__ = None  # its own

    def add_param_group(self, param_group: Group) -> None:
        """Add a group; its options are checked before anything is changed."""
        if isinstance(param_group, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            if self.defaults["as_rmsprop"]:
                param_group = from_rmsprop(param_group, self.defaults["betas"])
            options = self._options_of(param_group)
            # Its parameters and notes of the user's are no options.
            param_group = {**options, **param_group, **options}
        super().add_param_group(param_group)

    def _options_of(self, group: Group) -> Group:
        """The options of a group, checked and as a checkpoint keeps them."""
        options = resolved(checked({**self.defaults, **group}))
        for name, value in self._fixed.items():
            if options[name] != value:
                raise ValueError(
                    f"{name} must be {value!r} in {type(self).__name__}, got "
                    f"{options[name]!r}; acprop.{_owner(name)} takes it, and "
                    "acprop.to_adamw makes a checkpoint that every class reads"
                )
        return options

    def _check_options(self, group: Group) -> None:
        """Look at options that were changed by hand, before anything moves."""
        plan = self._plans.get(id(group))
        if plan is not None and plan.has_its_options():
            return
        options = self._options_of({**group, "lr": 0.0})  # whose value is anybody's
        if plan is None or plan.delay != options["delay"]:
            for param in group["params"]:
                check_window(self.state.get(param, {}), options["delay"])
        del options["lr"]
        if isinstance(group.get("betas"), list):
            del options["betas"]  # it may be changed in place again
        group.update(options)
        # Of no tensor yet, but it knows the options.
        self._plans[id(group)] = StepPlan(group, [], self.state)

    def _forget(self) -> None:
        """What is known from the last step."""
        # What it did with each group, by the identity of its dict.
        self._plans: dict[int, StepPlan] = {}
        # Which dicts there were in the state, without hashing parameters: that is slow.
        self._states: list[int] = []
        # The place of every parameter among all, by its identity; of one step.
        self._numbers: dict[int, int] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget()

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` returned, of any class of the family or of AdamW."""
        with checkpoints.translated(self, self._options_of):
            super().load_state_dict(state_dict)

    def _init_group(self, group: Group, flat: list[Any], is_traced: bool) -> None:
        """Append what a step needs, for each parameter with a gradient in turn.

        The name, and lists that hold nothing but values, are what torch.compile knows:
        it runs this method while tracing, so that state is made once and outside the
        graph. Else options were checked before the first group was planned.
        """
        if is_traced:
            self._check_options(group)
        # Once for all parameters: on accelerators this runs at every step.
        rule = rule_of(group)
        for param in group["params"]:
            if param.grad is None:
                continue
            # What an option needs is made when it is first needed, and what none needs
            # any more is not handed on: options may change between steps.
            state = self.state[param]
            names = wanted(group, rule, param)
            if not fits(state, names, wants_half(group, param)):
                self._numbers = self._numbers or self._number_all()
                complete(state, param, group, names, self._numbers[id(param)])
            flat += param, param.grad, *values_of(state, names, rule)
            flat.append(group["stochastic_rounding"])

    def _items(self, group: Group) -> list[ParamWithState]:
        flat: list[Any] = []
        self._init_group(group, flat, torch.compiler.is_compiling())
        # All but the place in a sharded tensor, which only a kernel needs.
        n = len(ParamWithState._fields) - 1
        return [ParamWithState(*flat[i : i + n]) for i in range(0, len(flat), n)]

    def _number_all(self) -> dict[int, int]:
        params = (p for group in self.param_groups for p in group["params"])
        return {id(param): i for i, param in enumerate(params)}

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Perform one step.

        Args:
            closure: reevaluates the model and returns the loss.
        """
        again = closure is None and not torch.compiler.is_compiling()
        if again and not _torch_internals.is_watched(self):
            # Nothing to do but the same once more? Small models feel the rest.
            groups = self.param_groups
            plans = [self._plans.get(id(group)) for group in groups]
            if self._has_its_states() and all(
                plan is not None
                and plan.is_current()
                and not group["error_if_nonfinite"]
                for plan, group in zip(plans, groups, strict=True)
            ):
                for plan in plans:
                    plan.run()  # pyright: ignore[reportOptionalMemberAccess]
                return None
        # A subclass with a step of its own has had its hooks run around that.
        own = type(self).step is FamilyOptimizer.step
        run = self._hooked_step if own else self._full_step
        # Hooks are shown the arguments as they were given.
        return run() if closure is None else run(closure)

    # Hooks, profiler and autograd are looked after below, not around `step`.
    step.hooked = True  # pyright: ignore[reportFunctionMemberAccess]

    def _has_its_states(self) -> bool:
        """Are the dicts of the state those of the last step?"""
        return list(map(id, self.state.values())) == self._states

    @_torch_internals.use_grad_for_differentiable
    def _full_step(self, closure: Callable[[], float] | None = None) -> float | None:
        _torch_internals.check_capture(self)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._numbers = {}  # groups may have changed
        if torch.compiler.is_compiling():
            if any(group["error_if_nonfinite"] for group in self.param_groups):
                # A look at values breaks the graph.
                check: Any = torch.compiler.disable(self._check_groups)  # pyright: ignore[reportUnknownMemberType]
                check()
            for group in self.param_groups:
                StepPlan(group, self._items(group)).run()
            return loss
        # All groups are looked at before the first state is made, and all planned
        # before the first parameter moves: fused=True may be impossible.
        self._check_groups()
        known = self._has_its_states()
        self._plans = {
            id(group): self._plan(group, known) for group in self.param_groups
        }
        self._states = list(map(id, self.state.values()))
        for plan in self._plans.values():
            plan.run()
        return loss

    _hooked_step = Optimizer.profile_hook_step(_full_step)

    def _check_groups(self) -> None:
        for i, group in enumerate(self.param_groups):
            self._check_options(group)
            _check_gradients(group, i)

    def _plan(self, group: Group, known: bool) -> StepPlan:
        """The plan of the last step if it is current, else a new one."""
        plan = self._plans[id(group)]
        if known and plan.is_current():
            return plan
        return StepPlan(group, self._items(group), self.state)

    @torch.no_grad()
    def step_one(self, i: int, j: int, *, number: int, n_before: int) -> None:
        """Step parameter j of group i alone; what `release_gradients` calls.

        Hooks of the whole step are not run. number: its place among all parameters;
        n_before: how many were stepped before it in the same backward pass.
        """
        group = self.param_groups[i]
        self._check_options(group)
        _check_gradients(group, i, j, n_before=n_before)
        param = group["params"][j]
        alone, self._numbers = {**group, "params": [param]}, {id(param): number}
        StepPlan(alone, self._items(alone)).run()


def _check_gradients(group: Group, i: int, *only: int, n_before: int = 0) -> None:
    """Refuse sparse gradients in group i by name, and if it says so infinite ones.

    only: the numbers of the parameters to look at; none are all.
    """
    names = group.get("param_names")
    for j in only or range(len(group["params"])):
        grad = group["params"][j].grad
        if grad is None:
            continue
        name = f"{names[j]!r}" if names else f"parameter {j} of group {i}"
        if grad.layout != torch.strided:
            raise RuntimeError(
                f"the gradient of {name} must be dense, got {grad.layout}; pass "
                "sparse=False to its nn.Embedding, or give that parameter to "
                "torch.optim.SparseAdam"
            )
        if group["error_if_nonfinite"] and not bool(grad.isfinite().all()):
            changed = "nothing was changed, so the step can be skipped"
            if n_before > 0:
                changed = (
                    f"it was not changed, but {n_before} parameters whose gradients "
                    "came first were; go back to a checkpoint, or go on after "
                    "opt.step()"
                )
            raise RuntimeError(
                f"the gradient of {name} must be finite, got "
                f"{int((~grad.isfinite()).sum())} of {grad.numel()} elements NaN "
                f"or infinite; {changed}"
            )


def _owner(option: str) -> str:
    """The class that takes an option which not every class takes."""
    return "RMSprop" if option == "as_rmsprop" else "ACProp"


def _signature(cls: type[FamilyOptimizer]) -> inspect.Signature:
    """The constructor's own parameters, then the options behind its **options."""
    own = list(inspect.signature(cls.__init__).parameters.values())[1:-1]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(
            name,
            keyword,
            default=cls.DEFAULTS.get(name, OPTIONS[name].default),
            annotation=kind,
        )
        for name, kind in get_type_hints(Keywords).items()
        if name in cls.FREE or name not in RULE_OPTIONS
    ]
    return inspect.Signature([*own, *options])
