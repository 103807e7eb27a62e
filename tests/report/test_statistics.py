import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from acprop.report.selection import best, selection_metric
from acprop.report.statistics import (
    arms_of,
    brief,
    describe,
    over_seeds,
    summarize,
    unclean,
    varying,
)

from .made_runs import run, seeds, with_status

RUNS = [*seeds("acprop", (0.7, 0.72, 0.74)), *seeds("adam", (0.6, 0.63, 0.63))]


def arm(optimizer, finals, **settings):
    (made,) = arms_of(seeds(optimizer, finals, **settings))
    return made


def test_runs_that_differ_in_nothing_but_the_seed_are_one_arm():
    arms = arms_of([*RUNS[::-1], run("adam", 0, lr=0.5)])
    assert [(a.optimizer, len(a.runs)) for a in arms] == [
        ("adam", 3), ("acprop", 3), ("adam", 1),
    ]  # fmt: skip
    assert [r.seed for r in arms[0].runs] == [0, 1, 2]


def test_a_seed_among_the_settings_does_not_part_an_arm():
    runs = [replace(run(seed=s), settings={"lr": 0.1, "seed": s}) for s in (0, 1)]
    (made,) = arms_of(runs)
    assert len(made.runs) == 2


def test_a_task_of_its_own_is_an_arm_of_its_own():
    other = run(seed=1)
    spec = {**other.spec, "task_settings": {"dataset": "cifar100", "width": 0.25}}
    arms = arms_of([run(seed=0), replace(other, spec=spec)])
    assert varying(arms) == ["dataset"]
    assert [describe(a, ["dataset"]) for a in arms] == [
        "ACProp (default), dataset = cifar10",
        "ACProp (default), dataset = cifar100",
    ]  # fmt: skip


def test_a_setting_that_one_of_two_arms_names_tells_them_apart():
    """But one that another optimizer does not know is no difference."""
    default, adam = arm("acprop", [0.5]), arm("adam", [0.5], eps=1e-8)
    assert varying([default, adam]) == []
    other = arm("acprop", [0.5], amsgrad=True)
    assert varying([default, other, adam]) == ["amsgrad"]


def test_the_same_seed_twice_in_an_arm_is_refused():
    twice = [run(seed=3), replace(run(seed=3), run="other")]
    with pytest.raises(ValueError, match=r"runs must have a seed once .*, got 3 in"):
        arms_of(twice)


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(3, 2, size=7)
    found = summarize(values)
    expected = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    np.testing.assert_allclose((found.low, found.high), expected, rtol=1e-13)
    assert (found.n, found.std) == (7, values.std(ddof=1))


def test_about_95_of_100_intervals_hold_the_truth():
    draws = np.random.default_rng(1).normal(size=(1000, 3))
    found = [summarize(values) for values in draws]
    share = np.mean([s.low <= 0 <= s.high for s in found])
    assert abs(share - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 1000)


def test_one_value_has_a_mean_and_no_spread():
    found = summarize([2.0, math.nan])
    assert (found.n, found.mean) == (1, 2.0)
    assert np.isnan([found.std, found.low, found.high]).all()


def test_a_diverged_run_is_counted_and_not_in_the_mean():
    (made,) = arms_of(with_status(seeds("adam", (0.5, 0.9, 0.7)), 1, "diverged"))
    assert (made.losses, len(made.runs)) == (["1 of 3 diverged"], 3)
    seen = over_seeds(made, "val_accuracy")
    assert (seen.n, seen.mean) == (2, pytest.approx(0.6))


@pytest.mark.parametrize("status", ["timeout", "error"])
def test_a_run_that_was_stopped_is_no_divergence(status):
    (made,) = arms_of(with_status(seeds("adam", (0.5, 0.9)), 1, status))
    assert (made.losses, len(made.done)) == (["1 of 2 stopped"], 1)


def test_arms_that_differ_in_what_is_chosen_are_one_method():
    one, other = arm("nadam", (0.5,), lr=0.1), arm("nadam", (0.5,), lr=0.2)
    assert one.method == other.method
    assert arm("nadam", (0.5,), momentum_decay=0.0).method != one.method
    authors = arm("acprop", (0.5,), convention="authors")
    assert authors.method != arm("acprop", (0.5,)).method


def test_runs_of_code_that_no_commit_holds_are_marked_and_counted():
    """A number can be made again only if somebody has the code that made it."""
    runs = [
        replace(r, commit=c)
        for r, c in zip(RUNS, ("a", "b-dirty", "", "c", "d", "e-dirty"), strict=True)
    ]
    acprop, adam = arms_of(runs)
    assert unclean(runs) == (
        "† Code that no commit holds: 2 with changes not committed, 1 with no commit "
        "known, of 6 runs."
    )
    assert (acprop.mark, adam.mark) == ("†", "†")
    assert unclean(RUNS) == arms_of(RUNS)[0].mark == ""


def test_validation_chooses_whatever_the_test_says():
    """The other one is far better on the test data, which must not matter."""
    chosen = arm("adam", (0.7, 0.7), lr=0.1)
    tempting = [
        replace(r, final={**r.final, "test_accuracy": 0.99})
        for r in seeds("adam", (0.69, 0.69), lr=0.2)
    ]
    assert best([*arms_of(tempting), chosen], "val_accuracy") == chosen


def test_choosing_by_test_is_refused():
    with pytest.raises(
        ValueError, match=r"metric must be one of validation, .* got te"
    ):
        best(arms_of(RUNS), "test_accuracy")


def test_a_falling_validation_metric_is_chosen_at_its_lowest():
    def with_loss(optimizer, loss):
        return replace(run(optimizer), final={"val_loss": loss})

    arms = arms_of([with_loss("adam", 0.5), with_loss("sgd", 0.4)])
    assert best(arms, "val_loss").optimizer == "sgd"


def test_a_setting_that_lost_seeds_goes_behind_one_that_did_not():
    shaky = arms_of(with_status(seeds("adam", (0.9, 0.9), lr=1.0), 0, "diverged"))
    steady = arms_of(seeds("adam", (0.5, 0.5)))
    assert best([*shaky, *steady], "val_accuracy") == steady[0]


def test_the_selection_metric_is_accuracy_if_there_is_one():
    assert selection_metric(RUNS) == "val_accuracy"
    only = replace(run(), final={"val_loss": 1.0, "test_accuracy": 0.5})
    assert selection_metric([only]) == "val_loss"
    text = replace(run(), final={"val_bits_per_byte": 1.4, "val_loss": 1.0})
    assert selection_metric([text]) == "val_loss"
    translated = replace(run(), final={"val_bleu": 9.0, "val_loss": 1.0})
    assert selection_metric([translated]) == "val_bleu"
    assert selection_metric([replace(run(), final={})]) is None


def test_betas_are_settings_of_their_own():
    (made,) = arms_of([run(betas=[0.9, 0.999])])
    assert (made.settings["beta1"], made.settings["beta2"]) == (0.9, 0.999)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-8, "1e-08"), (0.001, "0.001"), (True, "yes"), ([0.9, 1], "(0.9, 1)")],
)
def test_settings_are_brief(value, text):
    assert brief(value) == text
