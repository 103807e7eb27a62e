"""Small state and random rounding on shards, in two ranks.

Each rank compares the sharded run with one on whole parameters that it makes itself.
"""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from rows import Collectives
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_tensor
from torch.distributed.tensor.placement_types import Shard

import acprop

SMALL = {"small_state": True}
RANDOM = {"stochastic_rounding": 5, "kahan": False}
HALF = {"state_dtype": torch.bfloat16}


def make(shard: bool, dtype: torch.dtype, options: dict):
    torch.manual_seed(0)
    # 5 is odd on purpose: the ranks hold shards of different sizes. Of the one logit
    # the second rank holds nothing.
    model = nn.Sequential(nn.Linear(70, 5), nn.Linear(5, 20), nn.Linear(20, 1))
    model.to(dtype)
    if shard:
        fully_shard(model)
    return model, acprop.ACProp(model.parameters(), lr=1e-2, **options)


def train(model: nn.Module, opt: acprop.ACProp, steps: range) -> None:
    for i in steps:
        torch.manual_seed(100 + i)
        opt.zero_grad()
        x = torch.randn(8, 70).to(next(model.parameters()).dtype)
        # The same batch on both ranks, so that the mean of gradients is the gradient.
        model(x).square().sum().backward()
        with Collectives() as seen:
            opt.step()
        assert seen.count == 0


def check(sharded: nn.Module, opt: acprop.ACProp, plain: nn.Module, plain_opt) -> None:
    for a, b in zip(sharded.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a.detach().full_tensor(), b.detach())
        for name, value in plain_opt.state[b].items():
            whole = opt.state[a][name]
            whole = whole.full_tensor() if hasattr(whole, "full_tensor") else whole
            assert torch.equal(whole, value), name


def compare(folder: Path) -> None:
    """Raise where shards and whole parameters disagree."""
    cases = [
        (torch.float32, SMALL),
        (torch.bfloat16, RANDOM),
        (torch.bfloat16, RANDOM | SMALL),
        (torch.float32, HALF),
    ]
    for i, (dtype, options) in enumerate(cases):
        plain, plain_opt = make(False, dtype, options)
        model, opt = make(True, dtype, options)
        train(plain, plain_opt, range(4))
        train(model, opt, range(4))
        check(model, opt, plain, plain_opt)
        # A checkpoint of the sharded optimizer continues in a fresh one.
        path = f"{folder}/small-{i}"
        dcp.save({"opt": get_optimizer_state_dict(model, opt)}, checkpoint_id=path)
        fresh = acprop.ACProp(model.parameters(), lr=1.0, **options)
        fresh.zero_grad()  # torch makes no state to load into while there are any
        loaded = {"opt": get_optimizer_state_dict(model, fresh)}
        dcp.load(loaded, checkpoint_id=path)
        set_optimizer_state_dict(model, fresh, loaded["opt"])
        train(model, fresh, range(4, 6))
        train(plain, plain_opt, range(4, 6))
        check(model, fresh, plain, plain_opt)
    columns()


def columns() -> None:
    """A parameter that is sharded by columns is refused before anything moves."""
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    param = nn.Parameter(distribute_tensor(torch.ones(4, 64), mesh, [Shard(1)]))
    param.grad = distribute_tensor(torch.ones(4, 64), mesh, [Shard(1)])
    opt = acprop.ACProp([param], small_state=True)
    with pytest.raises(RuntimeError, match=r"^small_state must be False for a param"):
        opt.step()
    assert torch.equal(param.to_local(), torch.ones(4, 32))
