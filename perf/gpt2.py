"""Networks with the shapes of GPT-2 (Radford et al. 2019), in the memory they need."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

# Width, layers, heads.
SIZES = {
    "tiny": (64, 2, 2),
    "GPT-2": (768, 12, 12),
    "GPT-2 XL": (1600, 48, 25),
}
VOCABULARY, CONTEXT = 50257, 1024


class Block(nn.Module):
    """Attention and a perceptron, each behind a norm and beside a way around."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (
            p.view(batch, length, self.n_heads, -1).transpose(1, 2) for p in parts
        )
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(gelu(self.up(self.norm2(x))))


class GPT2(nn.Module):
    """Tokens in, the mean loss of the next ones out; input and output share weights."""

    def __init__(self, width: int, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        given, wanted = tokens[:, :-1], tokens[:, 1:]
        x = self.tokens(given) + self.places.weight[: given.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())


def make(size: str, dtype: torch.dtype) -> GPT2:
    """A network with weights of GPT-2's deviations, in no other type than this."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device("meta"):
            model = GPT2(*SIZES[size])
    finally:
        torch.set_default_dtype(before)
    model.to_empty(device="cpu")
    n_layers = len(model.blocks)
    with torch.no_grad():
        for name, param in model.named_parameters():
            if param.ndim < 2:
                param.fill_(float("norm" in name and name.endswith("weight")))
            else:
                ends_a_way = name.endswith(("out.weight", "down.weight"))
                param.normal_(0, 0.02 / (2 * n_layers) ** 0.5 if ends_a_way else 0.02)
    return model
