"""Budgets: which trials train how long."""

import pytest

from acprop.reproduce.halving import (
    Pace,
    Rung,
    epochs_of,
    fit,
    ladders,
    left_out,
    seconds_in,
)

PACE = Pace(start=0.0, epoch=1.0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30min", 1800), ("1.5h", 5400), ("1 d", 86400)]
)
def test_a_budget_is_read(text, seconds):
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["30", "min", "-3min", "0s", "3 weeks", ""])
def test_a_budget_that_is_no_time_is_refused(text):
    with pytest.raises(
        ValueError, match=r"^budget must be a time like 90s, 30min or 2h"
    ):
        seconds_in(text)


def test_with_enough_time_nothing_is_left_out():
    ladder = fit(8, 10, PACE, 80)
    assert ladder == (Rung(10, 8),)
    assert left_out(ladder, 8, 10, 4) == []


def test_less_time_is_spent_by_halving():
    """8 trials to epoch 5, the better 4 to 10: 40 + 20 epochs."""
    ladder = fit(8, 10, PACE, 79)
    assert ladder == (Rung(5, 8), Rung(10, 4))
    assert epochs_of(ladder) == 60
    assert left_out(ladder, 8, 10, 4) == [
        "4 of 8 trials of each optimizer were stopped after epoch 5 of 10"
    ]
    assert fit(8, 10, PACE, 59) == (Rung(2, 8), Rung(5, 4), Rung(10, 2))


def test_very_little_time_leaves_trials_out_altogether():
    ladder = fit(8, 10, PACE, 16)
    assert ladder[0].trials < 8
    assert (
        "trials of each of 4 optimizers were not begun" in left_out(ladder, 8, 10, 4)[0]
    )


def test_a_ladder_never_costs_more_than_the_budget():
    for budget in range(10, 100):
        assert epochs_of(fit(8, 10, PACE, budget)) <= budget


def test_a_budget_below_one_trial_is_refused():
    with pytest.raises(
        ValueError, match=r"^budget must leave 10 s for one trial of each"
    ):
        fit(8, 10, PACE, 9)


def test_every_ladder_ends_with_whole_runs_and_narrows():
    for ladder in ladders(13, 7):
        assert ladder[-1].epochs == 7
        epochs, trials = zip(*((r.epochs, r.trials) for r in ladder), strict=True)
        assert list(epochs) == sorted(set(epochs))
        assert list(trials) == sorted(trials, reverse=True)
        assert trials[-1] >= 1


def test_the_seconds_that_runs_need_to_begin_count():
    pace = Pace(start=2.0, epoch=1.0)
    assert pace.seconds((Rung(5, 8), Rung(10, 4))) == 60 + 2 * 12
