"""From a name and settings to an optimizer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from acprop import ranks
from acprop.bench.optimizers.entries import ENTRIES, MUON, OURS, PEERS, Entry
from acprop.bench.optimizers.hooks import keep_gradients, show_matrices
from acprop.bench.optimizers.settings import check_eps, resolved
from acprop.checks import UserError
from acprop.optim import Together, split_matrices
from acprop.plain import Plain


@dataclass(frozen=True, slots=True)
class Factory:
    """Makes the optimizer of a network, or of parameters or groups of them."""

    name: str
    settings: Mapping[str, Any]

    @property
    def entry(self) -> Entry:
        """What there is to know about this optimizer."""
        return ENTRIES[self.name]

    @property
    def needs_graph(self) -> bool:
        """Must the backward pass be called with create_graph=True?"""
        return self.entry.needs_graph

    def __call__(self, params: nn.Module | Iterable[Any], /) -> Optimizer:
        if self.needs_graph and ranks.world() > 1:
            raise RuntimeError(
                f"{self.name} must run in one process, got {ranks.world()} ranks; "
                "DDP's gradients have no graph to differentiate"
            )
        matrices: list[Tensor] = []
        if isinstance(params, nn.Module):
            matrices, params = _split(params, self.entry)
        made = _make(self.entry, params, self.settings)
        if self.entry.library != OURS:  # ours computes half precision in float32
            _check_eps_of(made)
        return Together(_muon(matrices, self.settings), made) if matrices else made


def build(name: str, settings: Mapping[str, Any] | None = None) -> Factory:
    """Check a name and its settings; return what makes the optimizer.

    Everything that can be refused is refused here: one is built for a trial.
    """
    factory = Factory(name, resolved(name, settings))
    library = factory.entry.library
    try:
        _make(factory.entry, [nn.Parameter(torch.zeros(1))], factory.settings)
    except (TypeError, ValueError) as error:
        if library == OURS:
            raise UserError(str(error)) from error  # ours says what it wants
        raise UserError(
            f"settings of {name} must be what {library} accepts, got "
            f"{factory.settings}; it says: {error}"
        ) from error
    return factory


def _split(net: nn.Module, entry: Entry) -> tuple[list[Tensor], list[Tensor]]:
    """The network's weights that are Muon's, if it is there, and all others."""
    if not entry.with_muon:
        return [], [p for p in net.parameters() if p.requires_grad]
    matrices, rest = split_matrices(net, convolutions=True)
    return [p for _, p in matrices], [p for _, p in rest]


def _muon(weights: list[Tensor], settings: Mapping[str, Any]) -> Optimizer:
    """Updates of AdamW's size, so that one learning rate and one decay serve both."""
    made = torch.optim.Muon(
        [nn.Parameter(torch.zeros(1, 1))],
        lr=settings["lr"] * settings["muon_ratio"],
        weight_decay=settings["weight_decay"],
        momentum=settings["momentum"],
        adjust_lr_fn="match_rms_adamw",
    )
    # Only its constructor refuses convolutions: at a step they are shown as matrices.
    made.param_groups[0]["params"] = weights
    show_matrices(made)
    return made


def _make(
    entry: Entry, params: Iterable[Any], settings: Mapping[str, Any]
) -> Optimizer:
    of_muon = MUON if entry.with_muon else {}
    given = {name: v for name, v in settings.items() if name not in of_muon}
    kind = getattr(_library(entry.library), entry.kind)
    if "inner" in given:
        inner, k, alpha = (given.pop(name) for name in ("inner", "k", "slow_step"))
        return kind(_make(ENTRIES[inner], params, given), k=k, alpha=alpha)
    made = kind(params, **_arguments(entry, given), **entry.fixed)
    for hook in (keep_gradients,) * (entry.library == PEERS) + entry.hooks:
        hook(made)
    return made


def _arguments(entry: Entry, given: Plain) -> Plain:
    """Settings as a constructor wants them: the betas a pair, the decay by its name."""
    if "beta1" in given and "beta2" in given:
        given["betas"] = (given.pop("beta1"), given.pop("beta2"))
    decoupled = given.pop("decoupled")
    if entry.library == PEERS:
        given["weight_decouple"] = decoupled
    elif entry.library == OURS or entry.decay == "either":
        given["decoupled_weight_decay"] = decoupled
    return entry.arguments(given)


def _library(name: str) -> Any:
    try:
        return import_module("acprop.optim" if name == OURS else name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"this optimizer needs {name}, which is not installed; add it with: "
            "pip install 'acprop[bench]'"
        ) from error


def _check_eps_of(optimizer: Optimizer) -> None:
    """Refuse an ε that is 0 in the precision of the parameters."""
    for group in optimizer.param_groups:
        eps = group.get("eps")
        if isinstance(eps, int | float):
            for dtype in {p.dtype for p in group["params"] if p.is_floating_point()}:
                check_eps("eps", eps, dtype)
