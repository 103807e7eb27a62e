"""Self-attention over the pixels of a map (Zhang et al. 2019, section 3).

    q, k, v = W_q·x, W_k·x, W_v·x            1×1 kernels to n/8, n/8 and n/2 channels
    y_i = x_i + γ·W_o·Σ_j softmax_j(q_i·k_j)·v_j

γ begins at 0: the layer begins as nothing. Keys and values are pooled to a quarter of
the pixels, as in the authors' code.
"""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d


@final
class SelfAttention(nn.Module):
    """Every pixel looks at all others."""

    def __init__(self, n: int) -> None:
        super().__init__()
        inner, half = max(1, n // 8), max(1, n // 2)
        self.queries = nn.Conv2d(n, inner, 1, bias=False)
        self.keys = nn.Conv2d(n, inner, 1, bias=False)
        self.values = nn.Conv2d(n, half, 1, bias=False)
        self.out = nn.Conv2d(half, n, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        queries = self.queries(x).flatten(2)
        keys = max_pool2d(self.keys(x), 2).flatten(2)
        values = max_pool2d(self.values(x), 2).flatten(2)
        weights = torch.softmax(queries.transpose(1, 2) @ keys, dim=2)
        seen = values @ weights.transpose(1, 2)
        height, width = x.shape[2:]
        return x + self.gamma * self.out(seen.view(len(x), -1, height, width))
