"""The best trial: by validation, by its last epoch, and never one that failed."""

import math
from dataclasses import replace

import pytest

from acprop.records import RunStatus
from acprop.report.selection import trial_results, winner

from .made_runs import run

# For each trial and seed of tuning: the epochs' validation accuracy.
VALUES = {
    0: [(0.5, 0.6), (0.5, 0.6)],
    1: [(0.1, 0.8), (0.1, 0.7)],
    2: [(0.9, 0.9), (0.9, 0.9)],
    3: [(0.2, 0.75), (0.2, 0.75)],
}


def made(**lost):
    """lost: for "trial_seed" the status of that run."""
    records, trials = {}, []
    for number, values in VALUES.items():
        names = []
        for seed, epochs in enumerate(values):
            name = f"{number}-{seed}"
            status = RunStatus(lost.get(f"t{number}_{seed}", "done"))
            records[name] = replace(run("sgd", seed, epochs), run=name, status=status)
            names.append(name)
        trials.append(
            {"contestant": "sgd", "number": number, "settings": {}, "runs": names}
        )
    return trials, records


def won(trials, records):
    found = winner(trial_results(trials, records, "val_accuracy"), "val_accuracy")
    return None if found is None else found.number


def test_the_mean_over_seeds_at_the_last_epoch_decides():
    assert won(*made()) == 2
    results = trial_results(*made(), "val_accuracy")
    assert [r.value for r in results] == pytest.approx([0.6, 0.75, 0.9, 0.75])


@pytest.mark.parametrize("status", ["diverged", "error", "timeout", "interrupted"])
def test_a_trial_of_which_one_run_failed_cannot_win(status):
    trials, records = made(t2_1=status)
    assert won(trials, records) == 1
    result = trial_results(trials, records, "val_accuracy")[2]
    assert math.isnan(result.value)
    assert result.has_failed == (status != "interrupted")


def test_a_trial_without_a_record_has_failed():
    trials, records = made()
    del records["2-0"]
    assert won(trials, records) == 1
    assert trial_results(trials, records, "val_accuracy")[2].has_failed


def test_nobody_wins_if_all_failed():
    lost = {f"t{number}_0": "diverged" for number in VALUES}
    assert won(*made(**lost)) is None


def test_a_lower_loss_is_better():
    trials, records = made()
    losing = {
        name: replace(r, history=({"val_loss": r.history[-1]["val_accuracy"]},))
        for name, r in records.items()
    }
    found = winner(trial_results(trials, losing, "val_loss"), "val_loss")
    assert found.number == 0


def test_test_data_never_select():
    with pytest.raises(
        ValueError, match=r"^metric must be one of validation, val_…, got"
    ):
        trial_results(*made(), "test_accuracy")
