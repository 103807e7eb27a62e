"""Four small noisy problems and one spike: what a guard costs and what it saves.

Every problem runs all seeds and learning rates at once: its parameters have the axes
(seed, lr, …), and each is one tensor along the rest. All rules see the same noise.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from guard_hazards import Variant

from acprop.reference import State

Array = Any
N_SEEDS = 5
N_TAIL = 100
DIVERGED = 1e6  # all problems start below 20
LRS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SPIKE, SPIKE_AT, SPIKE_LR = 1e4, 1000, 1e-2
N_SEEDS_RECKLESS, RECKLESS_LR, LEARNT_NOTHING = 128, 0.07, 0.9


class Task(NamedTuple):
    """Where the parameters start, their gradients at step t, the loss without noise."""

    definition: str
    n_steps: int
    start: list[Array]
    gradient: Callable[[int, list[Array]], list[Array]]
    loss: Callable[[list[Array]], Array]


def noisy_quadratic() -> Task:
    rng = np.random.default_rng(1)
    n_steps, n = 2000, 20
    curvature = np.geomspace(1e-3, 1, n)
    noise = rng.standard_normal((n_steps, N_SEEDS, 1, n))
    return Task(
        "½ Σ λ_i·x_i², 20 λ from 1e-3 to 1, gradient noise 0.1·√λ_i, from x_i = 1/√λ_i",
        n_steps,
        [np.broadcast_to(curvature**-0.5, (N_SEEDS, 1, n))],
        lambda t, x: [curvature * x[0] + 0.1 * np.sqrt(curvature) * noise[t]],
        lambda x: np.sum(curvature * x[0] ** 2, axis=-1) / 2,
    )


def rosenbrock() -> Task:
    """As in timm's optimizer tests: each step sees the gradient of one coordinate."""
    rng = np.random.default_rng(2)
    n_steps = 2000
    noise = 0.1 * rng.standard_normal((n_steps, N_SEEDS, 1))

    def gradient(t: int, x: list[Array]) -> list[Array]:
        a, b = x[0][..., 0], x[0][..., 1]
        along_a = -2 * (1 - a) - 4 * a * (b - a**2) + noise[t]
        along_b = 2 * (b - a**2) + noise[t]
        zero = np.zeros_like(a)
        return [np.stack([zero, along_b] if t % 2 else [along_a, zero], axis=-1)]

    def loss(x: list[Array]) -> Array:
        a, b = x[0][..., 0], x[0][..., 1]
        return (1 - a) ** 2 + (b - a**2) ** 2

    return Task(
        "(1 - a)² + (b - a²)², coordinates in turn, noise 0.1, from (1.5, 1.5)",
        n_steps,
        [np.full((N_SEEDS, 1, 2), 1.5)],
        gradient,
        loss,
    )


def sparse_logistic() -> Task:
    """A Zipf law: most features are seldom seen."""
    rng = np.random.default_rng(3)
    n_steps, n_rows, n_features, n_batch = 2000, 2000, 300, 16
    present = 5 / np.arange(1, n_features + 1)
    shape = (N_SEEDS, n_rows, n_features)
    features = (rng.random(shape) < present) * rng.standard_normal(shape)
    truth = rng.standard_normal((N_SEEDS, 1, n_features))
    labels = np.sign(np.sum(features * truth, -1) + rng.standard_normal(shape[:2]))
    signed = features * labels[..., None]
    batches = rng.integers(n_rows, size=(n_steps, n_batch))

    def gradient(t: int, x: list[Array]) -> list[Array]:
        rows = signed[:, batches[t]]
        margin = x[0] @ rows.swapaxes(1, 2)
        return [(0.5 * np.tanh(margin / 2) - 0.5) @ rows / n_batch]

    def loss(x: list[Array]) -> Array:
        return np.mean(np.logaddexp(0, -x[0] @ signed.swapaxes(1, 2)), axis=-1)

    return Task(
        "logistic regression, 2000 rows, 300 features present with probability "
        "min(1, 5/i), batches of 16, training loss",
        n_steps,
        [np.zeros((N_SEEDS, 1, n_features))],
        gradient,
        loss,
    )


def network(n_seeds: int) -> Task:
    """Imitate a random network of the same shape, from fresh batches."""
    rng = np.random.default_rng(4)
    n_steps, n_batch, widths = 300, 32, (16, 32, 32, 1)

    def layers() -> list[Array]:
        return [
            np.sqrt(2 / a) * rng.standard_normal((n_seeds, 1, a, b))
            for a, b in pairwise(widths)
        ]

    def activations(weights: list[Array], x: Array) -> list[Array]:
        out = [x]
        for i, w in enumerate(weights):
            x = x @ w
            out.append(x if i == len(weights) - 1 else np.maximum(x, 0))
            x = out[-1]
        return out

    start, teacher = layers(), layers()
    seen = rng.standard_normal((n_steps, n_seeds, 1, n_batch, widths[0]))
    unseen = rng.standard_normal((n_seeds, 1, 512, widths[0]))
    target = activations(teacher, unseen)[-1]
    size = np.mean(target**2, axis=(-2, -1))

    def gradient(t: int, weights: list[Array]) -> list[Array]:
        a = activations(weights, seen[t])
        error = 2 * (a[-1] - activations(teacher, seen[t])[-1]) / n_batch
        out: list[Array] = []
        for i in reversed(range(len(weights))):
            out.append(a[i].swapaxes(-2, -1) @ error)
            error = (error @ weights[i].swapaxes(-2, -1)) * (a[i] > 0)
        return out[::-1]

    def loss(weights: list[Array]) -> Array:
        error = activations(weights, unseen)[-1] - target
        return np.mean(error**2, axis=(-2, -1)) / size

    return Task(
        "ReLU network 16-32-32-1 imitating another, batches of 32, 300 steps, "
        "squared error relative to answering 0",
        n_steps,
        start,
        gradient,
        loss,
    )


def tasks() -> dict[str, Task]:
    return {
        "quadratic": noisy_quadratic(),
        "rosenbrock": rosenbrock(),
        "logistic": sparse_logistic(),
        "network": network(N_SEEDS),
    }


def final_losses(
    variant: Variant, task: Task, lrs: tuple[float, ...], spike_at: int | None = None
) -> Array:
    """Loss by (seed, lr), averaged over 10 looks at the last N_TAIL steps.

    A run that ends above DIVERGED, or left the numbers, has the loss inf.
    """
    x, states, hypers, rates = [], [], [], []
    for p in task.start:
        axis = tuple(range(2, p.ndim))
        x.append(np.repeat(p, len(lrs), axis=1))
        states.append(State())
        hypers.append(variant.hyper(beta1=0.9, beta2=0.999, axis=axis))
        rates.append(np.expand_dims(np.array(lrs), tuple(a - 1 for a in axis)))
    looks = []
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(task.n_steps):
            scale = SPIKE if t == spike_at else 1.0
            for i, g in enumerate(task.gradient(t, x)):
                states[i], d = variant.advance(states[i], scale * g, hypers[i])
                x[i] = x[i] - rates[i] * d
            if t >= task.n_steps - N_TAIL and t % 10 == 9:
                looks.append(task.loss(x))
        losses = np.mean(looks, axis=0)
    return np.where(losses < DIVERGED, losses, np.inf)
