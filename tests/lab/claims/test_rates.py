"""The claims of Section 4 and Appendix B: their verdicts, and that they can change."""

from dataclasses import replace

import pytest

from acprop.lab import bounds
from acprop.lab.claims import momentum, preconditioner, rates, theorem41
from acprop.lab.rates import SETTINGS, TWINS, Rates, Slope

VERDICTS = {
    "async-step-is-unbiased": "holds",
    "sync-step-is-biased": "holds",
    "natural-lower-constant": "fails",
    "natural-lower-constant-corrected": "holds",
    "natural-upper-constant": "holds",
    "centering-gain-of-the-bound": "fails",
    "centering-gain-of-the-bound-corrected": "holds",
    "theorem-4.1-as-printed": "fails",
    "theorem-4.1-corrected": "holds",
    "theorem-4.1-for-every-run": "fails",
    "theorem-4.1-condition-is-needed": "holds",
    "theorem-4.1-condition-excludes-the-experiments": "holds",
    "theorem-4.1-delta-to-the-minus-four": "holds",
    "ceiling-takes-the-logarithm": "holds",
    "harmonic-sum-bound": "holds",
    "sync-stalls-on-skewed-noise": "holds",
    "momentum-theorem-as-printed": "fails",
    "momentum-theorem-corrected": "holds",
    "momentum-theorem-needs-no-asynchrony": "holds",
    "momentum-theorem-is-slower-than-root-t": "holds",
    "momentum-lemma": "holds",
    "momentum-sum-step": "fails",
    "momentum-sum-step-corrected": "holds",
    "momentum-norm-step": "fails",
    "momentum-norm-step-corrected": "holds",
    "momentum-young-step": "fails",
    "momentum-last-term-cancels": "holds",
}
# These two share one measurement of some seconds.
MEASURED = {"async-rate": "holds", "async-rate-beats-sync": "undecided"}
BY_NAME = {claim.name: claim for claim in rates.CLAIMS}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_claim_has_its_verdict_and_its_evidence(name):
    verdict = BY_NAME[name].verify()
    assert verdict.verdict == VERDICTS[name]
    assert any(ch.isdigit() for ch in verdict.evidence)
    assert verdict.numbers


@pytest.mark.parametrize("name", MEASURED)
def test_a_measured_rate_has_its_verdict(name):
    assert BY_NAME[name].verify().verdict == MEASURED[name]


def test_every_claim_has_a_name_of_its_own_and_a_verdict_here():
    assert len(BY_NAME) == len(rates.CLAIMS)
    assert BY_NAME.keys() == VERDICTS.keys() | MEASURED.keys()


def test_none_of_ours_fails():
    ours = [claim.name for claim in rates.CLAIMS if claim.owner == "ours"]
    assert {VERDICTS[name] for name in ours} == {"holds"}


def test_with_one_over_alpha0_the_printed_theorem_would_hold(monkeypatch):
    monkeypatch.setattr(bounds, "theorem_41_printed", bounds.theorem_41_corrected)
    assert theorem41.as_printed().verdict == "holds"


def test_with_the_printed_right_side_the_corrected_theorem_would_fail(monkeypatch):
    monkeypatch.setattr(bounds, "theorem_41_corrected", bounds.theorem_41_printed)
    assert theorem41.corrected().verdict == "fails"


def test_with_the_printed_right_side_the_corrected_momentum_would_fail(monkeypatch):
    monkeypatch.setattr(bounds, "momentum_corrected", bounds.momentum_printed)
    assert momentum.corrected().verdict == "fails"


def test_a_synchronous_method_in_the_place_of_acprop_would_be_biased(monkeypatch):
    monkeypatch.setattr(preconditioner, "ASYNC", ("adam",))
    assert preconditioner.async_is_unbiased().verdict == "fails"


def test_a_method_that_stalls_would_not_have_the_rate(monkeypatch):
    """RMSProp on skewed noise, in the place of the asynchronous methods."""
    stalling = replace(SETTINGS, alpha0=0.1, beta2=0.9, steps=3000)
    runs = rates.rates([rates.problem("cosine-skewed")], ("rmsprop",), stalling)
    monkeypatch.setattr(rates, "_measured", lambda: runs)
    monkeypatch.setattr(rates, "ASYNC", ("rmsprop",))
    assert rates.async_rate().verdict == "fails"


@pytest.mark.parametrize(("gap", "verdict"), [(0.12, "holds"), (0.0, "undecided")])
def test_a_factor_log_t_would_be_seen(monkeypatch, gap, verdict):
    """Slopes made up: all synchronous ones flatter by the gap."""
    wiggle = (-0.01, 0.0, 0.01)
    late = {"rmsprop", "rmsprop-centered"}
    made_up = tuple(
        Slope(p, o, (), tuple(-0.5 + gap * (o in late) * (1 + w) + w for w in wiggle))
        for p in rates.SYMMETRIC
        for pair in TWINS
        for o in pair
    )
    monkeypatch.setattr(rates, "_measured", lambda: Rates((), made_up))
    assert rates.async_beats_sync().verdict == verdict
