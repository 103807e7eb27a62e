"""What the paper says of its training runs, beside what small ones measured.

The laboratory has neither torch nor data. `scripts/lab_training.py` trains and writes
training.json beside this file:

    mnist   optimizer → runs → epochs → {"v", "s", "train_loss"}, v and s from the same
            gradients, means over all parameters
    moments "gpt" or "vgg" → how small √s is, without ε, and which share of the elements
            met a gradient many times √s_{t-1} after the first step
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.claims.constants import CONSTANTS
from acprop.lab.claims.numerics import NUMERICS

BETA1 = 0.9
NAMES = {"acprop": "ACProp (the authors' code)", "adam": "Adam"}


@cache
def measured() -> dict[str, Any]:
    """What the script wrote."""
    path = Path(__file__).with_name("training.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _runs() -> list[list[dict[str, float]]]:
    """Every run on MNIST, by any optimizer."""
    return [run for runs in measured()["mnist"].values() for run in runs]


def _about(runs: list[list[dict[str, float]]]) -> str:
    names = " and ".join(NAMES[name] for name in measured()["mnist"])
    return f"{len(runs)} runs of {len(runs[0])} epochs by {names}"


@claim("small-s-in-practice", "paper", "proof step", NUMERICS)
@formula(
    printed=r"s_t\gg0",
    holds=r"s_{t-1}=0<|g_t|\quad\text{for elements that were silent before}",
)
def small_s() -> Finding:
    """“In practice, especially in deep learning, the gradient suffers from large noise,
    hence s_t does not take extremely small values”
    """
    # Extremely small: below 1e-8, so that Algorithm 2's ε = 1e-16 is the larger.
    found = measured()["moments"]
    below = {name: task["below_1e-8"] for name, task in found.items()}
    listed = "; ".join(
        f"{name}: {task['below_1e-8']:.2%} of {task['elements']} elements have √s < "
        f"1e-8 after {task['steps']} steps (median {task['root_s']['0.5']:.0e}), and "
        f"{task['longer_than']['1000']:.2%} met a gradient above 1000·√s_{{t-1}}"
        for name, task in found.items()
    )
    return Finding.of(
        not (max(below.values()) > 1e-3),
        f"Algorithm 2's s without ε in runs by the authors' code, {listed}",
        found,
    )


@claim("mnist-noise-from-the-start", "ours", "constant", CONSTANTS)
def noise_from_the_start() -> Finding:
    """On MNIST |μ| ≫ σ is not seen: from the first epoch on s/v is that of pure noise,
    2β1²/(1 + β1)
    """
    runs = _runs()
    pure = 2 * BETA1**2 / (1 + BETA1)
    shares = [epoch["s"] / epoch["v"] / pure for run in runs for epoch in run]
    return Finding.of(
        max(abs(share - 1) for share in shares) < 0.03,
        f"{_about(runs)}: s/v is {min(shares):.3f} to {max(shares):.3f} times "
        f"2·β1²/(1 + β1) = {pure:.3f} at the end of every epoch",
        {"least": min(shares), "largest": max(shares)},
    )
