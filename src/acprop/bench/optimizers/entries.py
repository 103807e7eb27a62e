"""The one table of optimizers: ours, torch's and pytorch_optimizer's, by name.

Settings are JSON values under the same names everywhere: lr, beta1, beta2, eps,
weight_decay, decoupled (False: g + λ·x, the paper's; True: x - lr·λ·x, AdamW's). What
else a method knows keeps the name its library gives it.

pytorch_optimizer was read and tested at version 4.1.0. Hooks around the step mend what
would harm a benchmark; what changes the method itself is left as it is and stands in
the note.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from torch.optim import Optimizer

from acprop.bench.optimizers import hooks
from acprop.plain import Plain

# Where a class is found; CORNERS is a design that holds many methods, for comparing.
CORNERS = "acprop.bench.optimizers.corners"
Library = Literal[
    "acprop", "torch.optim", "pytorch_optimizer", "acprop.bench.optimizers.corners"
]
OURS, TORCH, PEERS = "acprop", "torch.optim", "pytorch_optimizer"
# The cells of the paper's Table 1.
SYNC, SYNC_CENTERED = "synchronous, uncentered", "synchronous, centered"
ASYNC, ASYNC_CENTERED = "asynchronous, uncentered", "asynchronous, centered"
OTHER, NOT_ADAPTIVE = "not in the table", "not adaptive"


@dataclass(frozen=True, slots=True)
class Entry:
    """One optimizer.

    kind: its class in its library. cell: where the paper's Table 1 has it.
    settings: every one there is, with its value unless given otherwise, but for
        weight_decay and decoupled, which all have.
    decay: which weight decay its library offers.
    fixed: further arguments. arguments: what its class takes for the settings, where
        that is more than names.
    hooks: around its step. needs_graph: must the backward pass keep its graph?
    with_muon: is it for what torch's Muon does not suit, and Muon for the matrices?
    published: what its library takes if given nothing, where `settings` differ.
    variant_of: the optimizer whose search space it shares.
    """

    name: str
    library: Library
    kind: str
    cell: str
    settings: Mapping[str, Any]
    note: str = ""
    decay: Literal["coupled", "decoupled", "either"] = "either"
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    arguments: Callable[[Plain], Plain] = dict
    hooks: tuple[Callable[[Optimizer], None], ...] = ()
    needs_graph: bool = False
    with_muon: bool = False
    published: Mapping[str, Any] = field(default_factory=dict[str, Any])
    variant_of: str = ""

    @property
    def defaults(self) -> Plain:
        """Every setting with its value; Lookahead's others are those that it wraps."""
        if "inner" in self.settings:
            return dict(self.settings)
        is_decoupled = self.decay == "decoupled"
        return {**self.settings, "weight_decay": 0.0, "decoupled": is_decoupled}


def _adopt(given: Plain) -> Plain:
    clipped = given.pop("clipped")
    return given if clipped else {**given, "clip_lambda": None}


def _apollo(given: Plain) -> Plain:
    kind = "decoupled" if given.pop("weight_decouple") else "l2"
    return {"beta": given.pop("beta1"), "weight_decay_type": kind, **given}


def _ademamix(given: Plain) -> Plain:
    betas = (*given.pop("betas"), given.pop("beta3"))
    return {"betas": betas, "alpha": given.pop("slow_weight"), **given}


_ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
_RMSPROP = {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "momentum": 0.0}
_FAMILY = {**_ADAM, "eps": None, "convention": "guarded", "amsgrad": False}
_ACPROP = {
    **_FAMILY,
    "average": "convention",
    "nesterov": "convention",
    "center": "convention",
    "delay": 1,
    "clip": "convention",
    "small_state": False,
    "state_dtype": None,
}
# Of torch.optim.Muon, where it is there.
MUON = {"momentum": 0.95, "muon_ratio": 1.0}
_BESIDE_MUON = (
    "for embeddings, the last layer, biases and norms, beside torch.optim.Muon for all "
    "other weights, those of convolutions as matrices, whose updates are scaled to "
    "AdamW's size; Muon's learning rate is lr · muon_ratio"
)
_CAUTIOUS = "leaves out elements that would move against their gradient's sign"

_TABLE = (
    Entry(
        "acprop", OURS, "ACProp", ASYNC_CENTERED, _ACPROP,
        note='convention "paper" is Algorithm 2, "authors" the code of the published '
        "curves; ε acts differently in each, and as AdamW's in the guarded default",
    ),
    Entry(
        "adabelief", OURS, "AdaBelief", SYNC_CENTERED,
        {**_FAMILY, "convention": "authors", "clip": "convention"},
        note="without rectification",
    ),
    Entry(
        "adashift", OURS, "AdaShift", ASYNC,
        {**_FAMILY, "delay": 1, "reduction": None, "clip": "convention"},
        note='its own paper proposes delay 10 and reduction "max"; beta1 weighs the '
        "newest `delay` gradients, so it does nothing at 1",
    ),
    Entry(
        "sdprop", OURS, "ACProp", SYNC_CENTERED,
        {"lr": 1e-2, "beta1": 0.9, "beta2": 0.99, "eps": None,
         "convention": "torch-rmsprop"},
        note="RMSprop with (g - m)² for g²",
        fixed={"average": None, "center": "m", "delay": 0},
    ),
    Entry(
        "sgd", TORCH, "SGD", NOT_ADAPTIVE,
        {"lr": 0.1, "momentum": 0.9, "nesterov": False},
        decay="coupled",
        published={"lr": 1e-3, "momentum": 0.0},
    ),
    Entry(
        "sgd-nesterov", TORCH, "SGD", NOT_ADAPTIVE, {"lr": 0.1, "momentum": 0.9},
        note="momentum must be above 0",
        decay="coupled",
        fixed={"nesterov": True},
        published={"lr": 1e-3},
    ),
    Entry("adam", TORCH, "Adam", SYNC, _ADAM, decay="coupled"),
    Entry(
        "adamw", TORCH, "AdamW", OTHER, _ADAM,
        note="Adam with decoupled weight decay; the published curves' file names say "
        "0.01, the paper 5e-2",
        decay="decoupled",
        published={"weight_decay": 1e-2},
    ),
    Entry(
        "amsgrad", TORCH, "Adam", OTHER, _ADAM,
        note="synchronous, uncentered; the root never shrinks",
        decay="coupled",
        fixed={"amsgrad": True},
    ),
    Entry("radam", TORCH, "RAdam", SYNC, _ADAM),
    Entry(
        "nadam", TORCH, "NAdam", OTHER, {**_ADAM, "lr": 2e-3, "momentum_decay": 4e-3},
        note="synchronous, uncentered, with Nesterov momentum",
    ),
    Entry("rmsprop", TORCH, "RMSprop", SYNC, _RMSPROP, decay="coupled"),
    Entry(
        "rmsprop-centered", TORCH, "RMSprop", SYNC_CENTERED, _RMSPROP,
        note="v - m², one decay for both; sdprop averages (g - m)²",
        decay="coupled",
        fixed={"centered": True},
    ),
    Entry(
        "adadelta", TORCH, "Adadelta", SYNC, {"lr": 1.0, "rho": 0.9, "eps": 1e-6},
        note="has its own scale: Zeiler's method is lr = 1",
        decay="coupled",
    ),
    Entry(
        "adagrad", TORCH, "Adagrad", OTHER, {"lr": 1e-2, "lr_decay": 0.0, "eps": 1e-10},
        note="synchronous, uncentered; a sum instead of a mean, so lr 0.1 is in reach",
        decay="coupled",
    ),
    Entry(
        "padam", PEERS, "PAdam", SYNC, {**_ADAM, "lr": 0.1, "partial": 0.125},
        note="v^partial in the denominator, so 1/2 is Adam; unlike its paper's, "
        "without AMSGrad's maximum",
    ),
    Entry(
        "avagrad", PEERS, "AvaGrad", OTHER, {**_ADAM, "lr": 0.1, "eps": 0.1},
        note="asynchronous by the paper's remark; its first step does not move",
    ),
    Entry(
        "adabound", PEERS, "AdaBound", OTHER, {**_ADAM, "final_lr": 0.1, "gamma": 1e-3},
        note="synchronous, uncentered; a schedule scales final_lr as well",
    ),
    Entry(
        "yogi", PEERS, "Yogi", OTHER,
        {**_ADAM, "lr": 1e-2, "eps": 1e-3, "initial_accumulator": 1e-6},
        note="synchronous, uncentered",
    ),
    Entry(
        "adamp", PEERS, "AdamP", OTHER,
        {**_ADAM, "delta": 0.1, "wd_ratio": 0.1, "nesterov": False},
        note="synchronous, uncentered, updates projected; the library takes coupled "
        "decay but adds it to the gradient after its last use, so we refuse it",
        decay="decoupled",
        hooks=(hooks.keep_rows_together,),
    ),
    Entry(
        "swats", PEERS, "SWATS", OTHER, {**_ADAM, "eps": 1e-6},
        note="Adam, then SGD; ε is also the tolerance of the switch; the paper cites "
        "SWA's authors for it",
        # The other path calls `view`, which channels_last gradients refuse.
        fixed={"foreach": True},
        hooks=(hooks.keep_found_lr,),
    ),
    Entry(
        "lookahead", PEERS, "Lookahead", OTHER,
        {"inner": "adam", "k": 5, "slow_step": 0.5},
        note="wraps `inner`, by default Adam, and also takes the settings of that; "
        "any of ours and torch's",
    ),
    Entry(
        "adopt", PEERS, "ADOPT", OTHER,
        {**_ADAM, "beta2": 0.9999, "eps": 1e-6, "clipped": True},
        note="asynchronous, uncentered, but its clip looks at g_t; its first step "
        "does not move",
        arguments=_adopt,
    ),
    Entry(
        "apollo", PEERS, "ApolloDQN", OTHER,
        {"lr": 1e-2, "beta1": 0.9, "eps": 1e-4, "rebound": "constant",
         "warmup_steps": 500, "init_lr": None},
        note="Ma 2020, the library's ApolloDQN; its APOLLO is another method. Warms up "
        "by itself from lr/1000 and ignores schedules until then",
        arguments=_apollo,
    ),
    Entry(
        "adahessian", PEERS, "AdaHessian", OTHER,
        # ε is its authors'; the library's 1e-16 divides by curvatures that are 0.
        {**_ADAM, "lr": 0.15, "eps": 1e-4, "hessian_power": 1.0, "num_samples": 1},
        note="second order: twice the backward pass, one process, no torch.compile; "
        "unlike its authors', without spatial averaging",
        hooks=(hooks.draw_by_step,),
        needs_graph=True,
    ),
    Entry(
        "corner", CORNERS, "Corner", OTHER,
        {**_ADAM, "centered": True, "delay": 1, "average": "after", "nesterov": True,
         "start": "corrected", "kappa": 0.0},
        note="a corner of the factorial design of docs/evidence.md",
        decay="decoupled",
        variant_of="adamw",
    ),
    Entry(
        "acprop-cautious", OURS, "ACProp", OTHER, _ACPROP,
        note=f"Liang et al. 2024: {_CAUTIOUS}",
        decay="decoupled",
        hooks=(partial(hooks.be_cautious, scaled=False),),
        variant_of="acprop",
    ),
    Entry(
        "acprop-cautious-scaled", OURS, "ACProp", OTHER, _ACPROP,
        note=f"{_CAUTIOUS}, and scales the rest of the tensor to make up for it",
        decay="decoupled",
        hooks=(partial(hooks.be_cautious, scaled=True),),
        variant_of="acprop",
    ),
    Entry(
        "nadamw", TORCH, "NAdam", OTHER, {**_ADAM, "lr": 2e-3, "momentum_decay": 4e-3},
        note="NAdam with decoupled weight decay",
        decay="decoupled",
        fixed={"decoupled_weight_decay": True},
        variant_of="nadam",
    ),
    Entry(
        "laprop", PEERS, "LaProp", OTHER, {**_ADAM, "lr": 4e-4, "eps": 1e-15},
        note="synchronous, uncentered, averages after dividing; √(v + 1e-15) whatever "
        "eps; decay shrinks the weight that the step left; the library takes coupled "
        "decay but adds it to the gradient after its last use, so we refuse it",
        decay="decoupled",
        variant_of="adamw",
    ),
    Entry(
        "ademamix", PEERS, "AdEMAMix", OTHER,
        {**_ADAM, "beta3": 0.9999, "slow_weight": 5.0, "t_alpha_beta3": None},
        note="synchronous, uncentered; slow_weight is its paper's α, t_alpha_beta3 the "
        "steps over which that and β3 grow",
        arguments=_ademamix,
        variant_of="radam",
    ),
    Entry(
        "lion", PEERS, "Lion", OTHER, {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99},
        note="the sign of an average; lr about a tenth and decay about ten times "
        "AdamW's",
    ),
    Entry(
        "soap", PEERS, "SOAP", OTHER,
        {"lr": 3e-3, "beta1": 0.95, "beta2": 0.95, "eps": 1e-8,
         "precondition_frequency": 10, "max_precondition_dim": 10000},
        note="Adam in the eigenbasis of Shampoo's preconditioner; its first step does "
        "not move; decay shrinks the weight that the step left; leave a vocabulary "
        "out by a max_precondition_dim below it, as its authors' 10000 does",
        decay="decoupled",
        published={"weight_decay": 1e-2},
        variant_of="adamw",
    ),
    Entry(
        "schedulefree-adamw", PEERS, "ScheduleFreeAdamW", OTHER,
        {**_ADAM, "lr": 2.5e-3, "warmup_steps": 0},
        note="evaluated at the average of its steps, trained at a point before that, "
        "where BatchNorm takes its means too; wants a constant schedule; beta1 must be "
        "above 0",
        decay="decoupled",
        variant_of="adamw",
    ),
    Entry(
        "muon-adamw", TORCH, "AdamW", OTHER, {**_ADAM, **MUON},
        note=f"AdamW {_BESIDE_MUON}",
        decay="decoupled",
        published={"weight_decay": 1e-2},
        with_muon=True,
        variant_of="adamw",
    ),
    Entry(
        "muon-acprop", OURS, "ACProp", OTHER, {**_ACPROP, **MUON},
        note=f"ACProp {_BESIDE_MUON}",
        decay="decoupled",
        with_muon=True,
        variant_of="acprop",
    ),
)  # fmt: skip
ENTRIES = {entry.name: entry for entry in _TABLE}
# What Lookahead may wrap.
INNER = {n: e for n, e in ENTRIES.items() if e.library != PEERS and not e.with_muon}

# The paper names them; no library that is kept up has them (searched: torch.optim,
# pytorch_optimizer 4.1.0, timm 1.0.30, heavyball 3.2.1, torch_optimizer 0.3.0).
NOT_OFFERED = {
    "nosadam": "no maintained PyTorch library has it",
    "sadam": "no maintained PyTorch library has it; the package of that name on PyPI "
    "is another method, Scalable Adam",
    "adax": "no maintained PyTorch library has it",
}


class OptimizerRow(NamedTuple):
    """One line of the list; without a library, what is not offered and why."""

    name: str
    library: str
    cell: str
    defaults: Plain
    note: str


def rows() -> list[OptimizerRow]:
    """What there is, then what there is not; imports no library."""
    offered = [
        OptimizerRow(e.name, e.library, e.cell, e.defaults, e.note)
        for e in ENTRIES.values()
    ]
    missing = [
        OptimizerRow(name, "", OTHER, {}, f"not offered: {reason}")
        for name, reason in NOT_OFFERED.items()
    ]
    return offered + missing
