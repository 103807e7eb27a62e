"""A budget, spent by halving: all trials for a while, the better half for longer.

A ladder has rungs. On each, equally many trials of every optimizer train to the same
epoch; the better half climbs on, and what is left at the top has trained to the end.
A trial that stays behind keeps its checkpoint. Its schedule was that of the whole
length all along, so who climbs on would have come to the same bits without a pause.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Rung:
    """epochs: trained by then. trials: of each optimizer."""

    epochs: int
    trials: int


Ladder = tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one trial of every optimizer: to begin or go on, and for an epoch."""

    start: float
    epoch: float

    def seconds(self, ladder: Ladder) -> float:
        """What all trials of a ladder take."""
        starts = sum(rung.trials for rung in ladder)
        return starts * self.start + epochs_of(ladder) * self.epoch


def seconds_in(text: str) -> float:
    """30min as 1800 seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text.strip())
    if found is None or not float(found[1]) > 0:
        raise ValueError(f"budget must be a time like 90s, 30min or 2h, got {text!r}")
    return float(found[1]) * _UNITS[found[2]]


def ladders(n_trials: int, epochs: int) -> Iterator[Ladder]:
    """From the most generous to the cheapest; the first has no halving at all."""
    n = n_trials
    while n:
        for halvings in range(min(n.bit_length(), epochs.bit_length())):
            yield tuple(
                Rung(max(1, epochs >> (halvings - k)), n >> k)
                for k in range(halvings + 1)
            )
        n //= 2


def epochs_of(ladder: Ladder) -> int:
    """How many epochs all trials of one optimizer train together."""
    before = (0, *(rung.epochs for rung in ladder))
    return sum(
        rung.trials * (rung.epochs - b) for rung, b in zip(ladder, before, strict=False)
    )


def fit(n_trials: int, epochs: int, pace: Pace, budget: float) -> Ladder:
    """The most generous ladder whose trials take no more than the budget.

    budget: seconds that are left for the search; below the cheapest is an error.
    """
    cheapest = math.inf
    for ladder in ladders(n_trials, epochs):
        cost = pace.seconds(ladder)
        if cost <= budget:
            return ladder
        cheapest = min(cheapest, cost)
    raise ValueError(
        f"budget must leave {cheapest:.0f} s for one trial of each optimizer, besides "
        f"the final runs, got {max(0.0, budget):.0f} s; give more, or fewer seeds"
    )


def left_out(
    ladder: Ladder, n_trials: int, epochs: int, n_optimizers: int
) -> list[str]:
    """What a budget costs, in words."""
    words: list[str] = []
    if ladder[0].trials < n_trials:
        words.append(
            f"{n_trials - ladder[0].trials} of {n_trials} trials of each of "
            f"{n_optimizers} optimizers were not begun"
        )
    after = [*ladder[1:], None]
    for rung, above in zip(ladder, after, strict=True):
        stopped = 0 if above is None else rung.trials - above.trials
        if stopped:
            words.append(
                f"{stopped} of {n_trials} trials of each optimizer were stopped after "
                f"epoch {rung.epochs} of {epochs}"
            )
    return words
