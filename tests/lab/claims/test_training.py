"""The claims on training: what small runs measured, and what others would change."""

import copy

import pytest

from acprop.lab.claims import training


def test_the_record_has_the_runs_that_the_script_asks_for():
    record = training.measured()
    assert {len(runs) for runs in record["mnist"].values()} == {2}
    assert {len(run) for runs in record["mnist"].values() for run in runs} == {15}
    cells = [cell for beta in record["vgg"].values() for cell in beta.values()]
    assert len(cells) == 9
    assert {len(cell) for cell in cells} == {3}
    assert list(record["moments"]) == ["gpt", "vgg"]


@pytest.fixture
def altered(monkeypatch):
    """A copy of the record, to be changed."""
    record = copy.deepcopy(training.measured())
    monkeypatch.setattr(training, "measured", lambda: record)
    return record


def test_one_epoch_with_a_larger_s_would_be_seen(altered):
    epoch = altered["mnist"]["adam"][0][3]
    epoch["s"] = 1.1 * epoch["v"]
    assert training.s_below_v().verdict == "fails"


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "holds"), (2.0, "fails")])
def test_a_centered_method_ahead_throughout_would_be_seen(altered, factor, verdict):
    for ours, theirs in zip(*altered["mnist"].values(), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            a["train_loss"] = factor * b["train_loss"]
    assert training.centered_is_faster().verdict == verdict


def test_an_s_that_is_never_small_would_be_seen(altered):
    for task in altered["moments"].values():
        task["below_1e-8"] = 0.0
    assert training.small_s().verdict == "holds"


def test_minima_far_apart_would_be_seen(altered):
    for epoch in altered["mnist"]["adam"][0]:
        epoch["s"] = 0.5 * epoch["v"]
    assert training.late_minima().verdict == "fails"


@pytest.mark.parametrize(
    ("runs", "power", "verdict"),
    [(1, 1, "undecided"), (4, 1, "fails"), (4, -1, "holds")],
)
def test_a_ratio_that_grows_or_falls_would_be_seen(altered, runs, power, verdict):
    every = [run for runs in altered["mnist"].values() for run in runs]
    for run in every[:runs]:
        for i, epoch in enumerate(run):
            epoch["s"] = epoch["v"] / (1 + i) ** power
    assert training.ratio_decays().verdict == verdict
    assert training.noise_from_the_start().verdict == "fails"


@pytest.mark.parametrize(
    ("beta", "verdict"), [("beta2", "holds"), ("beta1", "undecided")]
)
def test_a_wide_spread_would_be_seen(altered, beta, verdict):
    altered["vgg"]["beta1"] = {"0.5": [0.50, 0.51, 0.505], "0.9": [0.502, 0.51, 0.51]}
    altered["vgg"]["beta2"] = copy.deepcopy(altered["vgg"]["beta1"])
    altered["vgg"][beta]["0.99"] = [0.20, 0.21, 0.22]
    assert training.betas().verdict == verdict
