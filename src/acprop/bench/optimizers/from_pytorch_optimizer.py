"""pytorch_optimizer's, by name; an optional dependency, loaded when one is built.

Read and tested at version 4.1.0. Hooks around the step (`steps`) mend what would harm
a benchmark; what changes the method itself is left as it is and stands in the note.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from torch.optim.optimizer import Optimizer, ParamsT

from acprop.bench.optimizers import hooks
from acprop.bench.optimizers.entry import (
    ALIKE,
    AVAGRAD,
    OWN,
    PAPER_ADAPTIVE,
    PAPER_AVAGRAD,
    Entry,
    Make,
    arguments,
    defaults,
    grid,
    powers,
)
from acprop.bench.optimizers.from_acprop import FROM_ACPROP
from acprop.bench.optimizers.from_torch import FROM_TORCH
from acprop.plain import Plain

# What Lookahead may wrap.
INNER = {entry.name: entry for entry in (*FROM_ACPROP, *FROM_TORCH)}

Hook = Callable[[Optimizer], None]


def _library() -> Any:
    try:
        return import_module("pytorch_optimizer")
    except ModuleNotFoundError as error:
        raise ImportError(
            "this optimizer needs pytorch_optimizer, which is not installed; "
            "add it with: pip install 'acprop[bench]'"
        ) from error


def _peer(kind: str, *more: Hook, **fixed: Any) -> Make:
    def make(params: ParamsT, settings: Plain) -> Optimizer:
        given = arguments(settings, decoupled="weight_decouple")
        optimizer = getattr(_library(), kind)(params, **given, **fixed)
        for hook in (hooks.keep_gradients, *more):
            hook(optimizer)
        return optimizer

    return make


def _adopt(params: ParamsT, settings: Plain) -> Optimizer:
    given = dict(settings)
    clipped = given.pop("clipped")
    unclipped: dict[str, Any] = {} if clipped else {"clip_lambda": None}
    return _peer("ADOPT", **unclipped)(params, given)


def _apollo(params: ParamsT, settings: Plain) -> Optimizer:
    given = arguments(settings, beta1="beta", decoupled=None)
    kind = "decoupled" if settings["decoupled"] else "l2"
    optimizer = _library().ApolloDQN(params, **given, weight_decay_type=kind)
    hooks.keep_gradients(optimizer)
    return optimizer


def _lookahead(params: ParamsT, settings: Plain) -> Optimizer:
    given = dict(settings)
    inner, k, alpha = (given.pop(name) for name in ("inner", "k", "slow_step"))
    return _library().Lookahead(INNER[inner].make(params, given), k=k, alpha=alpha)


_ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}

FROM_PYTORCH_OPTIMIZER = (
    Entry(
        name="padam",
        library="pytorch_optimizer",
        cell="synchronous, uncentered",
        make=_peer("PAdam"),
        defaults=defaults(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8, partial=0.125),
        grid=grid(
            lr=powers(-1, -4), partial=(0.0625, 0.125, 0.25), weight_decay=(5e-4,)
        ),
        grid_from=OWN,
        note="v^partial in the denominator, so 1/2 is Adam; unlike its paper's, "
        "without AMSGrad's maximum",
        decay="either",
    ),
    Entry(
        name="avagrad",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_peer("AvaGrad"),
        defaults=defaults(lr=0.1, beta1=0.9, beta2=0.999, eps=0.1),
        grid=PAPER_AVAGRAD,
        grid_from=AVAGRAD,
        note="asynchronous by the paper's remark; its first step does not move",
        decay="either",
    ),
    Entry(
        name="adabound",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_peer("AdaBound"),
        defaults=defaults(**_ADAM, final_lr=0.1, gamma=1e-3),
        grid=grid(lr=powers(-2, -5), final_lr=(1.0, 0.1, 0.01), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="synchronous, uncentered; a schedule scales final_lr as well",
        decay="either",
    ),
    Entry(
        name="yogi",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_peer("Yogi"),
        defaults=defaults(
            lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-3, initial_accumulator=1e-6
        ),
        grid=grid(lr=powers(-1, -5), eps=powers(-3, -8), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="synchronous, uncentered",
        decay="either",
    ),
    Entry(
        name="adamp",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_peer("AdamP", hooks.keep_rows_together),
        defaults={
            **defaults(**_ADAM, delta=0.1, wd_ratio=0.1, nesterov=False),
            "decoupled": True,
        },
        grid=grid(lr=powers(-2, -5), eps=powers(-5, -10), weight_decay=(1e-2, 5e-2)),
        grid_from=ALIKE + "; weight decay as AdamW's",
        note="synchronous, uncentered, updates projected; the library takes coupled "
        "decay but adds it to the gradient after its last use, so we refuse it",
        decay="decoupled",
    ),
    Entry(
        name="swats",
        library="pytorch_optimizer",
        cell="not in the table",
        # foreach: the other path calls `view`, which channels_last gradients refuse.
        make=_peer("SWATS", hooks.keep_found_lr, foreach=True),
        defaults=defaults(lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-6),
        grid=grid(lr=powers(-2, -5), weight_decay=(5e-4,)),
        grid_from=ALIKE + "; ε fixed",
        note="Adam, then SGD; ε is also the tolerance of the switch; the paper cites "
        "SWA's authors for it",
        decay="either",
    ),
    Entry(
        name="lookahead",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_lookahead,
        defaults={"inner": "adam", "k": 5, "slow_step": 0.5},
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="wraps `inner`, by default Adam, and also takes the settings of that; "
        "any of ours and torch's",
        decay="either",
    ),
    Entry(
        name="adopt",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_adopt,
        defaults=defaults(lr=1e-3, beta1=0.9, beta2=0.9999, eps=1e-6, clipped=True),
        grid=PAPER_ADAPTIVE,
        grid_from=ALIKE,
        note="asynchronous, uncentered, but its clip looks at g_t; its first step "
        "does not move",
        decay="either",
    ),
    Entry(
        name="apollo",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_apollo,
        defaults=defaults(
            lr=1e-2,
            beta1=0.9,
            eps=1e-4,
            rebound="constant",
            warmup_steps=500,
            init_lr=None,
        ),
        grid=grid(lr=powers(0, -4), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="Ma 2020, the library's ApolloDQN; its APOLLO is another method. Warms up "
        "by itself from lr/1000 and ignores schedules until then",
        decay="either",
    ),
    Entry(
        name="adahessian",
        library="pytorch_optimizer",
        cell="not in the table",
        make=_peer("AdaHessian", hooks.draw_by_step),
        # ε is its authors'; the library's 1e-16 divides by curvatures that are 0.
        defaults=defaults(
            lr=0.15, beta1=0.9, beta2=0.999, eps=1e-4, hessian_power=1.0, num_samples=1
        ),
        grid=grid(lr=(0.3, 0.15, 0.1, 0.01, 0.001), weight_decay=(5e-4,)),
        grid_from=OWN,
        note="second order: twice the backward pass, one process, no torch.compile; "
        "unlike its authors', without spatial averaging",
        decay="either",
        needs_graph=True,
    ),
)
