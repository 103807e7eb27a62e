"""Derived and printed forms side by side."""

import json

import pytest

from acprop.lab.forms import periodic_state, state_curves
from acprop.lab.limits import limits
from acprop.lab.problems import dense


def test_the_ends_of_the_period_are_there_in_both_versions():
    table = periodic_state("dense", 10, 0.9, 0.99)
    state = limits(dense(10), 0.9, 0.99)
    assert table["derived"]["kP"]["s"] == pytest.approx(float(state.s[0]))
    assert table["derived"]["kP-1"]["m"] == pytest.approx(float(state.m[9]))
    # Appendix A.1 takes the residual against m_{t-1}: larger by β1^-2
    ratio = table["printed"]["kP"]["s"] / table["derived"]["kP"]["s"]
    assert ratio == pytest.approx(0.9**-2)
    assert table["printed"]["kP"]["v"] is None


def test_the_printed_m_and_v_of_the_sparse_problem_are_right_and_s_is_not():
    table = periodic_state("sparse", 10, 0.9, 0.99)
    for phase in ("kP", "kP-1", "kP-2", "kP-3"):
        ours, theirs = table["derived"][phase], table["printed"][phase]
        assert theirs["m"] == pytest.approx(ours["m"])
        assert theirs["v"] == pytest.approx(ours["v"])
        assert theirs["s"] > 1.3 * ours["s"]


def test_where_beta1_squared_is_beta2_nothing_can_be_printed():
    table = periodic_state("dense", 10, 0.5, 0.25)
    assert table["printed"]["kP"]["s"] is None
    assert table["derived"]["kP"]["s"] > 0
    json.dumps(table, allow_nan=False)
    labels = [line.label for line in state_curves("dense", 10, 0.5, 0.25).lines]
    assert labels == ["v, derived", "s, derived"]
    assert len(state_curves("dense", 10, 0.5, 0.3).lines) == 3
