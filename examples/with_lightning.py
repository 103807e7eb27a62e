"""ACProp in Lightning: `configure_optimizers` returns it, Lightning does the rest.

python examples/with_lightning.py FOLDER
"""

import sys
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import acprop


class Regression(lightning.LightningModule):
    """A small network with the optimizer by name, as a configuration would have it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        inputs, labels = batch
        return (self.net(inputs) - labels).square().mean()

    def configure_optimizers(self) -> dict:
        opt = acprop.create("acprop", self.net, lr=1e-2, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


def main(folder: Path, *, resume: bool = False) -> nn.Module:
    """Train two epochs of six steps, a checkpoint after each; return the network."""
    torch.manual_seed(0)
    x = torch.randn(48, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        gradient_clip_val=1.0,
        callbacks=[ModelCheckpoint(folder, "{epoch}", save_top_k=-1)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Regression()
    half = str(folder / "epoch=0.ckpt") if resume else None
    trainer.fit(module, loader, ckpt_path=half)
    return module.net


if __name__ == "__main__":
    main(Path(sys.argv[1]))
