"""A decoder-only transformer: bytes in, logits of the byte that follows each.

A symbol's embedding plus its position's goes through `layers` blocks, a last norm and
a head without bias:

    x ← x + P·attention(norm(x))         causal, `heads` heads
    x ← x + Q·gelu(W·norm(x))            W widens by 4, Q narrows again

Norms come first (Xiong et al. 2020). Weights are N(0, 0.02²); those of P and Q, which
write into the sum, N(0, 0.02²/(2·layers)) (Radford et al. 2019, section 2.3); biases 0,
norms 1 and 0. Every number comes from torch's global generator.
"""

import math
from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

STD = 0.02


@final
class Block(nn.Module):
    """Attention and a perceptron, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.from_attention = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, time, width] to the same."""
        x = x + self.from_attention(self._attended(self.attention_norm(x)))
        return x + self.narrow(gelu(self.widen(self.mlp_norm(x))))

    def _attended(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        split = (batch, time, 3, self.heads, width // self.heads)
        # [query, key or value, batch, head, time, width of a head]
        parts = self.queries_keys_values(x).view(split).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        return seen.transpose(1, 2).reshape(batch, time, width)


@final
class GPT(nn.Module):
    """Predicts the next symbol at every place, from those up to it.

    width: a multiple of heads. context: the most it can look back.
    """

    def __init__(
        self, *, layers: int, width: int, heads: int, context: int, n_symbols: int = 256
    ) -> None:
        super().__init__()
        self.symbols = nn.Embedding(n_symbols, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_symbols, bias=False)
        into_sum = STD / math.sqrt(2 * layers)
        for name, module in self.named_modules():  # pyright: ignore
            if isinstance(module, nn.Linear | nn.Embedding):
                is_last = name.endswith(("from_attention", "narrow"))  # pyright: ignore
                nn.init.normal_(module.weight, std=into_sum if is_last else STD)
        for name, param in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(param)

    def forward(self, symbols: Tensor) -> Tensor:
        """Logits [batch, time, n_symbols] of whole numbers [batch, time]."""
        places = torch.arange(symbols.shape[1], device=symbols.device)
        x = self.symbols(symbols) + self.positions(places)
        return self.head(self.norm(self.blocks(x)))
