"""ACProp in a loop of accelerate's: prepare, clip, save the state, go on from it.

python examples/with_accelerate.py FOLDER
"""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

import acprop


def main(folder: Path, *, resume: bool = False) -> nn.Module:
    """Train 12 steps, with a checkpoint after the sixth; return the model."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    x = torch.randn(96, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = acprop.ACProp(acprop.param_groups(model, weight_decay=0.01), lr=1e-2)
    schedule = CosineAnnealingLR(opt, T_max=12)
    loader = DataLoader(data, batch_size=4)
    model, opt, loader, schedule = accelerator.prepare(model, opt, loader, schedule)
    done = 12 if resume else 0
    if resume:
        accelerator.load_state(str(folder / "half"))
        loader = accelerator.skip_first_batches(loader, done)
    for batch, (inputs, labels) in enumerate(loader, done + 1):
        with accelerator.accumulate(model):
            loss = (model(inputs) - labels).square().mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            schedule.step()
            opt.zero_grad()
        if batch == 12 and not resume:
            accelerator.save_state(str(folder / "half"))
    print(f"loss {loss.item():.4f}")
    return accelerator.unwrap_model(model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
