"""The pictures of docs/theory.md, one for each idea, computed by the laboratory.

    python scripts/idea_pictures.py     write them all to docs/figures

tests/test_theory.py holds every caption to the same numbers.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from acprop.lab.claims.averaging import HORIZONS, SKEWED
from acprop.lab.curves import Points, curves, over_steps
from acprop.lab.descent import WalkSettings, walk
from acprop.lab.methods import METHODS, advance
from acprop.lab.nonconvex import problem
from acprop.lab.steps import feed, final_state
from acprop.lab.trajectories import compare
from acprop.records import Curves
from acprop.reference import Settings
from acprop.report.figures import draw
from acprop.report.style import OPTIMIZERS
from acprop.rule import GUARDED, PAPER, TORCH, Convention

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
# Each method as its users have it.
OWN: dict[str, Convention] = {
    "acprop": GUARDED,
    "acprop-paper": PAPER,
    "acprop-before": GUARDED,
    "adam": TORCH,
    "adabelief": TORCH,
}


def name(method: str) -> str:
    """As figures and pages call it."""
    return OPTIMIZERS[method][0]


def asynchrony() -> Curves:
    """The step as a function of its newest gradient, after 10⁴ gradients of ±1."""
    past = np.random.default_rng(0).choice([-1.0, 1.0], size=10_000)
    h, g = Settings(0.9, 0.9), np.linspace(-8, 8, 161)
    lines: list[Points] = []
    for method in ("adam", "acprop-paper", "acprop"):
        state = final_state(METHODS[method], OWN[method], h, past)
        _, d = advance(METHODS[method], OWN[method], state, g, h)
        lines.append((name(method), g, d))
    axes = ("the newest gradient g", "step / lr")
    return curves("asynchrony", "β1 = 0.9, β2 = 0.9", axes, lines)


def drift() -> Curves:
    """x over time on Eq. 1, where the optimum is −1."""
    found = compare(
        "dense",
        optimizers=("adam", "adabelief", "acprop"),
        beta1=[0.9],
        beta2=[0.9],
        periods=[30],
        alpha0=[0.03],
        conventions=["guarded"],
        steps=20_000,
        eta=0.5,
        eps=1e-8,
    )
    lines = [(name(line.label), line.x, line.y) for line in found.lines]
    return curves("drift", "Eq. 1, P = 30, β1 = β2 = 0.9", ("step t", "x"), lines)


def centering() -> Curves:
    """The mean settled step, for a gradient of 1 with more and more noise."""
    noise = np.geomspace(0.03, 10, 40)
    rng = np.random.default_rng(0)
    gradients = 1 + noise * rng.standard_normal((4000, 1, 1)) * np.ones((1, 1, 40))
    h = Settings(0.9, 0.99)
    lines: list[Points] = []
    for method in ("adam", "acprop-paper", "acprop"):
        steps = [s.d for s in feed(METHODS[method], OWN[method], h, gradients)]
        lines.append((name(method), noise, np.mean(steps[2000:], axis=0).ravel()))
    axes = ("noise / signal", "mean step / lr")
    return curves("centering", "a gradient of 1 in noise", axes, lines, log="xy")


def hazard() -> Curves:
    """Steps after a silence: 100 gradients of 0, then 1."""
    gradients = np.concatenate([np.zeros(100), np.ones(100)])[:, None]
    lines: list[Points] = []
    for method in ("acprop-paper", "acprop", "adam"):
        found = feed(METHODS[method], OWN[method], Settings(), gradients)
        steps = np.array([abs(float(s.d[0])) for s in found])
        t = np.arange(1, len(steps) + 1)
        lines.append((name(method), t[100:], steps[100:]))
    t = np.arange(101, 201)
    lines.append(("the bound t^¼", t, t**0.25))
    axes = ("step t; the gradient is 0 before 101", "step / lr")
    return curves("hazard", "β1 = 0.9, β2 = 0.999", axes, lines, log="y")


def averaging() -> Curves:
    """What is left of the gradient on 1 − cos x with skewed noise."""
    h = WalkSettings(0.1, 0.5, HORIZONS[1], 0.1, 0.9, 0.9, seeds=64, clip="t**0.25")
    lines: list[Points] = []
    for method in ("adam", "acprop-before", "acprop"):
        squared = walk(problem(SKEWED), METHODS[method], h).squared.mean(axis=1)
        window = np.convolve(squared, np.ones(200) / 200, mode="valid")
        label, x, y = over_steps(name(method), window)
        lines.append((label, [t + 199 for t in x], y))
    axes = ("step t", "mean squared gradient, of 200 steps")
    title = "1 − cos x with skewed noise, β1 = β2 = 0.9"
    return curves("averaging", title, axes, lines, log="xy")


IDEAS: dict[str, Callable[[], Curves]] = {
    "idea-asynchrony": asynchrony,
    "idea-drift": drift,
    "idea-centering": centering,
    "idea-averaging": averaging,
    "idea-hazard": hazard,
}


if __name__ == "__main__":
    for file, make in IDEAS.items():
        draw([make()], FIGURES / f"{file}.svg")
