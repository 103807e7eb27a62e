"""Train cautious updates of a mean that is divided: results/guard/cautious.json.

    python scripts/cautious_training.py

A cautious step (Liang et al. 2024) leaves out every element that would move against
the sign of its gradient, and may make up for it by scaling the rest of the tensor. Two
studies of `studies/default`: the learning rate is searched with seed 0 on validation,
then three fresh seeds are trained at the best. The rule is `average="before"`, and the
record has its own runs as "plain". A result that is there already is kept. About twenty
minutes on a core.
"""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.progress import track
from torch import Tensor, nn

import acprop
from acprop import files
from acprop.bench.run import run
from acprop.bench.store import RunFolder
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "guard" / "cautious.json"
# The weight decay of the plain runs, and the metric that chooses a learning rate.
TASKS = {
    "default/gpt-bytes": (0.1, "val_loss", min),
    "default/mnist-mlp": (0.01, "val_accuracy", max),
}
LRS = (1e-3, 3e-3, 1e-2)
SEEDS = (1, 2, 3)


class Cautious(torch.optim.Optimizer):
    """ACProp with average="before", less what would move against the gradient."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, weight_decay: float, scaled: bool
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.scaled = scaled
        self.inner = acprop.ACProp(self.param_groups, average="before")

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        del closure
        moved = [
            p for g in self.param_groups for p in g["params"] if p.grad is not None
        ]
        before = [p.clone() for p in moved]
        for group, own in zip(self.param_groups, self.inner.param_groups, strict=True):
            own.update(lr=group["lr"], weight_decay=0.0)
        self.inner.step()
        decay = [
            (g["lr"], g["weight_decay"]) for g in self.param_groups for _ in g["params"]
        ]
        for p, x, (lr, weight) in zip(moved, before, decay, strict=True):
            move = p - x
            mask = (move * p.grad < 0).to(p.dtype)
            if self.scaled:
                mask /= mask.mean().clamp(min=1e-3)
            p.copy_(x * (1 - lr * weight) + move * mask)


@dataclass(frozen=True, slots=True)
class Factory:
    """What a task asks for: something that makes its network's optimizer."""

    lr: float
    weight_decay: float
    scaled: bool
    needs_graph: bool = False

    def __call__(self, module: nn.Module, /) -> Cautious:
        return Cautious(module.parameters(), self.lr, self.weight_decay, self.scaled)


def train(task: str, scale: str, make: Factory, seed: int) -> dict[str, float]:
    """One run's metrics after its last step."""
    study = study_folder(ROOT / "studies").study(task)
    spec = study.spec(scale, "sgd", {"lr": make.lr}, seed)
    with tempfile.TemporaryDirectory() as folder:
        kept = RunFolder(Path(folder) / "run")
        status = run(spec, kept, prepare(spec).task, make)
        if status != "done":
            raise SystemExit(f"{task}, {make}, seed {seed}: {status}")
        final = kept.read()["final"]
    return {k: v for k, v in final.items() if k.startswith(("val", "test"))}


def main() -> None:
    torch.set_num_threads(1)
    record: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    cases = [(task, scaled) for task in TASKS for scaled in (True, False)]
    for task, scaled in track(cases, description="cautious"):
        decay, metric, best = TASKS[task]
        name = "scaled" if scaled else "not scaled"
        runs = record.setdefault(task, {}).setdefault(name, {})
        for lr in LRS:
            key = f"search, lr {lr:g}, seed 0"
            if key not in runs:
                runs[key] = train(task, "search", Factory(lr, decay, scaled), 0)
                files.write(RECORD, json.dumps(record, indent=1) + "\n")
        lr = best(LRS, key=lambda lr, r=runs: r[f"search, lr {lr:g}, seed 0"][metric])
        for seed in SEEDS:
            key = f"small, lr {lr:g}, seed {seed}"
            if key not in runs:
                runs[key] = train(task, "small", Factory(lr, decay, scaled), seed)
                files.write(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
