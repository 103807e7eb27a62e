"""Run by `torchrun` with two ranks: ACProp on sharded parameters, and its checkpoint.

Each rank compares the sharded run with a run on whole parameters that it makes itself,
so a rank that exits with 0 has seen them agree.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.utils._python_dispatch import TorchDispatchMode

import acprop


def make(foreach: bool | None, convention: str, shard: bool):
    torch.manual_seed(0)
    # 5 and 3 are odd on purpose: the two ranks hold shards of different sizes. Of the
    # one logit the second rank holds nothing.
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3), nn.Linear(3, 1))
    if shard:
        fully_shard(model)
    opt = acprop.ACProp(
        model.parameters(),
        lr=1e-2,
        weight_decay=0.1,
        convention=convention,
        foreach=foreach,
        amsgrad=True,
    )
    return model, opt


def train(model: nn.Module, opt: acprop.ACProp, steps: range) -> None:
    for i in steps:
        torch.manual_seed(100 + i)
        opt.zero_grad()
        # The same batch on both ranks, so that the mean of gradients is the gradient.
        model(torch.randn(8, 4)).square().sum().backward()
        opt.step()


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def check(sharded: nn.Module, plain: nn.Module, what: str) -> None:
    pairs = zip(sharded.parameters(), plain.parameters(), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(whole(a.detach()), b.detach(), msg=what)


class Collectives(TorchDispatchMode):
    """Counts what ranks have to wait for each other for."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.namespace in ("c10d", "_c10d_functional")
        return function(*args, **(kwargs or {}))


def large_shards() -> None:
    """More elements than a block of the kernel that cuts tensors up; no collective."""
    for options in ({}, {"fused": False}):
        model = nn.Linear(1200, 600, bias=False)
        fully_shard(model)
        opt = acprop.ACProp(model.parameters(), lr=0.1, **options)
        for _ in range(3):
            opt.zero_grad()
            model(torch.ones(2, 1200)).sum().backward()
            with Collectives() as seen:
                opt.step()
            assert seen.count == 0
        assert model.weight.to_local().isfinite().all()


def main(folder: str) -> None:
    dist.init_process_group("gloo")
    large_shards()
    for foreach in (False, True, None):
        for convention in ("guarded", "authors"):
            what = f"foreach={foreach}, {convention}"
            plain, plain_opt = make(foreach, convention, shard=False)
            train(plain, plain_opt, range(6))
            model, opt = make(foreach, convention, shard=True)
            train(model, opt, range(6))
            check(model, plain, what)
            # A checkpoint of the sharded optimizer continues in a fresh one.
            path = f"{folder}/{foreach}-{convention}"
            dcp.save({"opt": get_optimizer_state_dict(model, opt)}, checkpoint_id=path)
            fresh = acprop.ACProp(
                model.parameters(),
                lr=1.0,
                convention=convention,
                foreach=foreach,
                amsgrad=True,
            )
            fresh.zero_grad()  # torch makes no state to load into while there are any
            loaded = {"opt": get_optimizer_state_dict(model, fresh)}
            dcp.load(loaded, checkpoint_id=path)
            set_optimizer_state_dict(model, fresh, loaded["opt"])
            train(model, fresh, range(6, 9))
            train(plain, plain_opt, range(6, 9))
            check(model, plain, f"{what}, after loading")
    dist.barrier()
    dist.destroy_process_group()
    # Not a return: on a busy machine torch's threads may still run when the
    # interpreter ends, and abort a process that has nothing more to say.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
