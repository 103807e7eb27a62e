"""The initial weights: one rule for every network (He et al. 2015, eq. 10).

    weights     N(0, 2/fan_in)     a rectifier follows, or follows after a BatchNorm
    classifier  N(0, 1/fan_in)     no rectifier follows the last layer
    biases      0
    BatchNorm   scale 1, shift 0

The residual, dense and wide networks' papers all cite this rule. VGG's own, a normal of
variance 1e-2, multiplies the signal about fivefold in a layer of 512 channels; He et
al. derived theirs for networks of that kind, so VGG has it too. Of the two fans we take
the one that keeps the forward signal, which VGG without BatchNorm needs.

Every number comes from torch's global generator and from nothing else: who seeds it
has the weights.
"""

from torch import nn


def initialise(net: nn.Module, *, classifier: nn.Linear) -> None:
    """Draw every weight of `net` anew, in the order of its modules."""
    for module in net.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            follows = "linear" if module is classifier else "relu"
            nn.init.kaiming_normal_(module.weight, nonlinearity=follows)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
