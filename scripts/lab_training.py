"""What the paper says of MNIST, of VGG-11's betas and of small s, measured.

    python scripts/lab_training.py [--runs runs] [--only mnist]

The laboratory has no torch and no data, so its claims on training read what this script
has measured: src/acprop/lab/claims/training.json. Studies, smaller than the paper's:

    mnist   vision/mnist-mlp at scale small, 15 epochs, two seeds, by ACProp (authors)
            and by Adam. v and s are kept beside each run, from the same gradients and
            without ε: the authors' code adds ε to s at every step, which at 1e-8 would
            be more than s itself
    vgg     vision/vgg-beta1 and vgg-beta2 at scale smoke, but 4000 images, and three
            seeds; the authors' convention with ε = 1e-8, as the published curves have
    moments language/gpt-bytes at scale small, 300 steps, and vision/cifar10-vgg11 at
            scale smoke, each by the authors' convention. How small s is, and how long
            the longest |g_t|/√s_{t-1} of each element is after the first step

Runs of VGG that are there already are kept. About a quarter of an hour on one core.
"""

import argparse
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from acprop.bench.execute import execute
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "src" / "acprop" / "lab" / "claims" / "training.json"
SEEDS = {"mnist": (0, 1), "vgg": (0, 1, 2)}
EPOCHS = 15  # of MNIST: the paper speaks of those after the tenth
BETA1, BETA2 = 0.9, 0.999
MNIST = {
    "acprop": {"lr": 1e-3, "convention": "authors", "eps": 1e-8},
    "adam": {"lr": 1e-3, "eps": 1e-8},
}
VGG = {
    "lr": 1e-3,
    "convention": "authors",
    "eps": 1e-8,
    "weight_decay": 5e-4,
    "decoupled": False,
}
IMAGES = {"n_train": 4000, "n_validation": 1000, "n_test": 2000}
BETAS = {
    "beta1": (0.5, 0.7, 0.9, 0.95, 0.99),
    "beta2": (0.9, 0.99, 0.999, 0.9999),
}
MOMENTS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "gpt": (
        "language/gpt-bytes",
        "small",
        300,
        {"lr": 1e-3, "convention": "authors", "eps": 1e-16, "weight_decay": 0.1},
    ),
    "vgg": ("vision/cifar10-vgg11", "smoke", 160, VGG),
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


def mnist(optimizer: str, seed: int) -> list[dict[str, float]]:
    """One entry for each epoch: the means of v and s, and the mean training loss."""
    study = study_folder(ROOT / "studies").study("vision/mnist-mlp")
    spec = study.spec("small", optimizer, MNIST[optimizer], seed)
    prepared = prepare(spec)
    watched = Watched(prepared.optimizer)
    session = prepared.task.begin(seed, watched)
    epochs: list[dict[str, float]] = []
    for _ in range(EPOCHS):
        losses = [session.train_step()["loss"] for _ in range(session.steps_per_epoch)]
        epochs.append({**watched.means(), "train_loss": sum(losses) / len(losses)})
    return epochs


def moments(name: str) -> dict[str, Any]:
    """How small √s is at the end of a run, and how long its longest steps were."""
    study, scale, steps, settings = MOMENTS[name]
    spec = (
        study_folder(ROOT / "studies").study(study).spec(scale, "acprop", settings, 0)
    )
    prepared = prepare(spec)
    watched = Watched(prepared.optimizer)
    session = prepared.task.begin(0, watched)
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


def vgg(beta: str, value: float, seed: int) -> RunSpec:
    study = study_folder(ROOT / "studies").study(f"vision/vgg-{beta}")
    settings = {**VGG, "beta1": BETA1, "beta2": BETA2, beta: value}
    return study.spec("smoke", "acprop", settings, seed, **IMAGES)


def all_of_vgg(root: Path) -> dict[str, dict[str, list[float]]]:
    """The last test accuracy of each run."""
    specs = {
        (beta, value, seed): vgg(beta, value, seed)
        for beta, values in BETAS.items()
        for value in values
        for seed in SEEDS["vgg"]
    }
    execute(specs.values(), root, jobs=1)

    def accuracy(spec: RunSpec) -> float:
        record = Store(root).folder(spec).record(study="", scale="", asked={})
        return record.final["test_accuracy"]

    return {
        beta: {
            str(value): [accuracy(specs[beta, value, seed]) for seed in SEEDS["vgg"]]
            for value in values
        }
        for beta, values in BETAS.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--only", choices=("mnist", "vgg", "moments"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if options.only in (None, "mnist"):
        found["mnist"] = {o: [mnist(o, s) for s in SEEDS["mnist"]] for o in MNIST}
    if options.only in (None, "vgg"):
        found["vgg"] = all_of_vgg(options.runs)
    if options.only in (None, "moments"):
        found["moments"] = {name: moments(name) for name in MOMENTS}
    temporary = RECORD.with_suffix(".tmp")
    lines = [f'"{name}": {json.dumps(part)}' for name, part in found.items()]
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(temporary, RECORD)


if __name__ == "__main__":
    main()
