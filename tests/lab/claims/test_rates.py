"""The claims of Section 4 and Appendix B: their verdicts can change."""

import math

import numpy as np
import pytest

from acprop.lab import bounds
from acprop.lab.claims import momentum, preconditioner, rates, theorem41
from acprop.lab.claims.claim import Finding


def test_with_one_over_alpha0_the_printed_theorem_would_hold(monkeypatch):
    monkeypatch.setattr(bounds, "theorem_41_printed", bounds.theorem_41_corrected)
    assert theorem41.as_printed().verdict == "holds"


def test_with_the_printed_right_side_the_corrected_theorem_would_fail(monkeypatch):
    monkeypatch.setattr(theorem41, "theorem_41_corrected", bounds.theorem_41_printed)
    assert theorem41.corrected().verdict == "fails"


def test_with_the_printed_right_side_the_corrected_momentum_would_fail(monkeypatch):
    monkeypatch.setattr(momentum, "momentum_corrected", bounds.momentum_printed)
    assert momentum.corrected().verdict == "fails"


def test_a_large_eps_would_break_the_natural_lower_constant(monkeypatch):
    monkeypatch.setattr(preconditioner, "SMALL", (10.0,))
    assert preconditioner.lower_constant().verdict == "fails"


def test_each_step_of_the_momentum_theorem_would_be_seen_to_hold(monkeypatch):
    """With all three put right, and the right side too, nothing is left that fails."""
    monkeypatch.setattr(bounds, "momentum_printed", bounds.momentum_corrected)
    assert momentum.as_printed().verdict == "fails"
    for name in ("sum_step", "norm_step", "young_step"):
        monkeypatch.setattr(momentum, name, lambda: (1.0, 1.0))
    assert momentum.as_printed().verdict == "holds"


@pytest.mark.parametrize(
    ("size", "verdict"), [(lambda *_: 1.0, "holds"), (lambda d, _: 1 / d, "undecided")]
)
def test_an_oracle_with_bounded_gradients_would_reach(monkeypatch, size, verdict):
    monkeypatch.setattr(rates, "largest_gradient", size)
    assert rates.reach().verdict == verdict


def test_the_hard_problem_is_that_of_the_cited_proof():
    """Flat in every coordinate but the first from 0, and 23 bounds its gradient."""
    x = np.zeros(4)
    steps = [(rates.hard(x + 1e-6 * e) - rates.hard(x)) / 1e-6 for e in np.eye(4)]
    np.testing.assert_allclose(steps, [-math.sqrt(math.e), 0, 0, 0], atol=1e-5)
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(200, 4)):
        steps = [(rates.hard(x + 1e-6 * e) - rates.hard(x)) / 1e-6 for e in np.eye(4)]
        assert np.abs(steps).max() <= rates.LARGEST


def test_a_synchronous_method_in_the_place_of_acprop_would_be_biased(monkeypatch):
    monkeypatch.setattr(preconditioner, "ASYNC", ("adam",))
    assert preconditioner.async_is_unbiased().verdict == "fails"


def test_a_bound_with_a_logarithm_would_not_be_the_rate(monkeypatch):
    bound = rates.theorem_41_corrected
    monkeypatch.setattr(
        rates,
        "theorem_41_corrected",
        lambda c, h: bound(c, h) * math.log(h.steps),
    )
    assert rates.async_rate().verdict == "fails"


def test_a_theorem_that_runs_break_would_not_give_the_rate(monkeypatch):
    broken = Finding("fails", "broken", {})
    monkeypatch.setattr(theorem41, "corrected", lambda: broken)
    assert rates.async_rate().verdict == "fails"


@pytest.mark.parametrize(("gap", "verdict"), [(0.12, "holds"), (0.0, "undecided")])
def test_a_factor_log_t_would_be_seen(monkeypatch, gap, verdict):
    """Slopes made up: all synchronous ones flatter by the gap."""
    wiggle = (-0.01, 0.0, 0.01)
    late = {"rmsprop", "rmsprop-centered"}

    def made_up(_, optimizer):
        return np.array(
            [-0.5 + gap * (optimizer in late) * (1 + w) + w for w in wiggle]
        )

    monkeypatch.setattr(rates, "_slopes", made_up)
    assert rates.async_beats_sync().verdict == verdict
