"""An optimizer by its name, for configuration files."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from acprop.optim.base import FamilyOptimizer
from acprop.optim.groups import param_groups
from acprop.optim.optimizers import ACProp, AdaBelief, Adam, AdaShift, RMSprop

NAMES: dict[str, type[FamilyOptimizer]] = {
    cls.__name__.lower(): cls for cls in (ACProp, AdaBelief, Adam, AdaShift, RMSprop)
}


def create(
    name: str,
    model: nn.Module,
    *,
    lr: float | None = None,
    weight_decay: float = 0.0,
    layer_decay: float | None = None,
    layers: str | Sequence[str] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> FamilyOptimizer:
    """An optimizer of the family for a whole model, by name.

        opt = acprop.create("acprop", model, lr=1e-3, weight_decay=0.05)

    Weight decay spares what `acprop.param_groups` spares: biases, normalisation layers
    and what `model.no_weight_decay()` names.

    Args:
        name: "acprop", "adabelief", "adam", "adashift" or "rmsprop", in any case.
        lr: None takes the default of the class.
        layer_decay: see `acprop.param_groups`, as for `layers` and `overrides`.
        options: those of the class, such as betas or convention.
    """
    kind = NAMES.get(name.lower()) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if kind is None:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    if not isinstance(model, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"model must be a torch.nn.Module, got {type(model).__name__}; "
            f"for parameters or groups call acprop.{kind.__name__}"
        )
    make: Any = kind
    if lr is None:
        lr = float(inspect.signature(make).parameters["lr"].default)
    groups = param_groups(
        model,
        weight_decay,
        overrides=overrides,
        layer_decay=layer_decay,
        layers=layers,
        lr=None if layer_decay is None else lr,
    )
    return make(groups, lr=lr, **options)
