"""ACProp in LightningCLI: by its class path, no line of the model knows it.

python examples/with_lightning_cli.py fit --optimizer acprop.ACProp \
    --optimizer.lr 0.01 --optimizer.weight_decay 0.01

or in a configuration:

    optimizer:
      class_path: acprop.ACProp
      init_args: {lr: 0.01, betas: [0.9, 0.98]}
"""

import lightning
import torch
from lightning.pytorch.cli import LightningCLI
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    """A small network; LightningCLI adds `configure_optimizers`."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        inputs, labels = batch
        return (self.net(inputs) - labels).square().mean()

    def train_dataloader(self) -> DataLoader:
        x = torch.randn(48, 4, generator=torch.Generator().manual_seed(0))
        return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)


def main(words: list[str] | None = None) -> LightningCLI:
    """Parse and run; None takes the words of the command line."""
    return LightningCLI(Regression, args=words, save_config_callback=None)


if __name__ == "__main__":
    main()
