"""The family for JAX, as optax gradient transformations.

    tx = optax_port.acprop(learning_rate=1e-3)
    state = tx.init(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)

All of it may be jitted, mapped over, sharded, masked and put in a chain.
"""

from acprop.optax_port.optimizers import acprop, adabelief, adam, adashift, rmsprop
from acprop.optax_port.transform import ScaleByRuleState, scale_by_rule

__all__ = [
    "ScaleByRuleState",
    "acprop",
    "adabelief",
    "adam",
    "adashift",
    "rmsprop",
    "scale_by_rule",
]
