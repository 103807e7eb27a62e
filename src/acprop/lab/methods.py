"""The methods the laboratory compares, by name: the family, and three outside it.

Each takes a gradient and gives a direction; the caller moves x_t = x_{t-1} - α_t·d_t.
The family is `acprop.reference`. The others have no fine print, so no convention:

    sgd       d_t = g_t
    avagrad   d_t = m_t·e_t / √mean(e_t²)      e_t = 1/(√v_{t-1} + ε)
    adopt     d_t = β1·d_{t-1} + (1 - β1)·clip(g_t / max(√v_{t-1}, ε), ±(t - 1)^¼)

with AVAGrad's v_0 = 0 and its mean over the tensor (Savarese et al. 2019), and ADOPT's
v_1 = g_1², d_1 = 0 (Taniguchi et al. 2024); m and v are the running means
of g and g² of Section 2.1.

"acprop" is what `acprop.ACProp` is by default, "acprop-paper" is Algorithm 2;
"acprop-before" divides m_t, "acprop-after" is the running mean of Algorithm 2's u_t.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from acprop import checks
from acprop import rule as rules
from acprop.reference import Array, Settings, State, step
from acprop.rule import Convention, Rule


@dataclass(frozen=True, slots=True)
class Method:
    """rule: a cell of Table 1, or "sgd", "avagrad", "adopt".

    eps: the default of a method that has no convention.
    """

    name: str
    rule: Rule | Literal["sgd", "avagrad", "adopt"]
    amsgrad: bool = False
    eps: float | None = None

    @property
    def is_family(self) -> bool:
        """Is it a rule with conventions?"""
        return isinstance(self.rule, Rule)


METHODS = {
    m.name: m
    for m in (
        Method("acprop", rules.ACPROP),
        Method("acprop-paper", rules.ACPROP_PAPER),
        Method("adashift", rules.ADASHIFT),
        Method("adam", rules.ADAM),
        Method("rmsprop", rules.RMSPROP),
        Method("adabelief", rules.ADABELIEF),
        Method("rmsprop-centered", rules.RMSPROP_CENTERED),
        Method("acprop-before", rules.ACPROP_BEFORE),
        Method("acprop-after", rules.ACPROP_AFTER),
        Method("amsgrad", rules.ADAM, amsgrad=True),
        Method("avagrad", "avagrad", eps=0.1),
        Method("adopt", "adopt", eps=1e-6),
        Method("sgd", "sgd"),
    )
}


def method(name: str) -> Method:
    """Find a method by its name."""
    return METHODS[checks.one_of("optimizer", name, METHODS)]


def advance(
    method: Method,
    convention: Convention,
    state: State,
    g: Array,
    h: Settings,
    *,
    takes_first_step: bool = True,
) -> tuple[State, Array]:
    """Take the gradient g_t; return the new state and the direction d_t.

    takes_first_step: False makes d_t 0 while the second moment has seen nothing.
    """
    if isinstance(method.rule, Rule):
        h = h._replace(amsgrad=method.amsgrad or h.amsgrad)
        state, d = step(method.rule, convention, state, g, h)
        if not takes_first_step and state.t <= method.rule.delay:
            d = np.zeros_like(d)
            state = state._replace(M=d if method.rule.keeps_average else state.M)
        return state, d
    g = np.asarray(g, np.float64)
    if h.eps is None:
        h = h._replace(eps=method.eps)
    state = state._replace(t=state.t + 1)
    if method.rule == "sgd":
        return state, g
    return (_avagrad if method.rule == "avagrad" else _adopt)(state, g, h)


def _avagrad(state: State, g: Array, h: Settings) -> tuple[State, Array]:
    m = h.beta1 * state.m + (1 - h.beta1) * g
    e = 1 / (np.sqrt(state.s) + h.eps) + 0 * g
    d = m * e / np.sqrt(np.mean(e**2, axis=h.axis, keepdims=True))
    v = h.beta2 * state.s + (1 - h.beta2) * g**2
    return state._replace(m=m, s=v), d


def _adopt(state: State, g: Array, h: Settings) -> tuple[State, Array]:
    """Here m is the mean of the normalised gradients: the direction itself."""
    if state.t == 1:
        return state._replace(s=g**2), 0 * g
    bound = (state.t - 1) ** 0.25
    u = np.clip(g / np.maximum(np.sqrt(state.s), h.eps), -bound, bound)
    d = h.beta1 * state.m + (1 - h.beta1) * u
    v = h.beta2 * state.s + (1 - h.beta2) * g**2
    return state._replace(m=d, s=v), d
