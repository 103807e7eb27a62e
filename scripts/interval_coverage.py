"""How often do 95 % intervals of a mean hold the true mean? Measured, not assumed.

    python scripts/interval_coverage.py     writes results/protocol/coverage.json

Values are drawn from distributions whose mean is known: as symmetric as seeds should
be, skewed as accuracies near their ceiling are, and with rare outliers. "ours" is
`acprop.intervals.interval`, the others are what one might use instead.
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

from acprop import files
from acprop.intervals import FEWEST, half_width, interval

RECORD = Path(__file__).parents[1] / "results" / "protocol" / "coverage.json"
N_SAMPLES = 4000
N_VALUES = (3, 5, 8, 10, 20)
SHAPES = {
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    # 1 - error, where errors are log-normal: a ceiling above, a tail below
    "skewed": (
        lambda rng, size: 1 - rng.lognormal(-3, 0.5, size=size),
        1 - float(np.exp(-3 + 0.5**2 / 2)),
    ),
    # one value in twenty is six times as far off as the others
    "outliers": (
        lambda rng, size: (
            rng.normal(size=size) * np.where(rng.random(size) < 0.05, 6, 1)
        ),
        0.0,
    ),
}
METHODS = ("ours", "Student", "percentile", "BCa")


def intervals(method: str, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends for every row."""
    if method == "ours":
        ends = np.array([interval(row) for row in samples])
        return ends[:, 0], ends[:, 1]
    if method == "Student":
        halves = [half_width(s, samples.shape[1]) for s in samples.std(1, ddof=1)]
        return samples.mean(1) - halves, samples.mean(1) + halves
    found = stats.bootstrap(
        (samples,), np.mean, axis=1, n_resamples=1999, batch=100, method=method, rng=1
    ).confidence_interval
    return found.low, found.high


def measure(shape: str, n: int) -> dict[str, object]:
    draw, mean = SHAPES[shape]
    samples = draw(np.random.default_rng([n, len(shape)]), (N_SAMPLES, n))
    row: dict[str, object] = {"shape": shape, "n": n}
    for method in METHODS:
        low, high = intervals(method, samples)
        row[method] = float(np.mean((low <= mean) & (mean <= high)))
    return row


if __name__ == "__main__":
    rows = [measure(shape, n) for shape in SHAPES for n in N_VALUES]
    record = {"samples": N_SAMPLES, "fewest": FEWEST, "rows": rows}
    files.write(RECORD, json.dumps(record, indent=1) + "\n")
