"""The worst step after a past that taught the denominator nothing.

A hazard is what one element receives: some gradients before, a silence, then loud
gradients of size 1. Reported is the largest |d_t|, that is |step|/lr, while it is loud.
The element is met twice: as a tensor of its own ("scalar"), and as one of 1000 whose
others receive standard normal gradients throughout ("tensor").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP, Convention, Rule

Array = Any
SEED = 0
N_LOUD = 30
N_ELEMENTS = 1000
# A living tensor must be simulated step by step; after 1e4 steps 0.999^k is 5e-5.
MAX_SIMULATED_SILENCE = 10_000


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the ablation: a convention, and ideas that `acprop` does not have.

    eps: None takes the convention's own.
    clock: what k counts in 1 - β2^k and q: every "step", every step "since the first"
        nonzero gradient of the tensor, or only its "nonzero" gradients.
    rise: False makes A a mean of w² that rises as slowly as it falls.
    """

    name: str
    convention: Convention
    rule: Rule = ACPROP
    eps: float | None = None
    clip: Literal["t**0.25"] | None = None
    clock: Literal["step", "since the first", "nonzero"] = "step"
    rise: bool = True

    def hyper(self, **numbers: Any) -> Hyper:
        return Hyper(eps=self.eps, clip=self.clip, **numbers)

    def advance(self, state: State, g: Array, h: Hyper) -> tuple[State, Array]:
        """Take one step; the other clocks are for one tensor at a time."""
        if self.clock == "since the first" and not (np.any(state.n) or np.any(g)):
            return state, np.zeros_like(g)
        if self.clock == "nonzero":
            state = state._replace(t=int(np.max(state.n)))
        after, d = step(self.rule, self.convention, state, g, h)
        if not self.rise:  # A grew to w²: let it grow at the pace at which it falls
            pace = np.maximum(1 / np.maximum(after.n, 1), (1 - h.beta2) / 10)
            slow = state.A + (after.A - state.A) * pace
            after = after._replace(A=np.where(after.A > state.A, slow, after.A))
        return after, d

    def rest(self, state: State, n_zeros: int, h: Hyper) -> State:
        """What `n_zeros` steps with a zero gradient for the whole tensor leave behind.

        Σ β2^(n-i)·β1^(2i) over i = 1 … n in closed form; 1e5 steps would take long.
        """
        if self.clock == "since the first" and not np.any(state.n):
            return state
        keep, squared = h.beta2**n_zeros, h.beta1**2
        tail = squared * (keep - squared**n_zeros) / (h.beta2 - squared)
        if self.convention.residual == "previous":
            tail = tail / squared
        s = keep * state.s
        if self.rule.centered:
            s = s + (1 - h.beta2) * tail * state.m**2
        if self.convention.eps_placement == "accumulated":
            eps = self.convention.eps if self.eps is None else self.eps
            s = s + eps * (1 - keep) / (1 - h.beta2)
        return state._replace(t=state.t + n_zeros, m=h.beta1**n_zeros * state.m, s=s)


class Hazard(NamedTuple):
    """A definition to print, and what the element receives.

    beta1: a hazard of its own where it is 0.
    everywhere: the others are scaled by |g| of the element, and the worst of all
        elements counts.
    """

    definition: str
    before: Array
    n_zeros: int
    loud: Array
    beta1: float = 0.9
    everywhere: bool = False

    def tensor_stream(self) -> Iterator[tuple[bool, Array]]:
        """Whether it is loud yet, and the gradients of 1000 elements."""
        rng = np.random.default_rng(SEED)
        zeros = np.zeros(min(self.n_zeros, MAX_SIMULATED_SILENCE))
        quiet = np.concatenate([self.before, zeros])
        for t, g in enumerate(np.concatenate([quiet, self.loud])):
            row = rng.standard_normal(N_ELEMENTS) * (abs(g) if self.everywhere else 1)
            row[0] = g
            yield t >= len(quiet), row


def hazards() -> dict[str, Hazard]:
    rng = np.random.default_rng(SEED)
    none, ones = np.zeros(0), np.ones(N_LOUD)
    normal, signs = rng.standard_normal(100), rng.choice([-1.0, 1.0], size=1000)
    return {
        "zero first": Hazard("one zero, then 1", none, 1, ones),
        "silent start": Hazard("1000 zeros, then 1", none, 1000, ones),
        "silent later": Hazard(
            "100 standard normal gradients, 1e5 zeros (1e4 in a tensor), then 1",
            normal,
            100_000,
            ones,
        ),
        "β1 = 0": Hazard("β1 = 0, 1000 random signs", none, 0, signs, beta1=0.0),
        "constant": Hazard("1e4 times 1, then -1", np.ones(10_000), 0, -ones),
        "tiny": Hazard(
            "the whole tensor 1000 times of size 1e-4, then of size 1",
            1e-4 * signs,
            0,
            ones,
            everywhere=True,
        ),
        "loss × 1e8": Hazard(
            "the whole tensor of size 1e8 from the start, 1000 random signs",
            none,
            0,
            1e8 * signs,
            everywhere=True,
        ),
    }


def worst_step_scalar(variant: Variant, hazard: Hazard) -> float:
    """max |d_t| over the loud gradients of an element that is a tensor of its own."""
    h = variant.hyper(beta1=hazard.beta1, beta2=0.999)
    state, worst = State(), 0.0
    for g in hazard.before:
        state, _ = variant.advance(state, np.array([g]), h)
    if hazard.n_zeros:
        state = variant.rest(state, hazard.n_zeros, h)
    for g in hazard.loud:
        state, d = variant.advance(state, np.array([g]), h)
        worst = max(worst, float(np.abs(d[0])))
    return worst


def worst_step_tensor(variant: Variant, hazard: Hazard) -> float:
    """max |d_t| over the loud gradients of an element among 1000."""
    if not (variant.convention.is_guarded or hazard.everywhere):
        # No memory is shared: an element does not know that it has neighbours.
        return worst_step_scalar(variant, hazard)
    h = variant.hyper(beta1=hazard.beta1, beta2=0.999)
    state, worst = State(), 0.0
    for loud, g in hazard.tensor_stream():
        state, d = variant.advance(state, g, h)
        if loud:
            worst = max(worst, float(np.max(np.abs(d if hazard.everywhere else d[0]))))
    return worst
