"""Intervals of a mean: Student's for few values, the bootstrap's for more."""

import json
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from acprop.intervals import FEWEST, bootstrap, expanded_share, interval

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "results/protocol/coverage.json").read_text("utf-8"))
VALUES = tuple(np.random.default_rng(0).normal(3, 2, size=10))


def test_few_values_have_students_interval():
    few = VALUES[: FEWEST - 1]
    expected = stats.t.interval(0.95, len(few) - 1, np.mean(few), stats.sem(few))
    assert interval(few) == pytest.approx(expected, rel=1e-13)


def test_from_eight_values_on_it_is_the_bootstraps():
    """Expanded percentiles, by hand: the same share of all resampled means outside."""
    values = np.array(VALUES[:FEWEST])
    share = stats.norm.cdf(-math.sqrt(8 / 7) * stats.t.ppf(0.975, 7))
    assert expanded_share(8) == pytest.approx(share, rel=1e-13)
    rng = np.random.default_rng(5)
    means = values[rng.integers(8, size=(40_000, 8))].mean(axis=1)
    expected = np.quantile(means, [share, 1 - share])
    width = expected[1] - expected[0]
    assert interval(values) == bootstrap(values)
    np.testing.assert_allclose(interval(values), expected, atol=0.04 * width)


def test_the_same_values_have_the_same_interval():
    assert bootstrap(VALUES) == bootstrap(list(VALUES))


@pytest.mark.parametrize("n", [0, 1])
def test_one_value_has_none(n):
    assert np.isnan(interval(VALUES[:n])).all()


def test_equal_values_have_an_interval_without_width():
    assert interval([2.0] * 9) == (2.0, 2.0)


def test_the_measured_coverage_is_why_it_was_chosen():
    """Ours is never far below 95 %; percentiles and BCa are, of few values."""
    assert RECORD["fewest"] == FEWEST
    for row in RECORD["rows"]:
        assert row["ours"] > 0.91
        assert row["ours"] > max(row["percentile"], row["BCa"])
    normal = {r["n"]: r for r in RECORD["rows"] if r["shape"] == "normal"}
    assert all(abs(row["ours"] - 0.95) < 0.01 for row in normal.values())
    assert normal[3]["percentile"] < 0.76  # [lowest, highest] holds 75 %
    assert normal[10]["BCa"] < 0.91


def test_the_script_measures_what_the_record_says():
    """One row again, with fewer samples: within their own error."""
    script = runpy.run_path(str(ROOT / "scripts/interval_coverage.py"))
    draw, mean = script["SHAPES"]["normal"]
    samples = draw(np.random.default_rng(3), (400, 8))
    low, high = script["intervals"]("ours", samples)
    share = np.mean((low <= mean) & (mean <= high))
    assert abs(share - 0.942) < 4 * math.sqrt(0.95 * 0.05 / 400)
