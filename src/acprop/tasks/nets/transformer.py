"""An encoder and a decoder: the transformer of Vaswani et al. (2017) for translation.

A symbol's embedding, times √width, plus the sinusoid of its place; then layers of

    encoder   x ← x + attention(x)            to every symbol of the source
              x ← x + W₂·relu(W₁·x)
    decoder   x ← x + attention(x)            to the symbols up to it
              x ← x + attention(x, memory)    to every symbol of the source
              x ← x + W₂·relu(W₁·x)

each with a norm after the sum, or, norm_first, before what is added, and then a last
one at the end. Both languages share one vocabulary, and both embeddings and the head
one matrix, as in section 3.4 there. Embeddings are N(0, 1/width), the rest Xavier's
uniform; what is dropped: embeddings and everything that is added. 0 is padding.

While a sentence is written symbol by symbol, a `Cache` keeps the keys and values of
what has been read and written, so that a step costs one symbol.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear, relu, scaled_dot_product_attention

from acprop import checks
from acprop.checks import UserError

PAD = 0
Source = tuple[Tensor, Tensor]  # what is read, and what was written before each place


@dataclass(frozen=True, kw_only=True)
class TransformerSizes:
    """layers: of the encoder, and of the decoder. hidden: between W₁ and W₂."""

    n_symbols: int = 10_000
    layers: int = 6
    width: int = 512
    hidden: int = 1024
    heads: int = 4
    dropout: float = 0.3
    norm_first: bool = False

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise UserError(
                f"width must be a multiple of 2 × heads = {2 * self.heads}, got "
                f"{self.width}"
            )
        checks.decay("dropout", self.dropout)


class KeysValues(NamedTuple):
    """[rows, heads, time, width of a head] each."""

    keys: Tensor
    values: Tensor


@dataclass(slots=True)
class Cache:
    """What a decoder need not compute again. One entry for each layer.

    of_source never grows; of_written grows by a symbol at each step.
    mask: [rows, 1, 1, time] is true where the source has a symbol.
    """

    of_source: list[KeysValues]
    mask: Tensor
    of_written: list[KeysValues | None]
    n_written: int = 0

    def choose(self, rows: Tensor) -> None:
        """Keep these rows, in this order; one may be taken several times."""
        self.of_source = [_rows(kept, rows) for kept in self.of_source]
        self.mask = self.mask[rows]
        self.choose_written(rows)

    def choose_written(self, rows: Tensor) -> None:
        """The same where each row keeps its source: among the beams of a sentence."""
        self.of_written = [kept and _rows(kept, rows) for kept in self.of_written]


def _rows(kept: KeysValues, rows: Tensor) -> KeysValues:
    return KeysValues(kept.keys[rows], kept.values[rows])


@final
class Attention(nn.Module):
    """Several heads; what is looked at is given as keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries = nn.Linear(width, width)
        self.keys = nn.Linear(width, width)
        self.values = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, seen: KeysValues, **how: Any) -> Tensor:
        """[rows, time, width] to the same. how: mask or order, as torch takes it."""
        found = scaled_dot_product_attention(self._split(self.queries(x)), *seen, **how)
        return self.out(found.transpose(1, 2).flatten(2))

    def look(self, x: Tensor) -> KeysValues:
        """What can be looked at of [rows, time, width]."""
        return KeysValues(self._split(self.keys(x)), self._split(self.values(x)))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class _Layer(nn.Module):
    """What encoder and decoder layers share: sums, norms and the perceptron."""

    def __init__(self, sizes: TransformerSizes, n_parts: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.width) for _ in range(n_parts))
        self.attention = Attention(sizes.width, sizes.heads)
        self.widen = nn.Linear(sizes.width, sizes.hidden)
        self.narrow = nn.Linear(sizes.hidden, sizes.width)

    def before(self, i: int, x: Tensor) -> Tensor:
        """What part i works on."""
        return self.norms[i](x) if self.sizes.norm_first else x

    def after(self, i: int, x: Tensor, added: Tensor) -> Tensor:
        """The sum."""
        total = x + dropout(added, self.sizes.dropout, self.training)
        return total if self.sizes.norm_first else self.norms[i](total)

    def perceptron(self, i: int, x: Tensor) -> Tensor:
        return self.after(i, x, self.narrow(relu(self.widen(self.before(i, x)))))


@final
class EncoderLayer(_Layer):
    """Every symbol looks at every other."""

    def __init__(self, sizes: TransformerSizes) -> None:
        super().__init__(sizes, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask: where there is a symbol."""
        own = self.before(0, x)
        seen = self.attention.look(own)
        x = self.after(0, x, self.attention(own, seen, attn_mask=mask))
        return self.perceptron(1, x)


@final
class DecoderLayer(_Layer):
    """Every symbol looks at those before it, and at the source."""

    def __init__(self, sizes: TransformerSizes) -> None:
        super().__init__(sizes, 3)
        self.attention_to_source = Attention(sizes.width, sizes.heads)

    def forward(
        self, x: Tensor, of_source: KeysValues, mask: Tensor, written: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """Also the keys and values of all that is written now.

        written: those of before; then x is one symbol, else it is all of them.
        """
        own = self.before(0, x)
        now = self.attention.look(own)
        if written is not None:
            now = KeysValues(
                *(torch.cat(two, 2) for two in zip(written, now, strict=True))
            )
        x = self.after(0, x, self.attention(own, now, is_causal=written is None))
        own = self.before(1, x)
        x = self.after(1, x, self.attention_to_source(own, of_source, attn_mask=mask))
        return self.perceptron(2, x), now


@final
class Transformer(nn.Module):
    """Predicts the next symbol of a translation at every place."""

    def __init__(self, sizes: TransformerSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.symbols = nn.Embedding(sizes.n_symbols, sizes.width, padding_idx=PAD)
        layers = range(sizes.layers)
        self.encoder = nn.ModuleList(EncoderLayer(sizes) for _ in layers)
        self.decoder = nn.ModuleList(DecoderLayer(sizes) for _ in layers)
        last = nn.LayerNorm if sizes.norm_first else nn.Identity
        self.encoder_norm, self.decoder_norm = last(sizes.width), last(sizes.width)
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        for name, param in self.named_parameters():
            if param.ndim > 1:
                nn.init.xavier_uniform_(param)
            elif name.endswith("bias"):
                nn.init.zeros_(param)
        nn.init.normal_(self.symbols.weight, std=self.sizes.width**-0.5)
        self.symbols.weight[PAD].zero_()

    def forward(self, pair: Source) -> Tensor:
        """Logits [rows, time, n_symbols]: what follows each symbol of the second."""
        source, before = pair
        return self.decode(before, self.encode(source))

    def encode(self, source: Tensor) -> Cache:
        """Read [rows, time]; what the decoder will look at."""
        mask = (source != PAD)[:, None, None]
        x = self._embedded(source, 0)
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.encoder_norm(x)
        seen = [layer.attention_to_source.look(x) for layer in self._decoder()]
        return Cache(seen, mask, [None] * self.sizes.layers)

    def decode(self, symbols: Tensor, cache: Cache) -> Tensor:
        """Logits [rows, time, n_symbols]; the cache is brought up to date.

        symbols: all of them with a fresh cache, one at a time with a used one.
        """
        x = self._embedded(symbols, cache.n_written)
        for i, layer in enumerate(self._decoder()):
            x, cache.of_written[i] = layer(
                x, cache.of_source[i], cache.mask, cache.of_written[i]
            )
        cache.n_written += symbols.shape[1]
        return linear(self.decoder_norm(x), self.symbols.weight)

    def _decoder(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]

    def _embedded(self, symbols: Tensor, begin: int) -> Tensor:
        width = self.sizes.width
        x = self.symbols(symbols) * math.sqrt(width)
        x = x + sinusoids(begin, symbols.shape[1], width).to(x)
        return dropout(x, self.sizes.dropout, self.training)


def sinusoids(begin: int, n: int, width: int) -> Tensor:
    """[n, width] for the places begin, begin + 1, …: sines, then cosines.

    Place p, pair j of width/2: sin and cos of p / 10000^(j / (width/2)).
    """
    places = torch.arange(begin, begin + n)[:, None]
    slower = 10_000.0 ** (-torch.arange(width // 2) / (width // 2))
    return torch.cat([(places * slower).sin(), (places * slower).cos()], 1)
