"""Muon for the matrices of a transformer, ACProp for embeddings, head, biases, norms.

One optimizer to the scheduler and to the checkpoint; one learning rate serves both,
because `match_rms_adamw` makes Muon's updates as large as AdamW's.

python examples/with_muon.py FOLDER
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

import acprop

N_STEPS, CONTEXT = 60, 16


class Tiny(nn.Module):
    """Two layers that continue a text of 32 symbols."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(32, 32), nn.Embedding(CONTEXT, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 32)
        self.register_buffer("future", torch.ones(CONTEXT, CONTEXT).triu(1).bool())

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.symbols(text) + self.places(torch.arange(CONTEXT))
        return self.head(self.layers(x, mask=self.future, is_causal=True))


def main(folder: Path, *, resume: bool = False) -> tuple[nn.Module, list[float]]:
    """Train, save in the middle, or go on from there; return network and losses."""
    torch.manual_seed(0)
    model = Tiny()
    matrices, rest = acprop.split_matrices(model)
    muon = torch.optim.Muon(matrices, lr=1e-2, adjust_lr_fn="match_rms_adamw")
    opt = acprop.Together(muon, acprop.ACProp(rest, lr=1e-2, weight_decay=0.1))
    schedule = CosineAnnealingLR(opt, T_max=N_STEPS)
    file, losses = folder / "half.pt", []
    if resume:
        for part, saved in zip((model, opt, schedule), torch.load(file), strict=True):
            part.load_state_dict(saved)
    for step in range(N_STEPS // 2 if resume else 0, N_STEPS):
        draw = torch.Generator().manual_seed(step)
        starts = torch.randint(32, (16, 1), generator=draw)
        text = (starts + 3 * torch.arange(CONTEXT + 1)) % 32  # every third symbol
        loss = nn.functional.cross_entropy(
            model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        losses.append(loss.item())
        if step == N_STEPS // 2 - 1:
            parts = (model, opt, schedule)
            torch.save([part.state_dict() for part in parts], file)
    return model, losses


if __name__ == "__main__":
    print(f"loss {main(Path(sys.argv[1]))[1][-1]:.3f}")
