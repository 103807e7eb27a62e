"""A Q-network: what is seen → the value of every action.

A perceptron with rectified layers. An observation that is one of n values enters as a
row of n zeros with a one; an array enters flat. The weights are torch's own: values
begin near zero, where He's rule for a classifier would begin them near ±1.
"""

import math
from itertools import pairwise
from typing import final

from torch import Tensor, nn
from torch.nn.functional import one_hot


@final
class QNet(nn.Module):
    """n_values: how many different observations there are; None if they are arrays."""

    def __init__(
        self,
        n_values: int | None,
        shape: tuple[int, ...],
        n_actions: int,
        *,
        layers: int,
        width: int,
    ) -> None:
        super().__init__()
        self.n_values = n_values
        sizes = [n_values or math.prod(shape), *[width] * layers]
        parts: list[nn.Module] = []
        for before, after in pairwise(sizes):
            parts += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*parts, nn.Linear(sizes[-1], n_actions))

    def forward(self, seen: Tensor) -> Tensor:
        if self.n_values is not None:
            return self.layers(one_hot(seen, self.n_values).float())
        return self.layers(seen.float().flatten(1))
