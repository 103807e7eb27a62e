"""Pairs of sentences as symbols, in batches of so many symbols.

Rows of a batch are about equally long, so that little of it is padding. The batches are
made once, from the lengths alone; their order is drawn for every epoch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from acprop.checks import UserError
from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END

Rows = list[int]


class Sentences(NamedTuple):
    """What is read and what is written, as symbols; each ends with END."""

    read: list[list[int]]
    written: list[list[int]]

    def length(self, i: int) -> int:
        """Of a pair: the longer one's."""
        return max(len(self.read[i]), len(self.written[i]))

    def batches(self, tokens: int) -> list[Rows]:
        """Rows of each batch: rows × its longest sentence ≤ tokens.

        So fairseq counts them too.
        """
        longest = max(map(self.length, range(len(self.read))))
        if longest > tokens:
            raise UserError(
                f"tokens must be {longest} or more, the symbols of the longest "
                f"sentence, got {tokens}"
            )
        order = sorted(range(len(self.read)), key=self._key)
        return list(_cut(order, [self.length(i) for i in order], tokens))

    def _key(self, i: int) -> tuple[int, int, int]:
        return self.length(i), len(self.written[i]), i


def _cut(order: Rows, lengths: Sequence[int], tokens: int) -> Iterator[Rows]:
    """Cut where one more row would be too much; lengths ascend."""
    batch: Rows = []
    for i, length in zip(order, lengths, strict=True):
        if (len(batch) + 1) * length > tokens:
            yield batch
            batch = []
        batch.append(i)
    yield batch


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a corpus: as text, as symbols, and in batches."""

    texts: list[tuple[str, str]]
    sentences: Sentences
    batches: list[Rows]

    @property
    def references(self) -> list[str]:
        """What should be written."""
        return [target for _, target in self.texts]


class Lesson(NamedTuple):
    """read; before: what was written before each place of `after`."""

    read: Tensor
    before: Tensor
    after: Tensor


def lesson(sentences: Sentences, rows: Rows) -> Lesson:
    """[rows, time] each, padded. No rows: one that teaches nothing."""
    if not rows:
        return Lesson(
            torch.tensor([[END]]), torch.tensor([[BEGIN]]), torch.tensor([[PAD]])
        )
    written = [sentences.written[i] for i in rows]
    return Lesson(
        padded([sentences.read[i] for i in rows]),
        padded([[BEGIN, *symbols[:-1]] for symbols in written]),
        padded(written),
    )


def padded(rows: Sequence[list[int]]) -> Tensor:
    """[rows, time], the shorter ones filled up."""
    return pad_sequence([torch.tensor(row) for row in rows], True, PAD)
