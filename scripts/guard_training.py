"""The roads not taken, on real tasks: what else could bound a step, and how it trains.

    python scripts/guard_training.py [--only floor] [--tasks default/gpt-bytes]

Runs every variant below on two studies of `studies/default` at their search scale, seed
0, at the learning rate that was best there, and writes results/guard/training.json. A
result that is there already is kept, so the script may be stopped at any time. About
ten minutes on one core.
"""

import argparse
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.progress import track
from torch import Tensor, nn

from acprop.bench.schedules import schedule
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "guard" / "training.json"
TASKS = ("default/vgg-plain", "default/gpt-bytes")
RATES = (3e-3,)
BETA1, BETA2 = 0.9, 0.999
DECAY = {"default/gpt-bytes": 0.1, "default/vgg-plain": 0.01}


@dataclass(frozen=True, slots=True)
class Road:
    """What bounds the step.

    kappa: a floor κ²·A under s, A the squared scale of the tensor's past gradients.
    n0: so many pseudo-observations of size A stand in for s at the start.
    clamp: g counts at most clamp·B, B the tensor's largest gradient so far.
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
    mean: str = ""


def growing(t: int) -> float:
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


class Ablated(torch.optim.Optimizer):
    """One road, tensor by tensor and to be read, not to be fast."""

    def __init__(self, params: Any, lr: float, weight_decay: float, road: Road) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.road, self.t = road, 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        assert closure is None
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
        self._record(state, g)
        return state["M"] if road.mean.startswith("M") else u

    def _denominator(self, state: dict[str, Any]) -> Tensor:
        k, A = self.t - 1, state["A"]
        prior = (1 - BETA2) * self.road.n0 * BETA2**k
        total = 1 - BETA2**k + prior
        radicand = (state["s"] + prior * A) / (total or 1.0) + self.road.kappa**2 * A
        return radicand.sqrt() + 1e-30

    def _record(self, state: dict[str, Any], g: Tensor) -> None:
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

    def __call__(self, module: nn.Module) -> torch.optim.Optimizer:
        return Ablated(module.parameters(), self.lr, self.weight_decay, self.road)


def train(task: str, road: Road, lr: float) -> dict[str, float]:
    """One run; its metrics after the last step. NaN is a result."""
    spec = (
        study_folder(ROOT / "studies").study(task).spec("search", "sgd", {"lr": lr}, 0)
    )
    session = prepare(spec).task.begin(0, Factory(lr, DECAY[task], road))
    per_epoch = session.steps_per_epoch
    factor = schedule(**spec.schedule, epochs=spec.epochs, steps_per_epoch=per_epoch)
    for step in range(spec.epochs * per_epoch):
        session.scale_lr(factor(step))
        session.train_step()
    metrics = session.evaluate()
    return {k: v for k, v in metrics.items() if k.startswith(("val", "test"))}


def save(record: dict[str, Any]) -> None:
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    temporary = RECORD.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    os.replace(temporary, RECORD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--only", default="", help="roads whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    wanted = [
        (task, name, lr)
        for task in options.tasks.split(",")
        for lr in RATES
        for name in ROADS
        if options.only in name
    ]
    for task, name, lr in track(wanted, description="roads"):
        runs = record.setdefault(task, {}).setdefault(name, {})
        if str(lr) not in runs:
            runs[str(lr)] = train(task, ROADS[name], lr)
            save(record)


if __name__ == "__main__":
    main()
