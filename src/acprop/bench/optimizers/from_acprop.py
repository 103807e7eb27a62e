"""Ours: the family of this package, by name."""

from torch.optim.optimizer import Optimizer, ParamsT

from acprop.bench.optimizers.entry import (
    ALIKE,
    PAPER,
    PAPER_ADAPTIVE,
    Entry,
    Make,
    arguments,
    defaults,
)
from acprop.optim import ACProp, AdaBelief, AdaShift
from acprop.plain import Plain


def _family(kind: type[ACProp | AdaBelief | AdaShift]) -> Make:
    def make(params: ParamsT, settings: Plain) -> Optimizer:
        return kind(params, **arguments(settings, decoupled="decoupled_weight_decay"))

    return make


def _sdprop(params: ParamsT, settings: Plain) -> Optimizer:
    given = arguments(settings, decoupled="decoupled_weight_decay")
    return ACProp(params, average=None, center="m", delay=0, **given)


FROM_ACPROP = (
    Entry(
        name="acprop",
        library="acprop",
        cell="asynchronous, centered",
        make=_family(ACProp),
        defaults=defaults(
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            eps=None,
            convention="guarded",
            amsgrad=False,
            average="convention",
            nesterov="convention",
            center="convention",
            delay=1,
            clip="convention",
            small_state=False,
        ),
        grid=PAPER_ADAPTIVE,
        grid_from=PAPER,
        note='convention "paper" is Algorithm 2, "authors" the code of the published '
        "curves; ε acts differently in each, and as AdamW's in the guarded default",
        decay="either",
    ),
    Entry(
        name="adabelief",
        library="acprop",
        cell="synchronous, centered",
        make=_family(AdaBelief),
        defaults=defaults(
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            eps=None,
            convention="authors",
            amsgrad=False,
            clip="convention",
        ),
        grid=PAPER_ADAPTIVE,
        grid_from=PAPER,
        note="without rectification",
        decay="either",
    ),
    Entry(
        name="adashift",
        library="acprop",
        cell="asynchronous, uncentered",
        make=_family(AdaShift),
        defaults=defaults(
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            eps=None,
            convention="guarded",
            amsgrad=False,
            delay=1,
            reduction=None,
            clip="convention",
        ),
        grid=PAPER_ADAPTIVE,
        grid_from=PAPER,
        note='its own paper proposes delay 10 and reduction "max"; beta1 weighs the '
        "newest `delay` gradients, so it does nothing at 1",
        decay="either",
    ),
    Entry(
        name="sdprop",
        library="acprop",
        cell="synchronous, centered",
        make=_sdprop,
        defaults=defaults(
            lr=1e-2, beta1=0.9, beta2=0.99, eps=None, convention="torch-rmsprop"
        ),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="RMSprop with (g - m)² for g²",
        decay="either",
    ),
)
