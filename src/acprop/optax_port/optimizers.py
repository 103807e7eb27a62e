"""The family under its names, with optax's words for the arguments.

Each name is a rule and its defaults: those of the torch class of the same name.
`scale_by_…` gives directions; the optimizer adds weight decay and learning rate.
"""

# jax and optax are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportMissingTypeStubs=false

from collections.abc import Callable
from typing import Any, Literal

import jax
import optax
from jax import Array

from acprop import checks
from acprop import rule as rules
from acprop.optax_port.transform import Number, Tree, scale_by_rule
from acprop.rule import Average, Center, Clip, Convention, PlainConvention, Rule

Conventions = Convention | PlainConvention
ClipOption = Clip | Array | Literal["convention"]
LearningRate = float | Array | Callable[[Any], Any]
Mask = Tree | Callable[[Tree], Tree] | None


def scale_by_acprop(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    *,
    convention: Conventions = "guarded",
    average: Average | Literal["convention"] = "convention",
    nesterov: bool | Literal["convention"] = "convention",
    center: Center | Literal["convention"] = "convention",
    delay: int | None = None,
    clip: ClipOption = "convention",
    amsgrad: bool = False,
) -> optax.GradientTransformation:
    """ACProp's direction: gradients over the root of past surprise, averaged.

    Options are those of `acprop.ACProp`. None as the delay is 1: so
    optax.inject_hyperparams leaves it alone.
    """
    rule = rules.choose(
        rules.convention(convention),
        average=average,
        nesterov=nesterov,
        center=center,
        delay=_delay(delay),
    )
    numbers: Any = {"b1": b1, "b2": b2, "eps": eps, "amsgrad": amsgrad, "clip": clip}
    return scale_by_rule(rule, convention, **numbers)


def scale_by_adabelief(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    *,
    convention: Conventions = "authors",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
) -> optax.GradientTransformation:
    """AdaBelief's direction: the mean over the root of the surprise, this one's too."""
    numbers: Any = {"b1": b1, "b2": b2, "eps": eps, "amsgrad": amsgrad, "clip": clip}
    return scale_by_rule(rules.ADABELIEF, convention, **numbers)


def scale_by_adashift(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    *,
    convention: Conventions = "guarded",
    delay: int | None = None,
    reduction: Literal["max", "mean"] | None = None,
    clip: ClipOption = "convention",
    amsgrad: bool = False,
) -> optax.GradientTransformation:
    """AdaShift's direction: the newest gradients over the root of older squares.

    A reduction is over the array that `update` sees: inside shard_map and pmap that is
    one device's part, under jit with a sharding the whole.
    """
    rule = Rule(average=None, center=None, delay=_delay(delay), reduction=reduction)
    numbers: Any = {"b1": b1, "b2": b2, "eps": eps, "amsgrad": amsgrad, "clip": clip}
    return scale_by_rule(rule, convention, **numbers)


def scale_by_adam(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    *,
    convention: Conventions = "torch",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
) -> optax.GradientTransformation:
    """Adam's direction, as a member of the family."""
    numbers: Any = {"b1": b1, "b2": b2, "eps": eps, "amsgrad": amsgrad, "clip": clip}
    return scale_by_rule(rules.ADAM, convention, **numbers)


def scale_by_rmsprop(
    decay: Number = 0.99,
    eps: Number | None = None,
    *,
    convention: Conventions = "torch-rmsprop",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
) -> optax.GradientTransformation:
    """RMSprop's direction, without its momentum and its center."""
    if not isinstance(decay, jax.Array):
        checks.decay("decay", decay)
    numbers: Any = {"b2": decay, "eps": eps, "amsgrad": amsgrad, "clip": clip}
    return scale_by_rule(rules.RMSPROP, convention, b1=0.0, **numbers)


def acprop(
    learning_rate: LearningRate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Conventions = "guarded",
    average: Average | Literal["convention"] = "convention",
    nesterov: bool | Literal["convention"] = "convention",
    center: Center | Literal["convention"] = "convention",
    delay: int | None = None,
    clip: ClipOption = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = True,
) -> optax.GradientTransformationExtraArgs:
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
        decoupled_weight_decay: True: x = x - learning_rate·λ·x, as AdamW does. False:
            g = g + λ·x, as Adam does.
    """
    direction = scale_by_acprop(
        b1,
        b2,
        eps,
        convention=convention,
        average=average,
        nesterov=nesterov,
        center=center,
        delay=delay,
        clip=clip,
        amsgrad=amsgrad,
    )
    decay = _decay(weight_decay, mask)
    return _optimizer(direction, learning_rate, decay, decoupled_weight_decay)


def adabelief(
    learning_rate: LearningRate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Conventions = "authors",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = True,
) -> optax.GradientTransformationExtraArgs:
    """AdaBelief: ACProp's synchronous ancestor; options as for `acprop`."""
    direction = scale_by_adabelief(
        b1, b2, eps, convention=convention, clip=clip, amsgrad=amsgrad
    )
    decay = _decay(weight_decay, mask)
    return _optimizer(direction, learning_rate, decay, decoupled_weight_decay)


def adashift(
    learning_rate: LearningRate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Conventions = "guarded",
    delay: int | None = None,
    reduction: Literal["max", "mean"] | None = None,
    clip: ClipOption = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = True,
) -> optax.GradientTransformationExtraArgs:
    """AdaShift: asynchronous, measuring size; options as for `acprop`."""
    direction = scale_by_adashift(
        b1,
        b2,
        eps,
        convention=convention,
        delay=delay,
        reduction=reduction,
        clip=clip,
        amsgrad=amsgrad,
    )
    decay = _decay(weight_decay, mask)
    return _optimizer(direction, learning_rate, decay, decoupled_weight_decay)


def adam(
    learning_rate: LearningRate,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Conventions = "torch",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = False,
) -> optax.GradientTransformationExtraArgs:
    """Adam as a member of the family; `decoupled_weight_decay=True` is AdamW."""
    direction = scale_by_adam(
        b1, b2, eps, convention=convention, clip=clip, amsgrad=amsgrad
    )
    decay = _decay(weight_decay, mask)
    return _optimizer(direction, learning_rate, decay, decoupled_weight_decay)


def rmsprop(
    learning_rate: LearningRate,
    decay: Number = 0.99,
    eps: Number | None = None,
    weight_decay: Number = 0.0,
    mask: Mask = None,
    *,
    convention: Conventions = "torch-rmsprop",
    clip: ClipOption = "convention",
    amsgrad: bool = False,
    decoupled_weight_decay: bool = False,
) -> optax.GradientTransformationExtraArgs:
    """RMSprop as a member of the family; `optax.rmsprop` has momentum and a center."""
    direction = scale_by_rmsprop(
        decay, eps, convention=convention, clip=clip, amsgrad=amsgrad
    )
    shrink = _decay(weight_decay, mask)
    return _optimizer(direction, learning_rate, shrink, decoupled_weight_decay)


def _delay(delay: int | None) -> int:
    if isinstance(delay, jax.Array):
        raise TypeError(
            "delay must be a whole number, got an array: it decides the shape of the "
            'state; pass static_args=("delay",) to optax.inject_hyperparams'
        )
    return 1 if delay is None else delay


def _decay(weight_decay: Number, mask: Mask) -> optax.GradientTransformation | None:
    """λ·x added to what passes; None where λ is known to be 0."""
    known = not isinstance(weight_decay, jax.Array)
    if known and checks.not_negative("weight_decay", weight_decay) == 0:
        return None
    return optax.add_decayed_weights(weight_decay, mask)


def _optimizer(
    direction: optax.GradientTransformation,
    learning_rate: LearningRate,
    decay: optax.GradientTransformation | None,
    decoupled: bool,
) -> optax.GradientTransformationExtraArgs:
    checks.flag("decoupled_weight_decay", decoupled)
    if not isinstance(learning_rate, jax.Array) and not callable(learning_rate):
        checks.not_negative("learning_rate", learning_rate)
    parts = [direction]
    if decay is not None:
        parts = [direction, decay] if decoupled else [decay, direction]
    return optax.chain(*parts, optax.scale_by_learning_rate(learning_rate))
