"""The roads not taken: what else could bound a step, trained on real tasks.

    den_t = √((s_{t-1} + p·A)/(1 - β2^k + p) + κ²·A) + 1e-30       p = (1 - β2)·n0·β2^k
    u_t   = clip(n_t / den_t, ±c_t)                                k = t - 1

with A and B, the squared scale and the largest element of a tensor's past gradients.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from acprop.bench.run import run
from acprop.bench.store import RunFolder
from acprop.bench.studies import Study
from acprop.bench.tasks import prepare

BETA1, BETA2 = 0.9, 0.999
SCALE, SEED = "search", 0


@dataclass(frozen=True, slots=True)
class Road:
    """What bounds the step.

    kappa: a floor κ²·A under s.
    n0: so many pseudo-observations of size A stand in for s at the start.
    clamp: g counts at most clamp·B.
    stands_still: does nothing move before a tensor's first gradient has been seen?
    clip: bound on |u| at step t.
    mean: "" divides g; "m" its running mean; "M" takes a momentum of u, centered on the
        paper's m; "M, own" the same, centered on √ŝ·M, which needs no m.
    """

    kappa: float = 0.0
    n0: float = 0.0
    clamp: float = math.inf
    stands_still: bool = False
    clip: Callable[[int], float] = lambda _: math.inf
    mean: Literal["", "m", "M", "M, own"] = ""


def growing(t: int) -> float:
    """The bound of the guarded convention."""
    return t**0.25


ROADS = {
    "guarded, numerator g": Road(clip=growing),
    "guarded, numerator m": Road(clip=growing, mean="m"),
    "guarded, momentum of u": Road(clip=growing, mean="M"),
    "guarded, momentum of u, centered on √ŝ·M": Road(clip=growing, mean="M, own"),
    "the first edition: floor, prior, clamp": Road(0.1, 2.0, 2.0, stands_still=True),
    "floor κ = 0.1, clip t^¼": Road(0.1, clip=growing),
    "floor κ = 0.01, clip t^¼": Road(0.01, clip=growing),
    "clip 1": Road(clip=lambda _: 1.0),
    "clip 10": Road(clip=lambda _: 10.0),
    "stand still first, clip t^¼": Road(stands_still=True, clip=growing),
}


class RoadOptimizer(torch.optim.Optimizer):
    """One road, tensor by tensor: to be read, not to be fast, and never resumed."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, weight_decay: float, road: Road
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.road, self.t = road, 0

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Move every parameter that has a gradient."""
        del closure
        self.t += 1
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.sub_(self._direction(p, p.grad), alpha=group["lr"])

    def _direction(self, p: Tensor, g: Tensor) -> Tensor:
        road, t, state = self.road, self.t, self.state[p]
        if not state:
            state.update({k: torch.zeros_like(p) for k in ("m", "s", "M")})
            state.update(n=0, A=0.0, B=0.0)
        if state["n"] > 0:
            g = g.clamp(-road.clamp * state["B"], road.clamp * state["B"])
        den = self._denominator(state)
        m = BETA1 * state["m"] + (1 - BETA1) * g
        bound = road.clip(t)
        numerator = m / (1 - BETA1**t) if road.mean == "m" else g
        u = (numerator / den).clamp(-bound, bound)
        if road.stands_still and state["n"] == 0:
            u = torch.zeros_like(u)
        state["M"] = BETA1 * state["M"] + (1 - BETA1) * u
        expected = den * state["M"] if road.mean == "M, own" and t > 1 else m
        state["s"] = BETA2 * state["s"] + (1 - BETA2) * (g - expected) ** 2
        state["m"] = m
        self._measure(state, g)
        return state["M"] if road.mean.startswith("M") else u

    def _denominator(self, state: dict[str, Any]) -> Tensor:
        k, A = self.t - 1, state["A"]
        prior = (1 - BETA2) * self.road.n0 * BETA2**k
        total = 1 - BETA2**k + prior
        radicand = (state["s"] + prior * A) / (total or 1.0) + self.road.kappa**2 * A
        return radicand.sqrt() + 1e-30

    def _measure(self, state: dict[str, Any], g: Tensor) -> None:
        """Update A and B, unless the gradient is 0 or not finite."""
        size = g.abs()
        w = float((g * g).sum() / size.sum().clamp(min=1e-45))
        if not (0 < w < math.inf):
            return
        state["n"] += 1
        pace = max(1 / state["n"], (1 - BETA2) / 10)
        state["A"] = max(w * w, state["A"] + (w * w - state["A"]) * pace)
        state["B"] = max(state["B"], float(size.max()))


@dataclass(frozen=True, slots=True)
class Factory:
    """What a task asks for: something that makes its network's optimizer."""

    lr: float
    weight_decay: float
    road: Road
    needs_graph: bool = False

    def __call__(self, module: nn.Module, /) -> RoadOptimizer:
        return RoadOptimizer(module.parameters(), self.lr, self.weight_decay, self.road)


def train(study: Study, make: Factory, folder: Path) -> dict[str, float]:
    """One run of a study at its search scale; its metrics after the last step.

    A run that diverges has NaN for all of them.
    """
    spec = study.spec(SCALE, "sgd", {"lr": make.lr}, SEED)
    kept = RunFolder(folder)
    status = run(spec, kept, prepare(spec).task, make)
    if status == "interrupted":
        raise KeyboardInterrupt
    if status == "diverged":
        return dict.fromkeys(study.metrics, math.nan)
    final = kept.read()["final"]
    return {k: v for k, v in final.items() if k.startswith(("val", "test"))}
