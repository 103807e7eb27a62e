"""Layer-wise decay of the learning rate: how deep in a model each parameter is."""

from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from acprop import checks


def layer_rates(
    model: nn.Module,
    lr: float | None,
    layer_decay: float | None,
    layers: str | Sequence[str] | None,
) -> dict[str, dict[str, float]]:
    """The learning rate of every parameter, by name, as an option; {} without decay.

        rate = lr · layer_decay^(n + 1 - depth)

    with depth 0 before the first of n layers and n + 1 after the last.
    """
    if layer_decay is None:
        for name, given in (("layers", layers), ("lr", lr)):
            if given is not None:
                raise ValueError(
                    f"{name} must be None without layer_decay, got {given!r}; "
                    "give lr to the optimizer"
                )
        return {}
    if not 0 < checks.number("layer_decay", layer_decay) <= 1:
        raise ValueError(f"layer_decay must be in (0, 1], got {layer_decay}")
    if lr is None:
        raise ValueError("lr must be a number with layer_decay, got None")
    checks.not_negative("lr", lr)
    names = _layer_names(model, layers)
    depths = _depths([name for name, _ in model.named_parameters()], names)
    last = len(names) + 1
    return {
        name: {"lr": float(lr * layer_decay ** (last - depth))}
        for name, depth in depths.items()
    }


def _depths(params: Iterable[str], layers: list[str]) -> dict[str, int]:
    """0 for what comes before the first layer, then 1, 2 …; the rest is the end."""
    depths: dict[str, int] = {}
    begun = False
    for name in params:
        inside = [i for i, layer in enumerate(layers, 1) if _is_below(name, layer)]
        begun = begun or bool(inside)
        depths[name] = inside[0] if inside else len(layers) + 1 if begun else 0
    return depths


def _is_below(param: str, module: str) -> bool:
    return param.startswith(f"{module}.")


def _layer_names(model: nn.Module, layers: str | Sequence[str] | None) -> list[str]:
    if layers is None:
        return _children(model, _longest_list(model))
    if isinstance(layers, str):
        return _children(model, _known(model, layers))
    names = [_known(model, name) for name in layers]
    if not names:
        raise ValueError(f"layers must name at least one module, got {layers!r}")
    for i, name in enumerate(names):
        for other in names[:i] + names[i + 1 :]:
            if name == other or _is_below(name, other):
                raise ValueError(
                    f"layers must name modules none of which is inside another, "
                    f"got {name!r} and {other!r}"
                )
    return names


def _known(model: nn.Module, name: Any) -> str:
    if name not in {known for known, _ in model.named_modules()}:  # pyright: ignore[reportUnknownVariableType]
        raise ValueError(
            f"layers must name modules of the model, got {name!r}; "
            "see model.named_modules() for the names"
        )
    return name


def _children(model: nn.Module, name: str) -> list[str]:
    module = model.get_submodule(name)
    found = [
        f"{name}.{child}".removeprefix(".") for child, _ in module.named_children()
    ]
    if not found:
        raise ValueError(
            f"layers must name a module with children, got {name!r}; "
            "or give a list with the names of the layers"
        )
    return found


def _longest_list(model: nn.Module) -> str:
    """The list with most children, which is where the blocks of a network are."""
    lists: dict[str, int] = {}
    for name, module in model.named_modules():  # pyright: ignore[reportUnknownVariableType]
        if isinstance(module, nn.ModuleList | nn.Sequential):
            lists[name] = len(module)
    longest = [name for name, n in lists.items() if n == max(lists.values())]
    if len(longest) != 1:
        found = ", ".join(map(repr, longest)) or "none"
        raise ValueError(
            "layers must be named where a model has not one longest list of modules, "
            f"got None and {found}"
        )
    return longest[0]
