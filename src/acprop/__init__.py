"""ACProp and its family for PyTorch: asynchronous, centered, safe by default.

    opt = acprop.ACProp(model.parameters(), lr=1e-3)

Names are loaded when they are first used, so that a part of the package that needs no
torch does not load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acprop.optim import (
        ACProp,
        AdaBelief,
        Adam,
        AdaShift,
        Box,
        RMSprop,
        Together,
        create,
        param_groups,
        release_gradients,
        split_matrices,
        to_adamw,
    )
    from acprop.rule import AUTHORS, GUARDED, OPTAX, PAPER, Convention, Rule

    __version__: str

__all__ = [
    "AUTHORS",
    "GUARDED",
    "OPTAX",
    "PAPER",
    "ACProp",
    "AdaBelief",
    "AdaShift",
    "Adam",
    "Box",
    "Convention",
    "RMSprop",
    "Rule",
    "Together",
    "create",
    "param_groups",
    "release_gradients",
    "split_matrices",
    "to_adamw",
]
_OF_RULE = {"AUTHORS", "GUARDED", "OPTAX", "PAPER", "Convention", "Rule"}


def __getattr__(name: str) -> object:
    if name == "__version__":  # it stands in pyproject.toml and nowhere else
        return import_module("importlib.metadata").version("acprop")
    if name not in __all__:
        raise AttributeError(f"module 'acprop' has no attribute {name!r}")
    room = "acprop.rule" if name in _OF_RULE else "acprop.optim"
    return getattr(import_module(room), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
