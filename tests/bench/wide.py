"""Training in float64, for pairs of runs that add the same numbers in another order.

How much their sums differ depends on the CPU. It hardly grows in 20 steps, unless it
carries the input of a ReLU across zero: then the whole gradient of a unit is at stake.
In float32 one input in 10⁷ is that close to zero, and 20 steps see 10⁶ of them; float64
rounds 10⁹ times finer.
"""

import torch

ROUNDED = 1e-12


class Wide:
    """Stands between a session and its feed: the images in float64."""

    def __init__(self, feed):
        self.feed = feed

    def __getattr__(self, name):
        return getattr(self.feed, name)

    def training(self, rows, draw, *, part):
        x, y = self.feed.training(rows, draw, part=part)
        return x.double(), y

    def evaluation_rows(self, part, rows):
        x, y = self.feed.evaluation_rows(part, rows)
        return x.double(), y


def begin_wide(task, optimizer, seed=0):
    """A session whose weights are float64 from the beginning: DDP keeps their kind."""
    torch.set_default_dtype(torch.float64)
    try:
        session = task.begin(seed, optimizer)
    finally:
        torch.set_default_dtype(torch.float32)
    session.feed = Wide(session.feed)
    return session
