"""The claims about averaging: each can fail."""

import numpy as np
import pytest

from acprop.lab import phase
from acprop.lab.claims import (
    averaging_first,
    averaging_theorems,
    verify,
)
from acprop.lab.claims.averaging import Stall
from acprop.lab.methods import METHODS
from acprop.rule import ACPROP, ACPROP_BEFORE, ADABELIEF, ADAM, Rule


def test_another_threshold_would_not_be_met(monkeypatch):
    exact = phase.threshold
    monkeypatch.setattr(averaging_first, "threshold", lambda *a: 1.01 * exact(*a))
    assert verify("averaging-first-threshold").verdict == "fails"


def test_another_critical_beta1_would_not_protect(monkeypatch):
    monkeypatch.setattr(averaging_first, "critical_beta1", lambda _: 0.6)
    assert verify("averaging-first-critical-beta1").verdict == "fails"


def test_another_end_of_the_band_would_be_seen(monkeypatch):
    exact = phase.band_end
    monkeypatch.setattr(averaging_first, "band_end", lambda *a: 1.05 * exact(*a))
    assert verify("averaging-first-band").verdict == "fails"


def test_the_age_of_a_gradient_is_not_b_with_look_ahead(monkeypatch):
    exact = averaging_theorems.mean_age
    monkeypatch.setattr(
        averaging_theorems, "mean_age", lambda b, **_: exact(b, nesterov=False)
    )
    found = verify("average-after-lemma")
    assert found.verdict == "fails"
    assert 90 < found.numbers["wrong"] <= 100  # β1 = 0 has no age at all


@pytest.mark.parametrize(
    ("claim", "bound"),
    [("average-after-theorem", "after"), ("average-before-theorem", "before_inside")],
)
def test_a_smaller_right_side_would_be_too_small(claim, bound, monkeypatch):
    exact = getattr(averaging_theorems, bound)
    monkeypatch.setattr(
        averaging_theorems, bound, lambda *a, **kw: 0.05 * exact(*a, **kw)
    )
    assert verify(claim).verdict == "fails"


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_neither_a_smaller_nor_a_larger_limit_of_s_would_do(factor, monkeypatch):
    exact = averaging_theorems.second_moment_limit
    monkeypatch.setattr(
        averaging_theorems, "second_moment_limit", lambda *a: factor * exact(*a)
    )
    assert verify("default-s-is-bounded").verdict == "fails"


def test_a_plateau_like_b_times_one_minus_beta2_would_be_seen(monkeypatch):
    b = np.array([[1.0], [7 / 3], [9.0]])
    fake = np.sqrt(0.02 * b * (1 - np.array(averaging_first.GRID2)))
    monkeypatch.setattr(averaging_first, "resting", lambda: fake)
    monkeypatch.setattr(averaging_first, "stall", lambda *_, **__: Stall(1.0, 1.0))
    assert verify("average-before-plateau").verdict == "fails"


def test_a_run_that_stalls_with_decaying_beta2_would_be_seen(monkeypatch):
    monkeypatch.setattr(averaging_first, "decaying", lambda: Stall(1.0, 0.9))
    monkeypatch.setattr(averaging_first, "stall", lambda _: Stall(1.0, 1.0))
    assert verify("average-before-decaying-beta2").verdict == "fails"


def test_only_rules_that_average_first_have_a_share():
    with pytest.raises(ValueError, match=r'^rule must have average="before" and no'):
        phase.mean_share(ACPROP, 0.9)


def test_the_critical_beta1_is_where_the_threshold_goes_to_infinity():
    critical = phase.critical_beta1(ACPROP_BEFORE)
    assert critical == pytest.approx(0.5652, abs=5e-5)
    assert phase.threshold(ACPROP_BEFORE, critical - 1e-9) == np.inf
    assert phase.threshold(ACPROP_BEFORE, critical + 1e-9) > 1e8
    assert phase.critical_beta1(Rule("before", None, 1)) == pytest.approx(0.5)
    assert phase.critical_beta1(ADAM) == phase.critical_beta1(ADABELIEF) == 0


def test_synchronous_methods_are_wrong_all_the_way_down():
    assert phase.band_end(ADAM, 0.9) == np.inf
    assert phase.band_end(ACPROP_BEFORE, 0.5) == 0
    assert np.isnan(phase.scaled_border(METHODS["acprop-before"], 0.5, 100))


def test_the_figure_has_the_limit_and_the_exact_borders():
    scaled, plane = phase.records()
    assert scaled.about["critical_beta1"] == pytest.approx(0.5652, abs=5e-5)
    near, far, low, high = plane.lines
    k = [np.argmin(np.abs(np.array(line.x) - 0.9)) for line in plane.lines]
    ends = [line.y[i] for line, i in zip((near, far, low, high), k, strict=True)]
    assert ends[2] == pytest.approx(ends[0], rel=0.3)
    assert ends[3] == pytest.approx(ends[1], rel=0.1)
