"""ACProp in NeMo's registry of optimizers, so that a configuration finds it by name.

    import acprop.integrations.nemo
    acprop.integrations.nemo.register()

    optim:                # in the model's YAML
      name: acprop
      lr: 1e-3
      betas: [0.9, 0.98]
      weight_decay: 0.01

Read and tested against nemo_toolkit 3.0.0 (`nemo.core.optim.register_optimizer`).
"""

from dataclasses import field, make_dataclass
from importlib import import_module
from typing import Any

from acprop.optim import ACProp

# What a structured configuration of NeMo's may hold; all others go by `_target_`.
_FIELDS: list[tuple[str, Any, Any]] = [
    ("betas", Any, (0.9, 0.999)),
    ("eps", float | None, None),
    ("weight_decay", float, 0.0),
    ("convention", str, "guarded"),
    ("small_state", bool, False),
]


def register(name: str = "acprop") -> None:
    """Add ACProp to NeMo's registry, once."""
    optimizers: Any = import_module("nemo.core.optim.optimizers")
    base: Any = import_module("nemo.core.config.optimizers").OptimizerParams
    if optimizers.AVAILABLE_OPTIMIZERS.get(name) is ACProp:
        return  # NeMo refuses a second time
    fields = [(key, kind, field(default=value)) for key, kind, value in _FIELDS]
    params = make_dataclass("ACPropParams", fields, bases=(base,))
    optimizers.register_optimizer(name, ACProp, params)
