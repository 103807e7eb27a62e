"""A perceptron with two layers: image → 512 rectified units → classes.

The paper names it "2-layer MLP" (Fig. 6) and gives no hidden size; 512 is our choice.
"""

import math
from typing import final

from torch import Tensor, nn

from acprop.tasks.nets.initial import initialise
from acprop.tasks.nets.plan import Plan

HIDDEN = 512


@final
class MLP(nn.Module):
    """Pixels in a row, one hidden layer, logits."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        hidden = plan.channels(HIDDEN)
        self.hidden = nn.Linear(math.prod(plan.image), hidden)
        self.classifier = nn.Linear(hidden, plan.n_classes)
        initialise(self, classifier=self.classifier)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.hidden(images.flatten(1)).relu_())
