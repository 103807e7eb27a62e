"""A small Transformer language model from a cold start: no warm-up, no schedule.

It learns to predict the next character of a text; the project's own LICENSE unless you
name another file. Run it: python examples/transformer.py [TEXT]
"""

import math
import sys
from pathlib import Path

import torch
from torch import nn

import acprop

CONTEXT, WIDTH = 32, 64


class LanguageModel(nn.Module):
    """Two Transformer layers that look only to the left."""

    def __init__(self, n_symbols: int) -> None:
        super().__init__()
        self.symbol = nn.Embedding(n_symbols, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, nhead=4, dim_feedforward=2 * WIDTH, dropout=0.0, batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(WIDTH, n_symbols)
        mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)
        self.register_buffer("mask", mask)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        """Logits of the next symbol at every place."""
        h = self.symbol(symbols) + self.place.weight
        return self.head(self.layers(h, mask=self.mask, is_causal=True))


def main(path: str | Path, n_steps: int = 300) -> tuple[float, float]:
    """Train, and return the loss of the last steps and that of a uniform guess."""
    torch.manual_seed(0)
    text = Path(path).read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    data = torch.tensor([alphabet.index(c) for c in text])
    model = LanguageModel(len(alphabet))
    opt = acprop.ACProp(acprop.param_groups(model, weight_decay=0.01), lr=1e-3)
    generator = torch.Generator().manual_seed(1)
    losses: list[float] = []
    for step in range(n_steps):
        start = torch.randint(len(data) - CONTEXT, (16, 1), generator=generator)
        window = data[start + torch.arange(CONTEXT + 1)]
        logits = model(window[:, :-1])
        loss = nn.functional.cross_entropy(logits.mT, window[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:4d}  loss {losses[-1]:.3f}")
    final, guess = sum(losses[-20:]) / 20, math.log(len(alphabet))
    print(f"loss {final:.3f} nats a character (a uniform guess: {guess:.3f})")
    return final, guess


if __name__ == "__main__":
    default = Path(__file__).parent.parent / "LICENSE"
    main(sys.argv[1] if len(sys.argv) > 1 else default)
