"""Write a translation: the most probable next symbol, or several sentences at once.

A beam keeps the `beam` best sentences that have not ended. At every step each may end
or grow; those that end compete by

    score = log p(sentence) / length^length_penalty           its end counts

and a source is done when no open sentence could still win: log p only falls, so the
best that an open one can reach is log p / limit^length_penalty. A sentence that is
`limit` symbols long must end. With a beam as wide as there are sentences the best one
is found, which a test compares with trying them all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from acprop import checks
from acprop.tasks.nets.transformer import PAD, Cache, Transformer

BEGIN, END = 1, 2


@dataclass(frozen=True, slots=True)
class Search:
    """beam: 1 is greedy. longest: so many symbols for each of the source's, and 10."""

    beam: int = 1
    length_penalty: float = 1.0
    longest: float = 1.5

    def __post_init__(self) -> None:
        checks.integer("beam", self.beam)
        checks.not_negative("length_penalty", self.length_penalty)
        checks.positive("longest", self.longest)

    def limits(self, mask: Tensor) -> Tensor:
        """The most symbols of each translation, its end included."""
        return (self.longest * mask.flatten(1).sum(1)).long() + 10


class Found(NamedTuple):
    """symbols: without begin and end."""

    symbols: list[int]
    score: float


@torch.no_grad()
def translate(net: Transformer, source: Tensor, search: Search) -> list[Found]:
    """The best translation of each row of [rows, time]."""
    cache = net.encode(source)
    if search.beam == 1:
        return _greedy(net, cache, search)
    return _Beam(net, cache, search).go()


def _log_probabilities(net: Transformer, last: Tensor, cache: Cache) -> Tensor:
    """[rows, n_symbols]; padding and a second begin cannot be written."""
    logits = net.decode(last[:, None], cache)[:, -1].double()  # sums are long
    logits[:, [PAD, BEGIN]] = float("-inf")
    return log_softmax(logits, 1)


def _greedy(net: Transformer, cache: Cache, search: Search) -> list[Found]:
    limits = search.limits(cache.mask)
    rows = torch.arange(len(limits), device=limits.device)  # those that have not ended
    last = torch.full_like(rows, BEGIN)
    total = torch.zeros(len(rows), dtype=torch.float64, device=limits.device)
    written: list[list[int]] = [[] for _ in rows]
    for time in range(1, int(limits.max()) + 1):
        log_p = _log_probabilities(net, last, cache)
        last = log_p.argmax(1).masked_fill(limits[rows] == time, END)
        total[rows] += log_p.gather(1, last[:, None])[:, 0]
        for row, symbol in zip(rows, last, strict=True):
            written[int(row)].append(int(symbol))
        is_open = last != END
        if not is_open.any():
            break
        if not is_open.all():
            rows, last = rows[is_open], last[is_open]
            cache.choose(is_open.nonzero()[:, 0])
    return [
        Found(symbols[:-1], float(p) / len(symbols) ** search.length_penalty)
        for symbols, p in zip(written, total, strict=True)
    ]


class _Beam:
    """Rows of the network are the open sentences of the sources not done yet."""

    def __init__(self, net: Transformer, cache: Cache, search: Search) -> None:
        self.net, self.cache, self.search = net, cache, search
        self.limits = search.limits(cache.mask)
        n, device = len(self.limits), self.limits.device
        self.sources = torch.arange(n, device=device)  # not done yet
        self.best = [Found([], float("-inf"))] * n
        cache.choose(self.sources.repeat_interleave(search.beam))
        # All beams of a source begin alike: only the first may grow.
        self.total = torch.full(
            (n, search.beam), float("-inf"), dtype=torch.float64, device=device
        )
        self.total[:, 0] = 0
        self.written = torch.full(
            (n, search.beam, 1), BEGIN, dtype=torch.long, device=device
        )

    def go(self) -> list[Found]:
        for time in range(1, int(self.limits.max()) + 1):
            last = self.written[:, :, -1].flatten()
            log_p = _log_probabilities(self.net, last, self.cache)
            log_p = log_p.view(*self.total.shape, -1) + self.total[:, :, None]
            self._end(log_p[:, :, END], time)
            log_p[:, :, END] = float("-inf")
            self._grow(log_p)
            self._drop_done(time)
            if not len(self.sources):
                break
        return self.best

    def _end(self, total: Tensor, time: int) -> None:
        """Sentences that end here: is one the best so far?"""
        scores = (total / time**self.search.length_penalty).max(1)
        chosen = zip(scores.values, scores.indices, strict=True)
        for i, (score, beam) in enumerate(chosen):
            source = int(self.sources[i])
            if score > self.best[source].score:
                symbols = [int(symbol) for symbol in self.written[i, int(beam), 1:]]
                self.best[source] = Found(symbols, float(score))

    def _grow(self, log_p: Tensor) -> None:
        """The best of all sentences with one more symbol stay."""
        n, beam, n_symbols = log_p.shape
        top = log_p.flatten(1).topk(beam, 1)
        self.total = top.values
        parents, symbols = top.indices // n_symbols, top.indices % n_symbols
        begins = torch.arange(n, device=log_p.device)[:, None] * beam
        self.cache.choose_written((begins + parents).flatten())
        kept = self.written.gather(
            1, parents[:, :, None].expand(-1, -1, self.written.shape[2])
        )
        self.written = torch.cat([kept, symbols[:, :, None]], 2)

    def _drop_done(self, time: int) -> None:
        limits = self.limits[self.sources]
        hope = self.total[:, 0] / limits**self.search.length_penalty
        best = [self.best[int(source)].score for source in self.sources]
        is_open = (hope > torch.tensor(best, device=hope.device)) & (limits > time)
        if is_open.all():
            return
        kept = is_open.nonzero()[:, 0]
        self.sources, self.total = self.sources[kept], self.total[kept]
        self.written = self.written[kept]
        beams = torch.arange(self.search.beam, device=kept.device)
        self.cache.choose((kept[:, None] * self.search.beam + beams).flatten())
