"""Save in so many ranks, load in others, and write down the losses that follow.

python resumed.py save FOLDER     trains, saves with torch.distributed.checkpoint,
                                  goes on, and writes its losses
python resumed.py resume FOLDER   loads and trains; its losses beside those

In one process, or in the ranks of torchrun. Every rank has the same batch, so that the
mean of their gradients is that of one process.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from rows import whole
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

import acprop

SMALL = {"small_state": True}
RANDOM = {"stochastic_rounding": 5, "kahan": False}
HALF, FULL = torch.bfloat16, torch.float32
FORMS: dict[str, tuple[torch.dtype, dict[str, Any]]] = {
    "float32 state": (FULL, {}),
    "8-bit state": (FULL, SMALL),
    "8-bit state, offloaded": (FULL, SMALL),
    "bfloat16 with Kahan's compensation": (HALF, {}),
    "bfloat16 rounded at random, 8-bit state": (HALF, SMALL | RANDOM),
}
BEFORE, AFTER = 5, 20


def make(name: str, seed: int, lr: float) -> tuple[nn.Module, acprop.ACProp]:
    """Sizes that do not divide: with four ranks, one holds nothing of the logit."""
    dtype, options = FORMS[name]
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(70, 5), nn.Tanh(), nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1)
    ).to(dtype)
    if dist.is_initialized():
        offloaded = name.endswith("offloaded")
        policy = {"offload_policy": CPUOffloadPolicy(pin_memory=False)}
        fully_shard(model, **policy if offloaded else {})
    return model, acprop.ACProp(model.parameters(), lr=lr, **options)


def train(model: nn.Module, opt: acprop.ACProp, steps: range) -> list[float]:
    """The loss of every step."""
    losses = []
    for i in steps:
        torch.manual_seed(100 + i)
        x = torch.randn(8, 70).to(next(model.parameters()).dtype)
        loss = (model(x).float() - 1).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def fingerprint(model: nn.Module, opt: acprop.ACProp) -> str:
    """Of every bit of the parameters and their state, however they are sharded."""
    digest = hashlib.sha256()
    for param in model.parameters():
        for name, value in sorted({**opt.state[param], "": param}.items()):
            assert isinstance(value, Tensor)
            digest.update(f"{name} {value.shape} {value.dtype}".encode())
            digest.update(whole(value).contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def save(folder: Path) -> dict[str, Any]:
    """Train, save in the middle, and go on; the bits saved and the losses after."""
    told = {}
    for i, name in enumerate(FORMS):
        model, opt = make(name, seed=0, lr=1e-2)
        train(model, opt, range(BEFORE))
        model_state, opt_state = get_state_dict(model, opt)
        saved = {"model": model_state, "opt": opt_state}
        dcp.save(saved, checkpoint_id=folder / f"form-{i}")
        bits = fingerprint(model, opt)
        losses = train(model, opt, range(BEFORE, BEFORE + AFTER))
        told[name] = {"bits": bits, "losses": losses}
    if os.environ.get("RANK", "0") == "0":
        (folder / "unbroken.json").write_text(json.dumps(told))
    return told


def resume(folder: Path) -> dict[str, Any]:
    """Load into other weights and another lr, and train; beside the unbroken run."""
    unbroken = json.loads((folder / "unbroken.json").read_text())
    found = {}
    for i, name in enumerate(FORMS):
        model, opt = make(name, seed=1, lr=1.0)
        model_state, opt_state = get_state_dict(model, opt)
        state = {"model": model_state, "opt": opt_state}
        dcp.load(state, checkpoint_id=folder / f"form-{i}")
        set_state_dict(
            model, opt, model_state_dict=state["model"], optim_state_dict=state["opt"]
        )
        bits = fingerprint(model, opt)
        losses = train(model, opt, range(BEFORE, BEFORE + AFTER))
        resumed = {"bits": bits, "losses": losses}
        found[name] = {"unbroken": unbroken[name], "resumed": resumed}
    return found


if __name__ == "__main__":
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    what, where = {"save": save, "resume": resume}[sys.argv[1]], Path(sys.argv[2])
    told = what(where)
    if os.environ.get("RANK", "0") == "0":
        (where / f"{sys.argv[1]}.json").write_text(json.dumps(told))
    if dist.is_initialized():
        dist.destroy_process_group()
