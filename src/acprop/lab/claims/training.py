"""What the paper says of its training runs, judged by what small ones measured.

The laboratory has neither torch nor data. `scripts/lab_training.py` trains and writes
training.json beside this file:

    mnist   optimizer → runs → epochs → {"v", "s", "train_loss"}, v and s from the same
            gradients, means over all parameters
    vgg     "beta1" or "beta2" → its value → last test accuracy of each run
"""

import json
import math
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from acprop.lab.claims.claim import Claim, Finding

_MNIST = "Section 4, empirical validations on MNIST"
_VGG = "Appendix C.2, robustness to β1 and β2"
LATE = 10  # "for epochs > 10"
BETA1 = 0.9


@cache
def measured() -> dict[str, Any]:
    """What the script wrote."""
    path = Path(__file__).with_name("training.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _runs() -> list[list[dict[str, float]]]:
    """Every run on MNIST, by any optimizer."""
    return [run for runs in measured()["mnist"].values() for run in runs]


def _about(runs: list[list[dict[str, float]]]) -> str:
    names = " and ".join(measured()["mnist"])
    return f"{len(runs)} runs of {len(runs[0])} epochs by {names}"


def s_below_v() -> Finding:
    runs = _runs()
    shares = [epoch["s"] / epoch["v"] for run in runs for epoch in run]
    return Finding(
        "holds" if max(shares) <= 1 else "fails",
        f"{_about(runs)}, v and s from the same gradients: at the end of an epoch the "
        f"mean of s is between {min(shares):.2f} and {max(shares):.2f} of that of v",
        {"least": min(shares), "largest": max(shares)},
    )


def late_minima() -> Finding:
    """≈: within a quarter; noise alone would make 2·β1²/(1 + β1) = 0.85."""
    runs = _runs()
    shares = [
        min(e["s"] for e in run[LATE:]) / min(e["v"] for e in run[LATE:])
        for run in runs
    ]
    ok = all(0.75 < share < 1.25 for share in shares)
    return Finding(
        "holds" if ok else "fails",
        f"{_about(runs)}, v and s from the same gradients: after epoch {LATE} min s is "
        f"{min(shares):.2f} to {max(shares):.2f} of min v",
        {"shares": shares},
    )


def ratio_decays() -> Finding:
    """By a twentieth at least, from the first epoch to those after the tenth.

    The paper plots v and s of different optimizers; a flat ratio of the same gradients
    does not refute that.
    """
    runs = _runs()
    first = [run[0]["v"] / run[0]["s"] for run in runs]
    late = [mean(e["v"] / e["s"] for e in run[LATE:]) for run in runs]
    left = [b / a for a, b in zip(first, late, strict=True)]
    falls, grows = max(left) < 0.95, min(left) > 1.05
    return Finding(
        "holds" if falls else "fails" if grows else "undecided",
        f"{_about(runs)}, v and s from the same gradients: v/s is {mean(first):.2f} "
        f"after the first epoch and {mean(late):.2f} on average after epoch {LATE}, "
        "flat at the ratio of pure noise; the paper divides v and s of different "
        "optimizers, whose sizes, learning rates and ε, which would decide, it does "
        "not print",
        {"first": first, "late": late},
    )


def noise_from_the_start() -> Finding:
    runs = _runs()
    pure = 2 * BETA1**2 / (1 + BETA1)
    shares = [epoch["s"] / epoch["v"] / pure for run in runs for epoch in run]
    return Finding(
        "holds" if max(abs(share - 1) for share in shares) < 0.03 else "fails",
        f"{_about(runs)}: s/v is {min(shares):.3f} to {max(shares):.3f} times "
        f"2·β1²/(1 + β1) = {pure:.3f} at the end of every epoch",
        {"least": min(shares), "largest": max(shares)},
    )


def _spread(beta: str) -> tuple[float, float]:
    """Best less worst mean accuracy over the values, and the error of a mean.

    In points of a percent.
    """
    cells: list[list[float]] = [
        [100 * accuracy for accuracy in cell]
        for cell in measured()["vgg"][beta].values()
    ]
    means = [mean(cell) for cell in cells]
    noise = mean(stdev(cell) / math.sqrt(len(cell)) for cell in cells)
    return max(means) - min(means), noise


def betas() -> Finding:
    """Small runs can show the difference; that they do not would not refute it."""
    spreads = {beta: _spread(beta) for beta in ("beta1", "beta2")}
    (one, noise1), (two, noise2) = spreads.values()
    shown = two - one > 2 * math.hypot(noise1, noise2)
    values = {beta: ", ".join(measured()["vgg"][beta]) for beta in spreads}
    return Finding(
        "holds" if shown else "undecided",
        f"VGG-11 at an eighth of its width, 4000 images, 3 epochs, 3 seeds, ε = 1e-8: "
        f"test accuracy spreads by {one:.1f} points over β1 = {values['beta1']} and by "
        f"{two:.1f} over β2 = {values['beta2']} (standard errors {noise1:.1f} and "
        f"{noise2:.1f}); the studies vision/vgg-beta1 and vgg-beta2 at scale paper "
        f"would {'confirm it' if shown else 'decide'}",
        {beta: list(pair) for beta, pair in spreads.items()},
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "mnist-s-below-v",
        "paper",
        "central",
        _MNIST,
        "“we observe s_t ≤ v_t”, of the means over all parameters",
        s_below_v,
    ),
    Claim(
        "mnist-late-minima",
        "paper",
        "central",
        _MNIST,
        "“For epochs > 10, we observe that min s_t ≈ min v_t”",
        late_minima,
    ),
    Claim(
        "mnist-ratio-decays",
        "paper",
        "central",
        _MNIST,
        "“the ratio v_t/s_t decays with training”",
        ratio_decays,
    ),
    Claim(
        "mnist-noise-from-the-start",
        "ours",
        "constant",
        "Section 4, constants in the upper bound of regret",
        "On MNIST |μ| ≫ σ is not seen: from the first epoch on s/v is that of pure "
        "noise, 2β1²/(1 + β1)",
        noise_from_the_start,
    ),
    Claim(
        "vgg-betas",
        "paper",
        "central",
        _VGG,
        "“ACProp is robust to different values of β1, and is more sensitive to values "
        "of β2”",
        betas,
    ),
)
