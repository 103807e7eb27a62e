"""FSDP2 with checkpoints: a rank may be killed at any time, and torchrun starts again.

torchrun --standalone --nproc-per-node 2 --max-restarts 3 examples/sharded.py FOLDER
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint import state_dict
from torch.distributed.fsdp import fully_shard

import acprop


def batch(step: int, rank: int) -> torch.Tensor:
    """The data of one step: a function of step and rank, so a resume needs no state."""
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(9 * step + rank))


def main(folder: Path, n_steps: int = 12) -> list[torch.Tensor]:
    """Train, a checkpoint after each step; the whole parameters at the end."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 33), nn.Tanh(), nn.Linear(33, 16))
    fully_shard(model)
    opt = acprop.ACProp(model.parameters(), lr=1e-2, weight_decay=0.01)
    done = max((int(f.name) for f in folder.glob("[0-9]*")), default=0)
    if done:
        model_state, opt_state = state_dict.get_state_dict(model, opt)
        dcp.load(
            {"model": model_state, "opt": opt_state}, checkpoint_id=folder / str(done)
        )
        states = {"model_state_dict": model_state, "optim_state_dict": opt_state}
        state_dict.set_state_dict(model, opt, **states)
    for step in range(done, n_steps):
        x = batch(step, dist.get_rank())
        opt.zero_grad()
        (model(x) - x).square().mean().backward()
        opt.step()
        states = zip(
            ("model", "opt"), state_dict.get_state_dict(model, opt), strict=True
        )
        dcp.save(dict(states), checkpoint_id=folder / "unfinished")
        if dist.get_rank() == 0:  # a folder with a number is whole
            os.replace(folder / "unfinished", folder / str(step + 1))
        dist.barrier()
    return [p.full_tensor().detach() for p in model.parameters()]


if __name__ == "__main__":
    # Each life of the ranks meets under its own name: torch 2.13 would let a restarted
    # rank call at the address of a dead one.
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], store)
    place = {
        "rank": int(os.environ["RANK"]),
        "world_size": int(os.environ["WORLD_SIZE"]),
    }
    dist.init_process_group("gloo", store=store, **place)
    torch.save(main(Path(sys.argv[1])), f"{sys.argv[1]}/end-{dist.get_rank()}.pt")
    dist.destroy_process_group()
