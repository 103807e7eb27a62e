"""What the paper says of MNIST and of VGG-11's betas, measured for the laboratory.

    python scripts/lab_training.py [--runs runs]

The laboratory has no torch and no data, so its claims on training read what this script
has measured: src/acprop/lab/claims/training.json. Two of the studies, smaller than the
paper's:

    mnist   vision/mnist-mlp at scale small (20 epochs), two seeds
    vgg     vision/vgg-beta1 and vgg-beta2 at scale smoke (4000 images, 3 epochs), three
            seeds; the authors' convention with ε = 1e-8, as the published curves have

Runs that are there already are kept. About half an hour on one core.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from acprop.bench.execute import execute
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import library

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "src" / "acprop" / "lab" / "claims" / "training.json"
SEEDS = {"mnist": (0, 1), "vgg": (0, 1, 2)}
# The paper prints no ε for MNIST. The authors' code adds it to s at every step, up to
# ε/(1 - β2): at 1e-8 that would be larger than s itself. 1e-12 is ImageNet's.
MNIST = {
    "acprop": {"lr": 1e-3, "convention": "authors", "eps": 1e-12, "numerator": "g"},
    "adabelief": {"lr": 1e-3, "eps": 1e-12},
    "adashift": {"lr": 1e-3, "eps": 1e-8},
    "adam": {"lr": 1e-3, "eps": 1e-8},
}
VGG = {
    "lr": 1e-3,
    "convention": "authors",
    "eps": 1e-8,
    "numerator": "g",
    "weight_decay": 5e-4,
    "decoupled": False,
}
BETAS = {
    "beta1": (0.5, 0.7, 0.9, 0.95, 0.99),
    "beta2": (0.9, 0.99, 0.999, 0.9999),
}


def mnist(optimizer: str, seed: int) -> RunSpec:
    study = library().study("vision/mnist-mlp")
    return study.spec("small", optimizer, MNIST[optimizer], seed)


def vgg(beta: str, value: float, seed: int) -> RunSpec:
    study = library().study(f"vision/vgg-{beta}")
    settings = {**VGG, "beta1": 0.9, "beta2": 0.999, beta: value}
    return study.spec("smoke", "acprop", settings, seed)


def history(root: Path, spec: RunSpec, *names: str) -> dict[str, Any]:
    record = Store(root).folder(spec).record(study="", scale="", asked={})
    return {
        "status": record.status,
        **{name: [entry.get(name) for entry in record.history] for name in names},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    root = parser.parse_args().runs
    curves = {(o, s): mnist(o, s) for o in MNIST for s in SEEDS["mnist"]}
    cells = {
        (beta, value, seed): vgg(beta, value, seed)
        for beta, values in BETAS.items()
        for value in values
        for seed in SEEDS["vgg"]
    }
    execute(curves.values(), root, jobs=1)
    execute(cells.values(), root, jobs=1)
    found = {
        "mnist": {
            o: [
                history(root, curves[o, s], "second_moment", "train_loss")
                for s in SEEDS["mnist"]
            ]
            for o in MNIST
        },
        "vgg": {
            beta: {
                str(value): [
                    history(root, cells[beta, value, s], "test_accuracy")
                    for s in SEEDS["vgg"]
                ]
                for value in values
            }
            for beta, values in BETAS.items()
        },
    }
    temporary = RECORD.with_suffix(".tmp")
    temporary.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    os.replace(temporary, RECORD)


if __name__ == "__main__":
    main()
