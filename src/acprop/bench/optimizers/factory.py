"""From a name and settings to an optimizer; and the list of what there is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from acprop import ranks, rule
from acprop.bench.optimizers import settings as checks
from acprop.bench.optimizers.entry import Cell, Entry, Grid
from acprop.bench.optimizers.from_acprop import FROM_ACPROP
from acprop.bench.optimizers.from_pytorch_optimizer import FROM_PYTORCH_OPTIMIZER, INNER
from acprop.bench.optimizers.from_torch import FROM_TORCH
from acprop.checks import UserError, one_of, user_values
from acprop.plain import Plain

ENTRIES = {
    entry.name: entry for entry in (*FROM_ACPROP, *FROM_TORCH, *FROM_PYTORCH_OPTIMIZER)
}

# The paper names them; no library that is kept up has them (searched: torch.optim,
# pytorch_optimizer 4.1.0, timm 1.0.30, heavyball 3.2.1, torch_optimizer 0.3.0).
NOT_OFFERED = {
    "nosadam": "no maintained PyTorch library has it",
    "sadam": "no maintained PyTorch library has it; the package of that name on PyPI "
    "is another method, Scalable Adam",
    "adax": "no maintained PyTorch library has it",
}


def find(name: str) -> Entry:
    """The entry of that name."""
    if name in NOT_OFFERED:
        raise UserError(
            f"optimizer must be one on offer, got {name}; {NOT_OFFERED[name]}"
        )
    return ENTRIES[one_of("optimizer", name, ENTRIES)]


def resolved(name: str, settings: Mapping[str, Any] | None = None) -> Plain:
    """All settings with their values, checked: equal runs have equal ones."""
    entry, given = find(name), dict(settings or {})
    allowed = dict(entry.defaults)
    if "inner" in allowed:
        inner = given.get("inner", allowed["inner"])
        if inner not in INNER:
            raise UserError(f"inner must be one of {', '.join(INNER)}, got {inner!r}")
        allowed = {**INNER[inner].defaults, **allowed}
        entry = replace(INNER[inner], name=f"{name} over {inner}")
    checked = checks.check(entry, allowed, given)
    if entry.name != "acprop":
        return checked
    # What it is by default may change; what a run was may not.
    chosen = {k: checked[k] for k in ("average", "nesterov", "center", "delay")}
    with user_values():
        found = rule.choose(rule.convention(checked["convention"]), **chosen)
    return {**checked, **{k: getattr(found, k) for k in chosen}}


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
        if isinstance(params, nn.Module):
            params = [p for p in params.parameters() if p.requires_grad]
        made = self.entry.make(params, dict(self.settings))
        if self.entry.library != "acprop":  # ours computes half precision in float32
            _check_eps(made)
        return made


def _check_eps(optimizer: Optimizer) -> None:
    """Refuse an ε that is 0 in the precision of the parameters."""
    for group in optimizer.param_groups:
        eps = group.get("eps")
        if isinstance(eps, int | float):
            for dtype in {p.dtype for p in group["params"] if p.is_floating_point()}:
                checks.eps_in("eps", eps, dtype)


def build(name: str, settings: Mapping[str, Any] | None = None) -> Factory:
    """Check a name and its settings; return what makes the optimizer.

    Everything that can be refused is refused here: one is built for a trial.
    """
    factory = Factory(name, resolved(name, settings))
    try:
        factory.entry.make([nn.Parameter(torch.zeros(1))], dict(factory.settings))
    except (TypeError, ValueError) as error:
        if factory.entry.library == "acprop":
            raise UserError(str(error)) from error  # ours says what it wants
        raise UserError(
            f"settings of {name} must be what {factory.entry.library} accepts, got "
            f"{factory.settings}; it says: {error}"
        ) from error
    return factory


class Row(NamedTuple):
    """One line of the list; without a library, what is not offered and why."""

    name: str
    library: str
    cell: Cell | str
    defaults: Mapping[str, Any]
    grid: Grid
    grid_from: str
    note: str


def rows() -> list[Row]:
    """What there is, then what there is not; imports no library."""
    offered = [
        Row(e.name, e.library, e.cell, e.defaults, e.grid, e.grid_from, e.note)
        for e in ENTRIES.values()
    ]
    missing = [
        Row(name, "", "not in the table", {}, {}, "", f"not offered: {reason}")
        for name, reason in NOT_OFFERED.items()
    ]
    return offered + missing
