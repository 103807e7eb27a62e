"""Parameter groups by name: no weight decay where it does harm, and overrides."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from torch import Tensor, nn

from acprop.optim._torch_internals import NormBase


def param_groups(
    model: nn.Module,
    weight_decay: float,
    *,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Group a model's trainable parameters; pass the result to any torch optimizer.

    Biases, normalisation layers and every other parameter of less than two dimensions
    get no weight decay: they have no scale that a decay could usefully shrink. Nor do
    those that a model names itself, by a method `no_weight_decay()` as timm's have it.

        groups = acprop.param_groups(model, 0.05, overrides={"head.*": {"lr": 1e-4}})
        opt = acprop.ACProp(groups, lr=1e-3)

    Args:
        overrides: options for the parameters whose name matches a pattern such as
            "encoder.*.bias" (`fnmatch`, case sensitive). Where several match, later
            ones win, option by option.
    """
    overrides = dict(overrides or {})
    spared = _spared(model)
    unused = set(overrides)
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        exempt = name in spared or _is_exempt(model, name, param)
        options: dict[str, Any] = {"weight_decay": 0.0 if exempt else weight_decay}
        matching = [pattern for pattern in overrides if fnmatchcase(name, pattern)]
        group = groups.setdefault((*options.values(), *matching), {"params": []})
        for pattern in matching:
            options.update(overrides[pattern])
        group.update(options)
        group["params"].append((name, param))
        unused.difference_update(matching)
    if unused:
        raise ValueError(
            f"overrides must match a trainable parameter each, got no match for "
            f"{', '.join(sorted(map(repr, unused)))}; "
            "see model.named_parameters() for the names"
        )
    return list(groups.values())


def _spared(model: nn.Module) -> set[str]:
    """The names that modules of the model ask to be spared, in the model's own words.

    A model may be wrapped or be part of another: each module names what is below it.
    """
    names: set[str] = set()
    for owner, module in model.named_modules():  # pyright: ignore[reportUnknownVariableType]
        ask: Any = getattr(module, "no_weight_decay", None)  # pyright: ignore[reportUnknownArgumentType]
        if callable(ask):
            given: Any = ask()
            names |= {f"{owner}.{name}".removeprefix(".") for name in given}
    return names


_NORMS = (nn.GroupNorm, nn.LayerNorm, nn.LocalResponseNorm, nn.RMSNorm, NormBase)


def _is_exempt(model: nn.Module, name: str, param: Tensor) -> bool:
    owner, _, leaf = name.rpartition(".")
    return (
        param.ndim < 2
        or "bias" in leaf.split("_")  # bias_k of nn.MultiheadAttention has three
        or isinstance(model.get_submodule(owner), _NORMS)
    )
