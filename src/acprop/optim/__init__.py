"""The family as torch optimizers."""

from acprop.optim.constraints import Ball, Box
from acprop.optim.create import create
from acprop.optim.groups import param_groups
from acprop.optim.optimizers import ACProp, AdaBelief, Adam, AdaShift, RMSprop
from acprop.optim.release import release_gradients
from acprop.optim.switch import to_adamw

__all__ = [
    "ACProp",
    "AdaBelief",
    "AdaShift",
    "Adam",
    "Ball",
    "Box",
    "RMSprop",
    "create",
    "param_groups",
    "release_gradients",
    "to_adamw",
]
