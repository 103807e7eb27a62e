"""The family as torch optimizers."""

from acprop.optim.checkpoints import to_adamw
from acprop.optim.constraints import Box
from acprop.optim.create import create
from acprop.optim.groups import param_groups
from acprop.optim.optimizers import ACProp, AdaBelief, Adam, AdaShift, RMSprop
from acprop.optim.release import release_gradients
from acprop.optim.together import Together, split_matrices

__all__ = [
    "ACProp",
    "AdaBelief",
    "AdaShift",
    "Adam",
    "Box",
    "RMSprop",
    "Together",
    "create",
    "param_groups",
    "release_gradients",
    "split_matrices",
    "to_adamw",
]
