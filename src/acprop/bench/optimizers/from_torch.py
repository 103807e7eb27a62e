"""torch.optim's own, by name."""

from typing import Any

import torch
from torch.optim.optimizer import Optimizer, ParamsT

from acprop.bench.optimizers.entry import (
    ALIKE,
    OWN,
    PAPER,
    PAPER_ADAMW,
    PAPER_ADAPTIVE,
    PAPER_SGD,
    Entry,
    Make,
    arguments,
    defaults,
    grid,
    powers,
)
from acprop.plain import Plain


def _torch(kind: str, *, decoupled: str | None = None, **fixed: Any) -> Make:
    def make(params: ParamsT, settings: Plain) -> Optimizer:
        given = arguments(settings, decoupled=decoupled)
        return getattr(torch.optim, kind)(params, **given, **fixed)

    return make


_ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
_DECOUPLED = "decoupled_weight_decay"

FROM_TORCH = (
    Entry(
        name="sgd",
        library="torch.optim",
        cell="not adaptive",
        make=_torch("SGD"),
        defaults=defaults(lr=0.1, momentum=0.9, nesterov=False),
        grid=PAPER_SGD,
        grid_from=PAPER,
        published={"lr": 1e-3, "momentum": 0.0},
    ),
    Entry(
        name="sgd-nesterov",
        library="torch.optim",
        cell="not adaptive",
        make=_torch("SGD", nesterov=True),
        defaults=defaults(lr=0.1, momentum=0.9),
        grid=PAPER_SGD,
        grid_from="the paper's for SGD",
        note="momentum must be above 0",
        published={"lr": 1e-3},
    ),
    Entry(
        name="adam",
        library="torch.optim",
        cell="synchronous, uncentered",
        make=_torch("Adam"),
        defaults=defaults(**_ADAM),
        grid=PAPER_ADAPTIVE,
        grid_from=PAPER,
    ),
    Entry(
        name="adamw",
        library="torch.optim",
        cell="not in the table",
        make=_torch("AdamW"),
        defaults={**defaults(**_ADAM), "decoupled": True},
        grid=PAPER_ADAMW,
        grid_from=PAPER,
        note="Adam with decoupled weight decay; the published curves' file names say "
        "0.01, the paper 5e-2",
        decay="decoupled",
        published={"weight_decay": 1e-2},
    ),
    Entry(
        name="amsgrad",
        library="torch.optim",
        cell="not in the table",
        make=_torch("Adam", amsgrad=True),
        defaults=defaults(**_ADAM),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="synchronous, uncentered; the root never shrinks",
    ),
    Entry(
        name="radam",
        library="torch.optim",
        cell="synchronous, uncentered",
        make=_torch("RAdam", decoupled=_DECOUPLED),
        defaults=defaults(**_ADAM),
        grid=PAPER_ADAPTIVE,
        grid_from=PAPER,
        decay="either",
    ),
    Entry(
        name="nadam",
        library="torch.optim",
        cell="not in the table",
        make=_torch("NAdam", decoupled=_DECOUPLED),
        defaults=defaults(**{**_ADAM, "lr": 2e-3}, momentum_decay=4e-3),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="synchronous, uncentered, with Nesterov momentum",
        decay="either",
    ),
    Entry(
        name="rmsprop",
        library="torch.optim",
        cell="synchronous, uncentered",
        make=_torch("RMSprop"),
        defaults=defaults(lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.0),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
    ),
    Entry(
        name="rmsprop-centered",
        library="torch.optim",
        cell="synchronous, centered",
        make=_torch("RMSprop", centered=True),
        defaults=defaults(lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.0),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="v - m², one decay for both; sdprop averages (g - m)²",
    ),
    Entry(
        name="adadelta",
        library="torch.optim",
        cell="synchronous, uncentered",
        make=_torch("Adadelta"),
        defaults=defaults(lr=1.0, rho=0.9, eps=1e-6),
        grid=grid(lr=powers(0, -3), rho=(0.9, 0.95), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="has its own scale: Zeiler's method is lr = 1",
    ),
    Entry(
        name="adagrad",
        library="torch.optim",
        cell="not in the table",
        make=_torch("Adagrad"),
        defaults=defaults(lr=1e-2, lr_decay=0.0, eps=1e-10),
        grid=grid(lr=powers(-1, -5), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="synchronous, uncentered; a sum instead of a mean, so lr 0.1 is in reach",
    ),
)
