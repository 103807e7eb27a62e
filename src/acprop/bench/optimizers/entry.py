"""What there is to say about one optimizer of the comparison, as one value.

Settings are JSON values under the same names everywhere: lr, beta1, beta2, eps,
weight_decay, decoupled (False: g + λ·x, the paper's; True: x - lr·λ·x, AdamW's). What
else a method knows keeps the name its library gives it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from acprop.plain import Plain

Grid = Mapping[str, tuple[float | str, ...]]
Make = Callable[[ParamsT, Plain], Optimizer]

Cell = Literal[
    "synchronous, uncentered",
    "synchronous, centered",
    "asynchronous, uncentered",
    "asynchronous, centered",
    "not adaptive",
    "not in the table",
]


@dataclass(frozen=True, slots=True)
class Entry:
    """One optimizer.

    cell: where the paper's Table 1 has it; "not in the table" where it does not.
    defaults: every setting there is, with its value unless given otherwise.
    grid: what the paper searched, or would have; grid_from, who says so.
    decay: which weight decay its library offers.
    needs_graph: must the backward pass keep its graph?
    published: what its library takes if told nothing, where `defaults` differ.
    """

    name: str
    library: Literal["acprop", "torch.optim", "pytorch_optimizer"]
    cell: Cell
    make: Make
    defaults: Mapping[str, Any]
    grid: Grid
    grid_from: str
    note: str = ""
    decay: Literal["coupled", "decoupled", "either"] = "coupled"
    needs_graph: bool = False
    published: Mapping[str, Any] = field(default_factory=dict[str, Any])


def defaults(**settings: Any) -> Mapping[str, Any]:
    """The settings of an entry; those that nearly all have come by themselves."""
    return MappingProxyType({**settings, "weight_decay": 0.0, "decoupled": False})


def arguments(settings: Plain, **rename: str | None) -> dict[str, Any]:
    """Settings as a constructor wants them: the betas a pair, others renamed.

    None drops a setting that the constructor does not know.
    """
    given = dict(settings)
    if "beta1" in given and "beta2" in given:
        given["betas"] = (given.pop("beta1"), given.pop("beta2"))
    names = {name: rename.get(name, name) for name in given}
    return {new: given[old] for old, new in names.items() if new is not None}


def powers(first: int, last: int) -> tuple[float, ...]:
    """10^first, … 10^last, the log grid of the paper's searches."""
    way = 1 if last >= first else -1
    # By text: 10.0**-5 is not the float that 1e-5 is read as.
    return tuple(float(f"1e{n}") for n in range(first, last + way, way))


def grid(**searched: tuple[float | str, ...]) -> Grid:
    """Values for each setting, in the order in which they are tried."""
    return MappingProxyType(searched)


# Section 4, image classification; "others" than SGD and AdamW decay by 5e-4.
PAPER = "paper, image classification"
AVAGRAD = "paper, remark on AVAGrad"
PAPER_SGD = grid(lr=powers(-1, -5), momentum=(0.9,), weight_decay=(5e-4,))
PAPER_ADAPTIVE = grid(lr=powers(-2, -5), eps=powers(-5, -10), weight_decay=(5e-4,))
PAPER_ADAMW = grid(lr=powers(-2, -5), eps=powers(-5, -10), weight_decay=(5e-2,))
PAPER_AVAGRAD = grid(lr=powers(2, -6), eps=powers(2, -8), weight_decay=(5e-4,))
# The paper says "other adaptive optimizers, including" five; by that we search the
# rest of the Adam-like ones alike.
ALIKE = "the paper's for adaptive optimizers"
OWN = "its own paper's values, on the paper's kind of grid"
