"""Several optimizers behind the face of one, and which parameters Muon should have."""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import nn
from torch.optim import Optimizer

NamedParams = list[tuple[str, nn.Parameter]]


def split_matrices(
    model: nn.Module, *, convolutions: bool = False
) -> tuple[NamedParams, NamedParams]:
    """The weights for Muon, and all other trainable parameters, with their names.

    Muon makes an update orthogonal, which suits the matrices inside a network. It does
    not suit embeddings, whose rows are looked up, nor the layer that gives the answer,
    which is the last one with a matrix; biases and norms are no matrices.

    Args:
        convolutions: count a convolution's weight as a matrix with one row for each
            output; torch.optim.Muon takes two dimensions only.
    """
    owners = [m for m in model.modules() if _has_matrix(m)]
    left_out = {id(m.weight) for m in owners if isinstance(m, nn.Embedding)}
    left_out |= {id(m.weight) for m in owners[-1:]}
    matrices: NamedParams = []
    rest: NamedParams = []
    for name, param in model.named_parameters():
        is_matrix = param.ndim == 2 or (convolutions and param.ndim > 2)
        if param.requires_grad:
            into = matrices if is_matrix and id(param) not in left_out else rest
            into.append((name, param))
    return matrices, rest


def _has_matrix(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, nn.Parameter) and weight.ndim >= 2


@final
class Together(Optimizer):
    """Takes the steps of several optimizers that share no parameter.

        matrices, rest = acprop.split_matrices(model)
        muon = torch.optim.Muon(matrices, lr=1e-3, adjust_lr_fn="match_rms_adamw")
        opt = acprop.Together(muon, acprop.ACProp(rest, lr=1e-3))

    For whatever wants one optimizer: a scheduler, a trainer, a checkpoint. The groups
    are those of all of them, in order; a checkpoint has the form that one optimizer's
    has, with the parameters numbered through.
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        self.optimizers = optimizers
        super().__init__(self._groups(), {})

    def _groups(self) -> list[dict[str, Any]]:
        return [group for one in self.optimizers for group in one.param_groups]

    @property
    def state(self) -> dict[Any, Any]:
        """What each keeps for its parameters."""
        return {param: kept for o in self.optimizers for param, kept in o.state.items()}

    @state.setter
    def state(self, value: object) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Nothing: torch's constructor begins a state that each has already."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not any(param_group is group for group in self._groups()):
            raise RuntimeError(
                "param_group must be added to one of the optimizers before they are "
                "put together, got one for all of them"
            )
        super().add_param_group(param_group)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step of each; the closure is called once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for one in self.optimizers:
            one.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """As one optimizer has it: the parameters of all, numbered through."""
        state: dict[int, Any] = {}
        groups: list[dict[str, Any]] = []
        n = 0
        for one in self.optimizers:
            part = one.state_dict()
            state |= {n + i: kept for i, kept in part["state"].items()}
            groups += [_numbered(group, n) for group in part["param_groups"]]
            n += _count(one.param_groups)
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned, each its part."""
        groups: list[dict[str, Any]] = list(state_dict["param_groups"])
        sizes = [len(group["params"]) for group in groups]
        ours = [len(group["params"]) for group in self.param_groups]
        if sizes != ours:
            raise ValueError(
                f"state_dict must have groups of {ours} parameters, got {sizes}"
            )
        n = 0
        for one in self.optimizers:
            mine = [_numbered(groups.pop(0), -n) for _ in one.param_groups]
            span = range(n, n + _count(one.param_groups))
            kept = {i - n: s for i, s in state_dict["state"].items() if i in span}
            one.load_state_dict({"state": kept, "param_groups": mine})
            n = span.stop
        self.param_groups = self._groups()

    def __getstate__(self) -> dict[str, Any]:
        return {"optimizers": self.optimizers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["optimizers"])


def _count(groups: list[dict[str, Any]]) -> int:
    return sum(len(group["params"]) for group in groups)


def _numbered(group: dict[str, Any], shift: int) -> dict[str, Any]:
    return {**group, "params": [i + shift for i in group["params"]]}
