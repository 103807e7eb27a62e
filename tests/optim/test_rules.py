"""Every rule that can be said, through every kernel, beside the reference."""

from itertools import product

import numpy as np
import pytest
import torch

from acprop import rule
from acprop.optim.base import FamilyOptimizer
from acprop.reference import Settings, State, step
from acprop.rule import AVERAGES, CENTERS, Rule

KERNELS = {
    "loop": {"foreach": False},
    "foreach": {"foreach": True},
    "native": {},
    "loop, capturable": {"foreach": False, "capturable": True},
    "foreach, capturable": {"foreach": True, "capturable": True},
}
# Of x, m, s and M, relative to max(1, |value|).
TOLERANCE = {torch.float64: 1e-13, torch.float32: 4e-6}


def is_a_rule(*fields) -> bool:
    try:
        Rule(*fields)
    except ValueError:
        return False
    return True


RULES = [
    Rule(*fields)
    for fields in product(
        AVERAGES, CENTERS, (0, 1, 3), (False, True), (None, "max", "mean")
    )
    if is_a_rule(*fields)
]


def test_every_combination_is_there():
    """3 averages, 2 of which may look ahead, on 2 centers; on the average for one."""
    assert len(RULES) == (3 * (1 + 2 + 2) * 2 + 2) * 3
    assert {rule.ACPROP, rule.ACPROP_PAPER, rule.ADAM} <= set(RULES)


def in_words(method: Rule) -> str:
    ahead = "ahead" if method.nesterov else "not ahead"
    return (
        f"{method.average}, on {method.center}, delay {method.delay}, {ahead}, "
        f"{method.reduction}"
    )


def gradients() -> np.ndarray:
    """A mean worth subtracting, an element that is silent at first, and a spike."""
    gs = np.random.default_rng(0).normal(size=(10, 5)).astype(np.float32) + 0.5
    gs[:4, 1] = 0
    gs[6, 2] *= 64
    return gs.astype(np.float64)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", RULES, ids=in_words)
def test_every_rule_follows_the_reference_in_every_kernel(method, kernel):
    """Under conventions in turn, so that each meets every value of every field."""
    place = RULES.index(method) + list(KERNELS).index(kernel)
    convention = list(rule.CONVENTIONS.values())[place % len(rule.CONVENTIONS)]
    options = {
        "betas": (0.8, 0.95),
        "eps": 0.03,
        "amsgrad": place % 5 == 0,
        "lr": 0.05,
        "convention": convention,
        "decoupled_weight_decay": True,
        "weight_decay": 0.1,
        "average": method.average,
        "center": method.center,
        "delay": method.delay,
        "nesterov": method.nesterov,
        "reduction": method.reduction,
        **KERNELS[kernel],
    }
    h = Settings(*options["betas"], options["eps"], options["amsgrad"])
    for dtype, tolerance in TOLERANCE.items():
        x, state = np.linspace(-1, 1, 5), State()
        param = torch.tensor(x, dtype=dtype, requires_grad=True)
        opt = FamilyOptimizer([param], **options)
        for g in gradients():
            param.grad = torch.tensor(g, dtype=dtype)
            opt.step()
            state, d = step(method, convention, state, g, h)
            x = x * (1 - 0.05 * 0.1) - 0.05 * d
        kept = {"exp_avg": "m", "exp_avg_sq": "s", "momentum_buffer": "M"}
        pairs = {"x": (param.detach(), x)} | {
            name: (opt.state[param][name], getattr(state, letter))
            for name, letter in kept.items()
            if name in opt.state[param]
        }
        for name, (ours, theirs) in pairs.items():
            theirs = np.asarray(theirs).reshape(ours.shape)
            gap = np.abs(ours.double().numpy() - theirs) / np.maximum(1, np.abs(theirs))
            assert gap.max() <= tolerance, name
