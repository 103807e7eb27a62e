"""Pairs of sentences as symbols, in batches of so many symbols.

Rows of a batch are about equally long, so that little of it is padding. The batches are
made once, from the lengths alone; their order is drawn for every epoch.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from acprop.checks import UserError
from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END

Rows = list[int]
Symbols = list[list[int]]


@final
class CorpusPart:
    """One part of a corpus: as text, as symbols, and in batches.

    read, written: as symbols; each sentence ends with END.
    batches: rows of each; rows × its longest sentence ≤ tokens, as in fairseq.
    """

    def __init__(
        self,
        texts: Sequence[tuple[str, str]],
        encode: Callable[[Sequence[str]], Symbols],
        tokens: int,
    ) -> None:
        self.texts = texts
        self.sources, self.references = map(list, zip(*texts, strict=True))
        self.read, self.written = encode(self.sources), encode(self.references)
        self.batches = list(self._cut(tokens))

    def _cut(self, tokens: int) -> Iterator[Rows]:
        """From short to long; cut where one more row would be too much."""
        sizes = list(zip(map(len, self.read), map(len, self.written), strict=True))
        longest = max(map(max, sizes))
        if longest > tokens:
            raise UserError(
                f"tokens must be {longest} or more, the symbols of the longest "
                f"sentence, got {tokens}"
            )
        batch: Rows = []
        for i in sorted(range(len(sizes)), key=lambda i: (max(sizes[i]), sizes[i][1])):
            if (len(batch) + 1) * max(sizes[i]) > tokens:
                yield batch
                batch = []
            batch.append(i)
        yield batch

    def lesson(self, rows: Rows) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """What is read, what was written before each place, and what follows it.

        [rows, time] each, padded. No rows: one that teaches nothing.
        """
        if not rows:
            one = torch.tensor([[END]]), torch.tensor([[BEGIN]])
            return one, torch.tensor([[PAD]])
        written = [self.written[i] for i in rows]
        before = padded([[BEGIN, *symbols[:-1]] for symbols in written])
        return (self.source(rows), before), padded(written)

    def source(self, rows: Rows) -> Tensor:
        """[rows, time], what is read."""
        return padded([self.read[i] for i in rows])


def padded(rows: Symbols) -> Tensor:
    """[rows, time], the shorter ones filled up."""
    return pad_sequence([torch.tensor(row) for row in rows], True, PAD)
