"""The family under its names, with optax's words for the arguments.

Each name is a rule and its defaults: those of the torch class of the same name.
"""

# jax and optax are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any, Literal

import jax
import optax
from jax import Array

from acprop import checks
from acprop import rule as rules
from acprop.optax_port.transform import Number, Tree, scale_by_rule
from acprop.rule import Average, Center, Clip, Convention, PlainConvention, Rule

LearningRate = float | Array | Callable[[Any], Any]
Mask = Tree | Callable[[Tree], Tree] | None
Optimizer = optax.GradientTransformationExtraArgs


def acprop(
    learning_rate: LearningRate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Convention | PlainConvention = "guarded",
    average: Average | Literal["convention"] = "convention",
    nesterov: bool | Literal["convention"] = "convention",
    center: Center | Literal["convention"] = "convention",
    # None is 1: optax.inject_hyperparams makes an array of every number.
    delay: int | None = None,
    reduction: Literal["max", "mean"] | None = None,
    clip: Clip | Array | Literal["convention"] = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = True,
) -> Optimizer:
    """ACProp: divide the gradient by how much past gradients surprised us, and average.

    With the default convention, for the gradient g of step t, M = s = 0 at the start:

        d = √(s/(1 - b2^(t-1))) + eps
        u = clip(g/d, ±t^¼)                                  0/0 = 0
        r = g - d·clip(M, ±1)
        M = b1·M + (1 - b1)·u
        x = x - learning_rate·(b1·M + (1 - b1)·u)
        s = b2·s + (1 - b2)·(1 + b1)/2·r²

    `acprop.ACProp` explains the options; it computes the same numbers in torch.

    Args:
        learning_rate: a number or a schedule.
        eps: None takes the convention's own.
        mask: which parameters decay: a tree of bools like params (or a prefix), or a
            function that makes one of params.
        delay: None is 1.
        reduction: over the array that `update` sees: inside shard_map and pmap that is
            one device's part, under jit with a sharding the whole.
        decoupled_weight_decay: True: x = x - learning_rate·λ·x, as AdamW does. False:
            g = g + λ·x, as Adam does.
    """
    if isinstance(delay, jax.Array):
        raise TypeError(
            "delay must be a whole number, got an array: it decides the shape of the "
            'state; pass static_args=("delay",) to optax.inject_hyperparams'
        )
    rule = rules.choose(
        rules.convention(convention),
        average=average,
        nesterov=nesterov,
        center=center,
        delay=1 if delay is None else delay,
        reduction=reduction,
    )
    parts = [
        scale_by_rule(
            rule, convention, b1=b1, b2=b2, eps=eps, amsgrad=amsgrad, clip=clip
        )
    ]
    if not isinstance(learning_rate, jax.Array) and not callable(learning_rate):
        checks.not_negative("learning_rate", learning_rate)
    known = not isinstance(weight_decay, jax.Array)
    if not known or checks.not_negative("weight_decay", weight_decay) > 0:
        parts.append(optax.add_decayed_weights(weight_decay, mask))
    if not checks.flag("decoupled_weight_decay", decoupled_weight_decay):
        parts.reverse()  # the decay is part of the gradient
    return optax.chain(*parts, optax.scale_by_learning_rate(learning_rate))


def _member(
    name: str,
    meaning: str,
    rule: Rule,
    free: Collection[str] = (),
    fixed: Mapping[str, Any] | None = None,
    **defaults: Any,
) -> Callable[..., Optimizer]:
    """`acprop` with its rule fixed, but for what is free, and defaults of its own."""
    of_rule = {name: value for name, value in asdict(rule).items() if name not in free}
    held = {**of_rule, **(fixed or {})}
    shown = inspect.Signature(
        [
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in inspect.signature(acprop).parameters.values()
            if parameter.name not in held
        ]
    )

    def make(*args: Any, **options: Any) -> Optimizer:
        given = shown.bind(*args, **options)
        given.apply_defaults()
        return acprop(**given.arguments, **held)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{meaning}; options as for `acprop`."
    make.__signature__ = shown  # pyright: ignore[reportFunctionMemberAccess]
    return make


adabelief = _member(
    "adabelief",
    "AdaBelief: ACProp's synchronous ancestor",
    rules.ADABELIEF,
    convention="authors",
)
adashift = _member(
    "adashift",
    "AdaShift: asynchronous, measuring size",
    rules.ADASHIFT,
    free=("delay", "reduction"),
)
adam = _member(
    "adam",
    "Adam as a member of the family; `decoupled_weight_decay=True` is AdamW",
    rules.ADAM,
    convention="torch",
    decoupled_weight_decay=False,
)
rmsprop = _member(
    "rmsprop",
    "RMSprop as a member of the family; `optax.rmsprop` has momentum and a center",
    rules.RMSPROP,
    fixed={"b1": 0.0},
    b2=0.99,
    convention="torch-rmsprop",
    decoupled_weight_decay=False,
)
