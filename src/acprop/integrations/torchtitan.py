"""ACProp in torchtitan: a container that knows our optimizers by their class name.

    from torchtitan.components.optimizer import ParamGroupConfig
    from acprop.integrations.torchtitan import FamilyContainer

    config.optimizer = FamilyContainer.Config(
        param_groups=[
            ParamGroupConfig(
                pattern=".*",
                optimizer_name="ACProp",
                optimizer_kwargs={"lr": 3e-4, "weight_decay": 0.1},
            )
        ]
    )

Groups by pattern, also beside torchtitan's own AdamW or DistMuon, are torchtitan's.
Read and tested against torchtitan 0.3.0, whose containers have this hook.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from acprop.optim.create import NAMES

_Container: Any = import_module("torchtitan.components.optimizer").OptimizersContainer
# What torch's optimizers are called stays torch's.
_TORCHS = ("Adam", "RMSprop")
_OURS = {k.__name__: k for k in NAMES.values() if k.__name__ not in _TORCHS}


class FamilyContainer(_Container):  # pyright: ignore[reportUntypedBaseClass]
    """torchtitan's container, with ACProp, AdaBelief and AdaShift."""

    @dataclass(kw_only=True, slots=True)
    class Config(_Container.Config):  # pyright: ignore[reportUntypedBaseClass]
        """torchtitan's own."""

    @staticmethod
    def _resolve_optimizer_factory(name: str) -> Callable[..., Any]:
        kind = _OURS.get(name)
        if kind is None:
            return _Container._resolve_optimizer_factory(name)

        def make(groups: list[dict[str, Any]], **options: Any) -> Any:
            # `implementation` is about torch's kernels; ours are chosen by themselves.
            own = [
                {k: v for k, v in group.items() if k not in ("fused", "foreach")}
                for group in groups
            ]
            return kind(own, **options)

        return make
