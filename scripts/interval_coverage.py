"""How often do 95 % intervals of a mean hold the true mean? Measured, not assumed.

    python scripts/interval_coverage.py            measure, write the record
    python scripts/interval_coverage.py --table    print the table of docs/protocol.md

Values are drawn from distributions whose mean is known: as symmetric as seeds should
be, skewed as accuracies near their ceiling are, and with rare outliers. "ours" is
`acprop.intervals.interval`, the others are what one might use instead.
"""

import json
import sys
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


def measure() -> dict[str, object]:
    rows = []
    for shape, (draw, mean) in SHAPES.items():
        for n in N_VALUES:
            samples = draw(np.random.default_rng([n, len(shape)]), (N_SAMPLES, n))
            row = {"shape": shape, "n": n}
            for method in METHODS:
                low, high = intervals(method, samples)
                row[method] = float(np.mean((low <= mean) & (mean <= high)))
            rows.append(row)
            print(row, file=sys.stderr)
    return {"samples": N_SAMPLES, "fewest": FEWEST, "rows": rows}


def table(record: dict) -> str:
    """As it stands in docs/protocol.md."""
    head = ["values", "n", *METHODS]
    lines = [head, ["---"] * len(head)]
    for row in record["rows"]:
        shares = [f"{100 * row[method]:.1f}" for method in METHODS]
        lines.append([row["shape"], str(row["n"]), *shares])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    if "--table" not in sys.argv[1:]:
        files.write(RECORD, json.dumps(measure(), indent=1) + "\n")
    print(table(json.loads(RECORD.read_text("utf-8"))), end="")


if __name__ == "__main__":
    main()
