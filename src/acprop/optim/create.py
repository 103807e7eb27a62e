"""An optimizer by its name, for configuration files."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from acprop.checks import one_of
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
    weight_decay: float = 0.0,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> FamilyOptimizer:
    """An optimizer of the family for a whole model, by name.

        opt = acprop.create("acprop", model, lr=1e-3, weight_decay=0.05)

    Weight decay spares what `acprop.param_groups` spares: biases, normalisation layers
    and what `model.no_weight_decay()` names.

    Args:
        name: "acprop", "adabelief", "adam", "adashift" or "rmsprop", in any case.
        overrides: see `acprop.param_groups`.
        options: those of the class, such as lr or convention.
    """
    is_text = isinstance(name, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    kind = NAMES[one_of("name", name.lower() if is_text else repr(name), NAMES)]
    if not isinstance(model, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"model must be a torch.nn.Module, got {type(model).__name__}; "
            f"for parameters or groups call acprop.{kind.__name__}"
        )
    groups = param_groups(model, weight_decay, overrides=overrides)
    return kind(groups, **options)
