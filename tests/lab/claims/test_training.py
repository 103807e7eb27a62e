"""The claims on training: what small runs measured, and what others would change."""

import copy

import pytest

from acprop.lab.claims import training


def test_the_record_has_the_runs_that_the_script_asks_for():
    record = training.measured()
    assert {len(runs) for runs in record["mnist"].values()} == {2}
    assert {len(run) for runs in record["mnist"].values() for run in runs} == {15}
    assert list(record["moments"]) == ["gpt", "vgg"]


@pytest.fixture
def altered(monkeypatch):
    """A copy of the record, to be changed."""
    record = copy.deepcopy(training.measured())
    monkeypatch.setattr(training, "measured", lambda: record)
    return record


def test_an_s_that_is_never_small_would_be_seen(altered):
    for task in altered["moments"].values():
        task["below_1e-8"] = 0.0
    assert training.small_s().verdict == "holds"


def test_a_ratio_that_falls_would_be_seen(altered):
    for i, epoch in enumerate(altered["mnist"]["adam"][0]):
        epoch["s"] = epoch["v"] / (1 + i)
    assert training.noise_from_the_start().verdict == "fails"
