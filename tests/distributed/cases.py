"""The ways to train in ranks: a function each, which returns a row of the report."""

import copy
import runpy
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from resumed import resume, save
from rows import KINDS, OPTIONS, STEPS, Net, Run, batch, gap, replayed, row, whole
from small_state import compare
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    StateDictType,
    fully_shard,
)
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.func import functional_call
from torch.nn.parallel import DistributedDataParallel

import acprop

EXAMPLE = Path(__file__).parents[2] / "examples" / "sharded.py"
Case = Callable[[Path], dict[str, Any]]
CASES: dict[tuple[str, int], Case] = {}


def case(name: str, *worlds: int) -> Callable[[Case], Case]:
    """A case of this name, for so many ranks."""

    def keep(function: Case) -> Case:
        CASES.update({(name, world): function for world in worlds})
        return function

    return keep


# ---- FSDP2 ---------------------------------------------------------------------------


def shard_layers(model: Net, **how) -> None:
    for layer in (model.up, model.down):
        fully_shard(layer, **how)
    fully_shard(model, **how)


def fsdp2(model: Net, kind: type, **how) -> Run:
    shard_layers(model, **how)
    return Run(model, kind(model.parameters(), **OPTIONS))


@case("fsdp2", 2, 4)
def _(_: Path) -> dict[str, Any]:
    return row(fsdp2)


@case("fsdp2-clipped", 2, 4)
def _(_: Path) -> dict[str, Any]:
    def clip(run: Run) -> None:
        run.before_step = lambda: nn.utils.clip_grad_norm_(run.model.parameters(), 0.05)

    def shard(model: Net, kind: type) -> Run:
        run = fsdp2(model, kind)
        clip(run)
        return run

    return row(shard, alone=clip)


@case("fsdp2-mixed", 2)
def _(_: Path) -> dict[str, Any]:
    """bfloat16 arithmetic, float32 parameters and sums of gradients."""
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32
    )

    def cast(run: Run) -> None:
        def forward(x: torch.Tensor) -> torch.Tensor:
            low = {n: p.to(torch.bfloat16) for n, p in run.model.named_parameters()}
            return functional_call(run.model, low, (x.to(torch.bfloat16),))

        run.forward = forward

    return row(lambda model, kind: fsdp2(model, kind, mp_policy=policy), alone=cast)


@case("fsdp2-bfloat16", 2)
def _(_: Path) -> dict[str, Any]:
    """Parameters in bfloat16, too: Kahan's compensation is sharded with them."""
    return row(fsdp2, dtype=torch.bfloat16)


@case("fsdp2-offload", 2)
def _(_: Path) -> dict[str, Any]:
    policy = CPUOffloadPolicy(pin_memory=False)
    return row(lambda model, kind: fsdp2(model, kind, offload_policy=policy))


@case("fsdp2-hybrid", 4)
def _(_: Path) -> dict[str, Any]:
    """Sharded in pairs, and the pairs replicated."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    return row(lambda model, kind: fsdp2(model, kind, mesh=mesh))


@case("fsdp2-large", 2)
def _(_: Path) -> dict[str, Any]:
    """More elements than a block of the kernel that cuts tensors up."""
    found: dict[str, Any] = {}
    for fused in (None, False):
        torch.manual_seed(0)
        start = nn.Linear(1200, 600, bias=False)
        model = copy.deepcopy(start)
        fully_shard(model)
        run = Run(model, acprop.ACProp(model.parameters(), **OPTIONS, fused=fused))
        run.forward = lambda x, model=model: model(x.repeat(1, 300))
        run.train(range(3))
        far = replayed(start, run, fused=fused)
        found[f"fused={fused}"] = {"replayed": far, "in_step": run.in_step}
    return found


@case("fsdp2-kernels", 2)
def _(_: Path) -> dict[str, Any]:
    """Every kernel, and options with state of their own, from the same gradients."""
    found = {}
    for options in (
        {"foreach": False},
        {"foreach": True},
        {"fused": False},
        {"fused": True},
        {"convention": "authors", "foreach": True},
        {"average": "before", "amsgrad": True},
        {"average": "after", "center": "m"},
        {"amsgrad": True, "foreach": False},
        {"delay": 3},
    ):
        torch.manual_seed(0)
        start = Net()
        model = copy.deepcopy(start)
        shard_layers(model)
        run = Run(
            model, acprop.ACProp(model.parameters(), **OPTIONS, **options)
        ).train()
        name = ", ".join(f"{k}={v}" for k, v in options.items())
        found[name] = {
            "replayed": replayed(start, run, **options),
            "in_step": run.in_step,
        }
    return found


@case("fsdp2-kept", 2)
def _(_: Path) -> dict[str, Any]:
    """Addresses of shards are kept, and looked at again: all may have moved."""
    torch.manual_seed(0)
    start = Net()
    model = copy.deepcopy(start)
    shard_layers(model)
    run = Run(model, acprop.ACProp(model.parameters(), **OPTIONS))
    alone = Run(start, acprop.ACProp(start.parameters(), **OPTIONS))
    found: dict[str, Any] = {}

    def plan() -> Any:
        return next(iter(run.opt._plans.values()))

    def compare(name: str, first: int) -> None:
        before = plan() if first else None
        for one in (run, alone):
            one.train(range(first, first + 2))
        found[name] = {"gap": gap(run.read(), alone.read()), "kept": plan() is before}

    compare("nothing", 0)
    compare("gradients", 2)
    for state in run.opt.state.values():
        state["exp_avg_sq"] = state["exp_avg_sq"].clone()
    compare("state", 4)
    for one in (run, alone):
        one.before_step = lambda one=one: [
            p.__setattr__("grad", -p.grad) for p in one.model.parameters()
        ]
    compare("new gradients", 6)
    return {**found, "parameters": moved_shards()}


def moved_shards() -> dict[str, Any]:
    """Someone gives a DTensor other memory between two steps, as fully_shard may."""
    mesh = init_device_mesh("cpu", (2,))
    cut = [Shard(0)]
    param = nn.Parameter(batch(0)[:5])
    sharded: Any = nn.Parameter(distribute_tensor(param.detach(), mesh, cut))
    made = [acprop.ACProp([p], **OPTIONS) for p in (param, sharded)]
    plans = []
    for step in range(3):
        if step == 2:
            sharded._local_tensor = sharded._local_tensor.clone()
        param.grad = batch(step)[:5]
        sharded.grad = distribute_tensor(param.grad, mesh, cut)
        for opt in made:
            opt.step()
        plans += made[1]._plans.values()
    far = gap([whole(param)], [whole(sharded)])
    return {"gap": far, "kept": plans[2] is plans[1]}


@case("reductions", 2)
def _(_: Path) -> dict[str, Any]:
    """What needs the whole tensor, of which the second rank holds nothing."""
    found = {}
    mesh = init_device_mesh("cpu", (2,))
    for name, options in REDUCTIONS.items():
        param = nn.Parameter(torch.tensor([[3.0, -1.0, 0.5]]))
        sharded = nn.Parameter(distribute_tensor(param.detach(), mesh, [Shard(0)]))
        params = [param, sharded]
        made = [acprop.AdaShift([p], **OPTIONS, **options) for p in params]
        for step in range(2):
            param.grad = batch(step)[:1, :3]
            sharded.grad = distribute_tensor(param.grad, mesh, [Shard(0)])
            for opt in made:
                opt.step()
        found[name] = gap(*([whole(p)] for p in params))
    return found


REDUCTIONS: dict[str, Any] = {
    f"{name}, foreach={foreach}": {**options, "foreach": foreach}
    for name, options in {
        "max": {"reduction": "max"},
        "mean": {"reduction": "mean"},
        "max and box": {"reduction": "max", "constraint": acprop.Box(-0.3, 0.3)},
    }.items()
    for foreach in (False, True)
}


@case("fsdp2-released", 2)
def _(_: Path) -> dict[str, Any]:
    def shard(model: Net, kind: type) -> Run:
        run = fsdp2(model, kind)
        if kind is acprop.ACProp:
            acprop.release_gradients(run.opt)
            run.keeps_gradients = False
        return run

    return row(shard)


# ---- the others ----------------------------------------------------------------------


@case("tensor-parallel", 2)
def _(_: Path) -> dict[str, Any]:
    return row(tensor_parallel)


def tensor_parallel(model: Net, kind: type) -> Run:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    parallelize_module(
        model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()}
    )
    return Run(model, kind(model.parameters(), **OPTIONS))


@case("tensor-parallel-fsdp2", 4)
def _(_: Path) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))

    def shard(model: Net, kind: type) -> Run:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        parallelize_module(model, mesh["tensor"], plan)
        shard_layers(model, mesh=mesh["data"])
        return Run(model, kind(model.parameters(), **OPTIONS))

    return row(shard)


@case("ddp", 2)
def _(_: Path) -> dict[str, Any]:
    def shard(model: Net, kind: type) -> Run:
        run = Run(model, kind(model.parameters(), **OPTIONS))
        run.forward = DistributedDataParallel(model)
        return run

    return row(shard)


@case("ddp-released", 2)
def _(_: Path) -> dict[str, Any]:
    """Each rank would step with its own gradient."""
    torch.manual_seed(0)
    model = Net()
    opt = acprop.ACProp(model.parameters(), **OPTIONS)
    found: dict[str, Any] = {}
    try:
        acprop.release_gradients(opt)
    except RuntimeError as error:
        found["refused"] = str(error)
    opt = acprop.ACProp(model.parameters(), **OPTIONS)
    with unittest.mock.patch.object(dist, "is_initialized", return_value=False):
        acprop.release_gradients(opt)  # before there is a group
    start = [whole(p) for p in model.parameters()]
    try:
        rank = dist.get_rank()
        DistributedDataParallel(model)(batch(rank)).square().mean().backward()
    except RuntimeError as error:
        found["refused late"] = str(error)
    found["moved"] = gap([whole(p) for p in model.parameters()], start)
    return found


@case("zero-redundancy", 2)
def _(_: Path) -> dict[str, Any]:
    """Its step is an optimizer's step and then a broadcast of what moved."""

    def shard(model: Net, kind: type) -> Run:
        opt = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=kind, **OPTIONS
        )
        run = Run(model, opt)
        run.forward = DistributedDataParallel(model)
        return run

    return row(shard)


@case("fsdp1-flat", 2)
def _(_: Path) -> dict[str, Any]:
    return row(lambda model, kind: fsdp1(model, kind, use_orig_params=False))


@case("fsdp1", 2)
def _(_: Path) -> dict[str, Any]:
    return row(lambda model, kind: fsdp1(model, kind, use_orig_params=True))


def fsdp1(model: Net, kind: type, **how) -> Run:
    wrapped = FullyShardedDataParallel(model, device_id=torch.device("cpu"), **how)
    run = Run(wrapped, kind(wrapped.parameters(), **OPTIONS))

    def read() -> list[torch.Tensor]:
        with FullyShardedDataParallel.summon_full_params(wrapped, writeback=False):
            return [whole(p) for p in wrapped.parameters()]

    run.read, run.keeps_gradients = read, False
    return run


# ---- checkpoints ---------------------------------------------------------------------


@case("saved", 2)
def _(folder: Path) -> dict[str, Any]:
    """Saved by two ranks in the middle of a run that goes on."""
    for name, kind in KINDS.items():
        torch.manual_seed(0)
        run = fsdp2(Net(), kind).train(range(3))
        model_state, opt_state = get_state_dict(run.model, run.opt)
        saved = {"model": model_state, "opt": opt_state}
        dcp.save(saved, checkpoint_id=folder / name)
        run.train(range(3, STEPS))
        end = run.read()
        if dist.get_rank() == 0:
            torch.save(end, folder / f"{name}.pt")
    return {}


@case("loaded", 4)
def _(folder: Path) -> dict[str, Any]:
    return resumed(folder, fsdp2)


@case("loaded", 1)
def _(folder: Path) -> dict[str, Any]:
    """In one process without a group: an ordinary model and an ordinary optimizer."""
    return resumed(folder, lambda m, kind: Run(m, kind(m.parameters(), **OPTIONS)))


@case("losses-saved", 2)
def _(folder: Path) -> dict[str, Any]:
    return save(folder)


@case("losses-resumed", 1, 4)
def _(folder: Path) -> dict[str, Any]:
    """Every form of state."""
    return resume(folder)


@case("example", 2)
def _(folder: Path) -> dict[str, Any]:
    """examples/sharded.py without anybody being killed."""
    (folder / "example").mkdir(exist_ok=True)
    end = runpy.run_path(str(EXAMPLE))["main"](folder / "example")
    return {"end": [p.tolist() for p in end]}


def resumed(folder: Path, make: Callable[[Net, type], Run]) -> dict[str, Any]:
    """How far a run that continues the saved one ends from where that one ended."""
    found: dict[str, Any] = {}
    for name, kind in KINDS.items():
        torch.manual_seed(1)
        run = make(Net(), kind)
        for group in run.opt.param_groups:
            group["lr"] = 1.0  # the checkpoint knows better
        model_state, opt_state = get_state_dict(run.model, run.opt)
        state = {"model": model_state, "opt": opt_state}
        dcp.load(state, checkpoint_id=folder / name)
        set_state_dict(
            run.model,
            run.opt,
            model_state_dict=state["model"],
            optim_state_dict=state["opt"],
        )
        run.train(range(3, STEPS))
        found[name] = gap(run.read(), torch.load(folder / f"{name}.pt"))
    return found


@case("fsdp2-switched", 2)
def _(_: Path) -> dict[str, Any]:
    """The optimizer changes midway: one running mean is made of another on shards."""
    found: dict[str, Any] = {}
    for first, second, convert in (
        (torch.optim.AdamW, acprop.ACProp, dict),
        (acprop.ACProp, torch.optim.AdamW, acprop.to_adamw),
    ):
        ends = []
        for shard in (shard_layers, lambda _: None):
            torch.manual_seed(0)
            model = Net()
            shard(model)
            options = {**OPTIONS, "amsgrad": True}
            run = Run(model, first(model.parameters(), **options)).train(range(3))
            opt = second(model.parameters(), **options)
            opt.load_state_dict(convert(run.opt.state_dict()))
            ends.append(Run(model, opt).train(range(3, STEPS)).read())
        found[f"to {second.__name__}"] = gap(*ends)
    return found


@case("fsdp1-resumed", 2)
def _(_: Path) -> dict[str, Any]:
    """`optim_state_dict` is that of one process, and a fresh run goes on from it."""
    found: dict[str, Any] = {}
    for how, use_orig_params in (("flat", False), ("original", True)):
        torch.manual_seed(0)
        alone = Net()
        one = Run(alone, acprop.ACProp(alone.named_parameters(), **OPTIONS))
        one.train(range(3))
        torch.manual_seed(0)
        run = fsdp1(Net(), acprop.ACProp, use_orig_params=use_orig_params)
        run.train(range(3))
        gather_whole(run.model)
        state = FullyShardedDataParallel.optim_state_dict(run.model, run.opt)
        own = {n: one.opt.state[p] for n, p in alone.named_parameters()}
        found[f"{how}, state"] = max(
            gap([state["state"][n][key]], [own[n][key]])
            for n in own
            for key in ("step", "momentum_buffer", "exp_avg_sq")
        )
        torch.manual_seed(1)
        fresh = fsdp1(Net(), acprop.ACProp, use_orig_params=use_orig_params)
        gather_whole(fresh.model)
        fresh.model.load_state_dict(run.model.state_dict())
        local = FullyShardedDataParallel.optim_state_dict_to_load(
            fresh.model, fresh.opt, state
        )
        fresh.opt.load_state_dict(local)
        fresh.train(range(3, STEPS))
        found[how] = gap(fresh.read(), one.train(range(3, STEPS)).read())
    return found


def gather_whole(model: nn.Module) -> None:
    """Not offloaded, which is the default: of tensors on the CPU torch 2.13 then makes
    no copy and gathers the next state into the memory of the last, AdamW's as well.
    """
    FullyShardedDataParallel.set_state_dict_type(
        model,
        StateDictType.FULL_STATE_DICT,
        FullStateDictConfig(offload_to_cpu=False),
        FullOptimStateDictConfig(offload_to_cpu=False),
    )


@case("zero-redundancy-resumed", 2)
def _(_: Path) -> dict[str, Any]:
    """The state of all ranks, gathered on the first, continues in one process."""
    torch.manual_seed(0)
    model = Net()
    opt = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=acprop.ACProp, **OPTIONS
    )
    run = Run(model, opt).train(range(3))
    opt.consolidate_state_dict(to=0)
    if dist.get_rank() == 0:
        alone = copy.deepcopy(model)
        one = Run(alone, acprop.ACProp(alone.parameters(), lr=1.0))
        one.opt.load_state_dict(copy.deepcopy(opt.state_dict()))
    run.train(range(3, STEPS))
    if dist.get_rank() != 0:
        return {}
    return {"one process": gap(one.train(range(3, STEPS)).read(), run.read())}


# ---- 8-bit state ---------------------------------------------------------------------


@case("small-state", 2)
def _(folder: Path) -> dict[str, Any]:
    compare(folder)
    return {"agree": True}
