"""What the paper says of MNIST and of small s, measured.

    python scripts/lab_training.py

The laboratory has no torch and no data, so its claims on training read what stands in
src/acprop/lab/claims/training.json. This script writes it:

    mnist   vision/mnist-mlp at scale small, 15 epochs, two seeds, by ACProp (authors)
            and by Adam. v and s are kept beside each run, from the same gradients and
            without ε: the authors' code adds ε to s at every step, which at 1e-8 would
            be more than s itself
    moments today/gpt-bytes at scale small, 300 steps, and vision/cifar10-vgg11 at
            scale smoke, each by the authors' convention. How small s is, and how long
            the longest |g_t|/√s_{t-1} of each element is after the first step

About ten minutes on one core.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from acprop import files
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare
from acprop.tasks.task import Session

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "src" / "acprop" / "lab" / "claims" / "training.json"
EPOCHS = 15  # of MNIST: the paper speaks of those after the tenth
BETA1, BETA2 = 0.9, 0.999
AUTHORS = {"lr": 1e-3, "convention": "authors"}
MNIST = {"acprop": {**AUTHORS, "eps": 1e-8}, "adam": {"lr": 1e-3, "eps": 1e-8}}
MOMENTS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "gpt": (
        "today/gpt-bytes",
        "small",
        300,
        {**AUTHORS, "eps": 1e-16, "weight_decay": 0.1},
    ),
    "vgg": (
        "vision/cifar10-vgg11",
        "smoke",
        160,
        {**AUTHORS, "eps": 1e-8, "weight_decay": 5e-4, "decoupled": False},
    ),
}


@dataclass(slots=True)
class Watched:
    """An optimizer's factory; v and s of Section 2.1 see its gradients before a step.

    One vector for all parameters. longest: the largest |g_t|/√s_{t-1} of each element
    from the second step on, with s bias-corrected and without ε.
    """

    make: Any
    t: int = 0
    kept: dict[str, Tensor] = field(default_factory=dict)
    longest: Tensor | None = None

    @property
    def needs_graph(self) -> bool:
        return bool(self.make.needs_graph)

    def __call__(self, module: nn.Module) -> torch.optim.Optimizer:
        optimizer = self.make(module)
        optimizer.register_step_pre_hook(self._observe)
        return optimizer

    def _observe(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        g = torch.cat([p.grad.reshape(-1) for p in params])
        self.kept = self.kept or {k: torch.zeros_like(g) for k in "mvs"}
        m, v, s = (self.kept[k] for k in "mvs")
        if self.t:
            u = g.abs() / (s / (1 - BETA2**self.t)).sqrt()
            u = u.nan_to_num(nan=0.0, posinf=float("inf"))
            self.longest = u if self.longest is None else self.longest.maximum(u)
        self.t += 1
        m.lerp_(g, 1 - BETA1)
        v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        s.mul_(BETA2).addcmul_(g - m, g - m, value=1 - BETA2)

    def means(self) -> dict[str, float]:
        """Bias-corrected, over all parameters."""
        full = 1 - BETA2**self.t
        return {k: float(self.kept[k].double().mean()) / full for k in "vs"}


def begin(
    study: str, scale: str, optimizer: str, settings: dict[str, Any], seed: int
) -> tuple[Session, Watched]:
    found = study_folder(ROOT / "studies").study(study)
    prepared = prepare(found.spec(scale, optimizer, settings, seed))
    watched = Watched(prepared.optimizer)
    return prepared.task.begin(seed, watched), watched


def mnist(optimizer: str, seed: int) -> list[dict[str, float]]:
    """One entry for each epoch: the means of v and s, and the mean training loss."""
    session, watched = begin(
        "vision/mnist-mlp", "small", optimizer, MNIST[optimizer], seed
    )
    epochs: list[dict[str, float]] = []
    for _ in range(EPOCHS):
        losses = [session.train_step()["loss"] for _ in range(session.steps_per_epoch)]
        epochs.append({**watched.means(), "train_loss": sum(losses) / len(losses)})
    return epochs


def moments(name: str) -> dict[str, Any]:
    """How small √s is at the end of a run, and how long its longest steps were."""
    study, scale, steps, settings = MOMENTS[name]
    session, watched = begin(study, scale, "acprop", settings, 0)
    losses = [session.train_step()["loss"] for _ in range(steps)]
    root = (watched.kept["s"].double() / (1 - BETA2**watched.t)).sqrt()
    longest = watched.longest
    assert longest is not None
    return {
        "elements": root.numel(),
        "steps": steps,
        "loss": [losses[0], sum(losses[-20:]) / 20],
        "zero": float((root == 0).double().mean()),
        "below_1e-8": float((root < 1e-8).double().mean()),
        "least": float(root[root > 0].min()),
        "root_s": _quantiles(root, (0.0001, 0.001, 0.01, 0.1, 0.5)),
        "longer_than": {
            str(k): float((longest > k).double().mean()) for k in (10, 1000, 1000000)
        },
        "without_s": float(longest.isinf().double().mean()),
    }


def _quantiles(values: Tensor, shares: tuple[float, ...]) -> dict[str, float]:
    """torch.quantile refuses as many values as these."""
    ordered = values.sort().values
    return {str(q): float(ordered[int(q * (len(ordered) - 1))]) for q in shares}


def main() -> None:
    torch.set_num_threads(1)
    found = {
        "mnist": {o: [mnist(o, seed) for seed in (0, 1)] for o in MNIST},
        "moments": {name: moments(name) for name in MOMENTS},
    }
    lines = [f'"{name}": {json.dumps(part)}' for name, part in found.items()]
    files.write(RECORD, "{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
