"""Write a translation: the most probable next symbol, or several sentences at once.

A beam keeps the `beam` best sentences that have not ended. At every step each may end
or grow; those that end compete by

    score = log p(sentence) / length           its end counts

and a source is done when no open sentence could still win: log p only falls, so the
best that an open one can reach is log p / limit. A sentence that is
`limit` symbols long must end. With a beam as wide as there are sentences the best one
is found, which a test compares with trying them all.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from acprop.tasks.nets.transformer import PAD, Cache, Transformer

BEGIN, END = 1, 2


class Found(NamedTuple):
    """symbols: without begin and end."""

    symbols: list[int]
    score: float


@torch.no_grad()
def translate(net: Transformer, source: Tensor, *, beam: int = 1) -> list[Found]:
    """The best translation of each row of [rows, time]. beam: 1 is greedy."""
    cache = net.encode(source)
    return _greedy(net, cache) if beam == 1 else _Beam(net, cache, beam).go()


def limits(mask: Tensor) -> Tensor:
    """The most symbols of each translation: 1.5 for each of the source's, and 10."""
    return (1.5 * mask.flatten(1).sum(1)).long() + 10


def _log_probabilities(net: Transformer, last: Tensor, cache: Cache) -> Tensor:
    """[rows, n_symbols]; padding and a second begin cannot be written."""
    logits = net.decode(last[:, None], cache)[:, -1].double()  # sums are long
    logits[:, [PAD, BEGIN]] = float("-inf")
    return log_softmax(logits, 1)


def _greedy(net: Transformer, cache: Cache) -> list[Found]:
    most = limits(cache.mask)
    rows = torch.arange(len(most), device=most.device)  # those that have not ended
    last = torch.full_like(rows, BEGIN)
    total = torch.zeros(len(rows), dtype=torch.float64, device=most.device)
    written: list[list[int]] = [[] for _ in rows]
    for time in range(1, int(most.max()) + 1):
        log_p = _log_probabilities(net, last, cache)
        last = log_p.argmax(1).masked_fill(most[rows] == time, END)
        total[rows] += log_p.gather(1, last[:, None])[:, 0]
        # As numbers at once: int(…) of each would be a call to torch.
        places: list[int] = rows.tolist()  # pyright: ignore
        symbols: list[int] = last.tolist()  # pyright: ignore
        for row, symbol in zip(places, symbols, strict=True):
            written[row].append(symbol)
        is_open = last != END
        if not is_open.any():
            break
        if not is_open.all():
            rows, last = rows[is_open], last[is_open]
            cache.choose(is_open.nonzero()[:, 0])
    return [
        Found(symbols[:-1], float(p) / len(symbols))
        for symbols, p in zip(written, total, strict=True)
    ]


class _Beam:
    """Rows of the network are the open sentences of the sources not done yet."""

    def __init__(self, net: Transformer, cache: Cache, beam: int) -> None:
        self.net, self.cache = net, cache
        self.limits = limits(cache.mask)
        n, device = len(self.limits), self.limits.device
        self.sources = torch.arange(n, device=device)  # not done yet
        self.best = [Found([], float("-inf"))] * n
        cache.choose(self.sources.repeat_interleave(beam))
        # All beams of a source begin alike: only the first may grow.
        start = torch.tensor([0.0] + [float("-inf")] * (beam - 1), dtype=torch.float64)
        self.total = start.to(device).repeat(n, 1)
        self.written = torch.full((n, beam, 1), BEGIN, device=device)

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
        scores = (total / time).max(1)
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
        rows = torch.arange(n, device=log_p.device)[:, None]
        self.cache.choose_written((rows * beam + parents).flatten())
        kept = self.written[rows, parents]
        self.written = torch.cat([kept, symbols[:, :, None]], 2)

    def _drop_done(self, time: int) -> None:
        limits = self.limits[self.sources]
        hope = self.total[:, 0] / limits
        best = [self.best[int(source)].score for source in self.sources]
        is_open = (hope > torch.tensor(best, device=hope.device)) & (limits > time)
        if is_open.all():
            return
        self.sources, self.total = self.sources[is_open], self.total[is_open]
        self.written = self.written[is_open]
        beams = is_open.repeat_interleave(self.written.shape[1])
        self.cache.choose(beams.nonzero()[:, 0])
