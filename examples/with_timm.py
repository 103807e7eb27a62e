"""A loop as timm's own train script has it: the optimizer comes from the command line.

python -m acprop.timm examples/with_timm.py --opt acprop --layer-decay 0.75 FOLDER
"""

import argparse
from pathlib import Path

import torch
from timm.models import create_model
from timm.optim import create_optimizer_v2, optimizer_kwargs
from timm.scheduler import CosineLRScheduler
from torch import nn


def main(args: argparse.Namespace) -> nn.Module:
    """Train three epochs of four steps, a checkpoint after each; return the model."""
    torch.manual_seed(0)
    sizes = {"img_size": 16, "patch_size": 8, "embed_dim": 16, "depth": 2}
    model = create_model("vit_tiny_patch16_224", num_classes=4, num_heads=2, **sizes)
    opt = create_optimizer_v2(model, **optimizer_kwargs(cfg=args))
    schedule = CosineLRScheduler(opt, t_initial=3, lr_min=1e-5)
    begin = 0
    if args.resume:
        kept = torch.load(args.resume, weights_only=True)
        model.load_state_dict(kept["state_dict"])
        opt.load_state_dict(kept["optimizer"])
        begin = kept["epoch"] + 1
    for epoch in range(begin, 3):
        schedule.step(epoch)
        for step in range(4):
            draw = torch.Generator().manual_seed(4 * epoch + step)
            images = torch.randn(8, 3, 16, 16, generator=draw)
            labels = images[:, :, ::8, ::8].mean(1).flatten(1).argmax(1)
            opt.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            opt.step()
        kept = {"state_dict": model.state_dict(), "optimizer": opt.state_dict()}
        torch.save({**kept, "epoch": epoch}, args.folder / f"{epoch}.pt")
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--opt", default="sgd")
    parser.add_argument("--opt-betas", type=float, nargs="+")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--layer-decay", type=float)
    parser.add_argument("--resume", type=Path)
    main(parser.parse_args())
