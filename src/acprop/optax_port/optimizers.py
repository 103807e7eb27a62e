"""The family under its names, with optax's words for the arguments.

Each name is a rule and its defaults: those of the torch class of the same name.
`scale_by_…` gives directions; the optimizer adds weight decay and learning rate.
"""

# jax and optax are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportMissingTypeStubs=false

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, Literal, Protocol, TypedDict, Unpack

import jax
import optax
from jax import Array

from acprop import checks
from acprop import rule as rules
from acprop.optax_port.transform import Number, Tree, scale_by_rule
from acprop.rule import Average, Center, Clip, Convention, PlainConvention, Rule

LearningRate = float | Array | Callable[[Any], Any]
Mask = Tree | Callable[[Tree], Tree] | None


class OptaxKeywords(TypedDict, total=False):
    """What is given by keyword: each name takes those among its `_DEFAULTS`."""

    convention: Convention | PlainConvention
    average: Average | Literal["convention"]
    nesterov: bool | Literal["convention"]
    center: Center | Literal["convention"]
    delay: int | None
    reduction: Literal["max", "mean"] | None
    clip: Clip | Array | Literal["convention"]
    amsgrad: bool
    decoupled_weight_decay: bool


class Direction(Protocol):
    """The signature of `scale_by_…`."""

    def __call__(
        self,
        b1: Number = ...,
        b2: Number = ...,
        eps: Number | None = None,
        **options: Unpack[OptaxKeywords],
    ) -> optax.GradientTransformation: ...


class Optimizer(Protocol):
    """The signature of an optimizer."""

    def __call__(
        self,
        learning_rate: LearningRate,
        b1: Number = ...,
        b2: Number = ...,
        eps: Number | None = None,
        weight_decay: Number = 0.0,
        mask: Mask = None,
        **options: Unpack[OptaxKeywords],
    ) -> optax.GradientTransformationExtraArgs: ...


_NUMBERS = {"b1": 0.9, "b2": 0.999}
_CHOICE = dict.fromkeys(("average", "nesterov", "center"), "convention")
# The options of each name by keyword, but for `clip` and `amsgrad`, which all have.
# None as the delay is 1: so optax.inject_hyperparams leaves it alone.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "acprop": {"convention": "guarded", **_CHOICE, "delay": None},
    "adabelief": {"convention": "authors"},
    "adashift": {"convention": "guarded", "delay": None, "reduction": None},
    "adam": {"convention": "torch"},
    "rmsprop": {"convention": "torch-rmsprop"},
}
_RULES = {"adabelief": rules.ADABELIEF, "adam": rules.ADAM, "rmsprop": rules.RMSPROP}


def _make(name: str, meaning: str) -> tuple[Any, Any]:
    """The direction and the optimizer of a name."""
    numbers = {"decay": 0.99} if name == "rmsprop" else _NUMBERS
    keywords = {**_DEFAULTS[name], "clip": "convention", "amsgrad": False}
    numbers = {**numbers, "eps": None}
    signature = _signature(numbers, keywords)
    decay = {"weight_decay": 0.0, "mask": None}
    full = _signature(
        {"learning_rate": Parameter.empty, **numbers, **decay},
        {**keywords, "decoupled_weight_decay": name not in ("adam", "rmsprop")},
    )

    def scale_by(*args: Any, **options: Any) -> optax.GradientTransformation:
        return _direction(name, _bound(signature, args, options))

    def optimizer(*args: Any, **options: Any) -> optax.GradientTransformationExtraArgs:
        given = _bound(full, args, options)
        added = ("learning_rate", "weight_decay", "mask", "decoupled_weight_decay")
        outer = {option: given.pop(option) for option in added}
        return _optimizer(_direction(name, given), **outer)

    shown: dict[str, tuple[Any, Signature]] = {
        f"scale_by_{name}": (scale_by, signature),
        name: (optimizer, full),
    }
    for own, (function, parameters) in shown.items():
        function.__name__ = function.__qualname__ = own
        function.__signature__ = parameters
        function.__doc__ = meaning
    scale_by.__doc__ = f"The direction of {meaning}"
    return scale_by, optimizer


def _signature(positional: Mapping[str, Any], keywords: Mapping[str, Any]) -> Signature:
    first, last = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    return Signature(
        [Parameter(name, first, default=value) for name, value in positional.items()]
        + [Parameter(name, last, default=value) for name, value in keywords.items()]
    )


def _bound(signature: Signature, args: Any, options: Any) -> dict[str, Any]:
    bound = signature.bind(*args, **options)
    bound.apply_defaults()
    return bound.arguments


def _direction(name: str, given: dict[str, Any]) -> optax.GradientTransformation:
    if "decay" in given:
        decay = given.pop("decay")
        if not isinstance(decay, jax.Array):
            checks.decay("decay", decay)
        given |= {"b1": 0.0, "b2": decay}
    if "delay" in given:
        given["delay"] = _delay(given["delay"])
    rule = _RULES.get(name)
    if name == "acprop":
        chosen = {option: given.pop(option) for option in (*_CHOICE, "delay")}
        rule = rules.choose(rules.convention(given["convention"]), **chosen)
    if rule is None:
        rule = Rule(None, None, given.pop("delay"), reduction=given.pop("reduction"))
    return scale_by_rule(rule, **given)


def _delay(delay: int | None) -> int:
    if isinstance(delay, jax.Array):
        raise TypeError(
            "delay must be a whole number, got an array: it decides the shape of the "
            'state; pass static_args=("delay",) to optax.inject_hyperparams'
        )
    return 1 if delay is None else delay


def _optimizer(
    direction: optax.GradientTransformation,
    learning_rate: LearningRate,
    weight_decay: Number,
    mask: Mask,
    decoupled_weight_decay: bool,
) -> optax.GradientTransformationExtraArgs:
    checks.flag("decoupled_weight_decay", decoupled_weight_decay)
    if not isinstance(learning_rate, jax.Array) and not callable(learning_rate):
        checks.not_negative("learning_rate", learning_rate)
    parts = [direction]
    known = not isinstance(weight_decay, jax.Array)
    if not known or checks.not_negative("weight_decay", weight_decay) > 0:
        parts.append(optax.add_decayed_weights(weight_decay, mask))
    if not decoupled_weight_decay:
        parts.reverse()  # the decay is part of the gradient
    return optax.chain(*parts, optax.scale_by_learning_rate(learning_rate))


scale_by_acprop: Direction
acprop: Optimizer
scale_by_acprop, acprop = _make(
    "acprop",
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
    """,
)
scale_by_adabelief: Direction
adabelief: Optimizer
scale_by_adabelief, adabelief = _make(
    "adabelief", "AdaBelief: ACProp's synchronous ancestor; options as for `acprop`."
)
scale_by_adashift: Direction
adashift: Optimizer
scale_by_adashift, adashift = _make(
    "adashift",
    """AdaShift: asynchronous, measuring size; options as for `acprop`.

    A reduction is over the array that `update` sees: inside shard_map and pmap that is
    one device's part, under jit with a sharding the whole.
    """,
)
scale_by_adam: Direction
adam: Optimizer
scale_by_adam, adam = _make(
    "adam",
    "Adam as a member of the family; `decoupled_weight_decay=True` is AdamW.",
)
scale_by_rmsprop: Callable[..., optax.GradientTransformation]
rmsprop: Callable[..., optax.GradientTransformationExtraArgs]
scale_by_rmsprop, rmsprop = _make(
    "rmsprop",
    "RMSprop as a member of the family; `optax.rmsprop` has momentum and a center.",
)
