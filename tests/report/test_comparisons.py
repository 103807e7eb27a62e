"""Who is better, when several are compared and some runs fail."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from acprop.report.comparisons import (
    compare_all,
    holm,
    paired_p,
    to_target,
)
from acprop.report.statistics import arms_of, over_seeds

from .made_runs import run, seeds, with_status

TEN = np.random.default_rng(0).normal(0.7, 0.01, size=10)


def arm(optimizer, finals, lost=(), **settings):
    runs = seeds(optimizer, finals, **settings)
    for seed in lost:
        runs = with_status(runs, seed, "diverged")
    (made,) = arms_of(runs)
    return made


def test_holms_correction_by_hand():
    """Four tests: the smallest p counts four times, the next three times, and so on."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_comparison_without_a_p_still_counts_in_the_family():
    assert holm([0.02, math.nan]) == pytest.approx([0.04, 1.0])


def test_p_is_students():
    differences = [0.1, 0.3, -0.05, 0.2]
    assert paired_p(differences) == pytest.approx(
        stats.ttest_rel(np.array(differences) + 1, np.ones(4)).pvalue
    )


@pytest.mark.parametrize(
    ("differences", "p"), [([], math.nan), ([1.0], math.nan), ([0.0] * 3, 1.0),
                           ([0.5] * 3, 0.0)]
)  # fmt: skip
def test_p_of_differences_that_do_not_spread(differences, p):
    assert paired_p(differences) == pytest.approx(p, nan_ok=True)


def words(arms, metric="test_accuracy"):
    return [c.words if c else None for c in compare_all(arms, arms[0], metric)]


def test_better_and_worse_follow_the_metric():
    drift = 0.001 * np.arange(10)
    below, above = arm("adam", TEN - 0.02 + drift), arm("sgd", TEN + 0.02 + drift)
    arms = [arm("acprop", TEN), below, above]
    assert words(arms) == [None, "worse", "better"]
    assert words(arms, "train_loss") == [None, "worse", "better"]


def test_what_one_comparison_shows_a_family_may_not():
    """p = 0.03 alone is 0.15 among five."""
    shift = np.array([0.004, 0.001, 0.006, 0.001, 0.003])
    values = TEN[:5]
    ours, theirs = arm("acprop", values), arm("adam", values + shift)
    alone = compare_all([ours, theirs], ours, "test_accuracy")[1]
    assert 0.01 < alone.p < 0.05
    assert alone.words == "better"
    others = [arm("sgd", values[::-1] + 0.001 * i, lr=i) for i in (1, 2, 3, 4)]
    among = compare_all([ours, theirs, *others], ours, "test_accuracy")[1]
    assert among.p == pytest.approx(5 * alone.p)
    assert among.words == "no difference shown after correction"


def test_fewer_than_five_seeds_call_nobody_better():
    """Four seeds, each 0.1 apart: interval and p are clear, and do not count."""
    shift = 0.1 + 0.001 * np.arange(5)
    for n, expected in (
        (4, "no difference shown: fewer than 5 seeds"),
        (5, "better"),
        (1, "no difference shown"),
    ):
        arms = [arm("acprop", TEN[:n]), arm("adam", TEN[:n] + shift[:n])]
        assert words(arms) == [None, expected]


def test_pairs_show_a_difference_that_means_hide():
    """Seeds differ by 0.2, arms by 0.01: only the paired interval excludes zero."""
    values = np.array([0.3, 0.5, 0.7, 0.4, 0.6])
    shift = np.array([0.01, 0.011, 0.009, 0.01, 0.012])
    one, other = arm("acprop", values + shift), arm("adam", values)
    ours, theirs = (over_seeds(a, "val_accuracy") for a in (one, other))
    assert ours.low < theirs.mean < ours.high
    assert words([other, one])[1] == "better"


def test_pairs_are_made_by_seed_and_of_finished_runs_only():
    one = arm("acprop", (0.5, 0.6, 0.9), lost=(2,))
    (other,) = arms_of(
        [run("adam", s, (v,)) for s, v in ((2, 0.1), (1, 0.5), (0, 0.4))]
    )
    found = compare_all([one], other, "val_accuracy")[0].difference
    assert (found.n, found.mean) == (2, pytest.approx(0.1))


def test_an_interval_with_zero_in_it_shows_no_difference():
    arms = [arm("acprop", TEN), arm("adam", TEN[::-1])]
    found = compare_all(arms, arms[0], "test_accuracy")[1]
    assert found.difference.low < 0 < found.difference.high
    assert found.words == "no difference shown"


def test_who_fails_more_often_is_never_called_better():
    """Of ten seeds three diverged; the seven others are far better."""
    good = TEN + 0.05 + 0.001 * np.arange(10)
    failing = arm("sgd", good, lost=(0, 3, 7))
    ours = arm("acprop", TEN)
    assert words([ours, failing]) == [
        None, "no difference shown: of the better one more runs failed",
    ]  # fmt: skip
    assert words([failing, ours])[1].startswith("no difference shown: of the better")
    assert words([arm("acprop", TEN, lost=(0, 3, 4)), failing])[1] == "better"
    assert words([failing, arm("adam", TEN - 0.1)])[1].startswith("no difference")
    worse = arm("sgd", good - 0.1, lost=(0, 3))
    assert words([ours, worse])[1] == "worse"


def test_steps_and_seconds_to_a_target():
    def made(seed, values, status="done"):
        one = run("sgd", seed, values, status=status)
        history = tuple(
            {**entry, "step": 20 * i, "wall_seconds": 0.5}
            for i, entry in enumerate(one.history, 1)
        )
        return replace(one, history=history)

    (found,) = arms_of([made(0, (0.5, 0.8, 0.7)), made(1, (0.9, 0.9, 0.9)),
                        made(2, (0.1, 0.2, 0.3))])  # fmt: skip
    assert to_target(found, "val_accuracy", 0.8) == (40, 1.0, 2)
    (failing,) = arms_of([made(0, (0.9, 0.9), "diverged"), made(1, (0.9, 0.9))])
    assert to_target(failing, "val_accuracy", 0.8) == (math.inf, math.inf, 1)
    assert to_target(found, "train_loss", 0.15) == (math.inf, math.inf, 1)
