"""A few rows of a large table in which every pair of values still occurs.

Most faults need one value of one option, or two of two options at once; few need
more (Kuhn, Wallace & Gallo 2004). A table of all combinations asks the same
question many times over.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

Row = TypeVar("Row")


def pairwise(
    rows: Sequence[Row], values: Callable[[Row], Mapping[Hashable, Hashable]]
) -> list[Row]:
    """Choose greedily: the row with most pairs that are still missing, then the next.

    Only pairs that some row has are asked for, so what does not go together stays out.
    The choice depends on the rows and their order alone. The values of all rows have
    the same names in the same order.
    """
    numbers: dict[tuple[object, object], int] = {}
    masks = [  # a row's pairs as the bits of a number: fast to count
        sum(
            1 << numbers.setdefault(pair, len(numbers))
            for pair in combinations(values(row).items(), 2)
        )
        for row in rows
    ]
    missing = (1 << len(numbers)) - 1
    kept: set[int] = set()
    while missing:
        gains = [(mask & missing).bit_count() for mask in masks]
        best = gains.index(max(gains))
        kept.add(best)
        missing &= ~masks[best]
    return [rows[i] for i in sorted(kept)]
