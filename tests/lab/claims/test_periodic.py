"""The claims about the periodic problems: what each comes to, and that it can fail."""

from dataclasses import replace

import numpy as np
import pytest

from acprop.lab.claims import (
    CLAIMS,
    clip,
    dense,
    find,
    forms,
    momentum_u,
    sparse,
    verify,
)
from acprop.lab.problems import periodic
from acprop.rule import GUARDED

EXPECTED = {
    "lemma-3.1": "holds",
    "lemma-3.2": "holds",
    "fig-1-threshold": "fails",
    "lemma-3.3": "holds",
    "lemma-3.3-minimum": "holds",
    "fig-area-dense-0.5": "fails",
    "fig-area-dense-0.7": "holds",
    "fig-area-dense-0.9": "holds",
    "adashift-long-delay": "holds",
    "amsgrad-converges": "holds",
    "dense-no-contradiction": "holds",
    "dense-first-step": "holds",
    "rmsprop-threshold-scaling": "holds",
    "lemma-3.4": "holds",
    "weaker-than-sync": "fails",
    "sparse-condition": "holds",
    "sparse-ratio": "fails",
    "sparse-constant": "fails",
    "adashift-large-delay-sparse": "fails",
    "fig-area-sparse-0.85": "holds",
    "fig-area-sparse-0.9": "holds",
    "fig-area-sparse-0.95": "holds",
    "adashift-border": "holds",
    "sparse-early-convergence": "holds",
    "clip-falls-silent": "holds",
    "clip-keeps-the-limit": "holds",
    "clip-price": "holds",
    "clip-bias": "holds",
    "theorem-4.1-clipped": "holds",
    "momentum-u-keeps-the-drift": "holds",
    "momentum-u-own-centering": "holds",
    "dense-m": "holds",
    "dense-m-finite": "fails",
    "dense-s": "fails",
    "dense-s-previous": "fails",
    "sparse-m": "holds",
    "sparse-v": "holds",
    "sparse-s": "fails",
    "closed-forms": "holds",
}


def test_the_table_names_every_claim_of_these_files():
    parts = (dense, sparse, clip, momentum_u, forms)
    named = [c.name for part in parts for c in part.CLAIMS]
    assert named == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_claim_comes_to_its_verdict_with_evidence(name):
    found = verify(name)
    assert (found.claim, found.verdict) == (name, EXPECTED[name])
    assert found.evidence
    assert found.numbers
    assert found.place


def test_every_claim_of_ours_has_a_name_of_its_own():
    assert len(CLAIMS) > 90
    assert all(name == claim.name for name, claim in CLAIMS.items())


def test_an_unknown_claim_is_refused():
    with pytest.raises(ValueError, match=r"^claim must be one of .*, got lemma-9$"):
        find(["lemma-9"])


# Each break makes a false claim true or a true one false: the checks look.


def test_lemma_3_3_would_fail_for_a_synchronous_method(monkeypatch):
    monkeypatch.setattr(dense, "ASYNC", ("adam",))
    assert verify("lemma-3.3").verdict == "fails"


def test_lemma_3_4_would_fail_the_other_way_round(monkeypatch):
    turned = {"acprop": "adashift", "adashift": "acprop"}
    right = sparse.right
    monkeypatch.setattr(sparse, "right", lambda name: right(turned[name]))
    assert verify("lemma-3.4").verdict == "fails"


def test_the_minimum_of_s_would_be_missed_at_another_phase(monkeypatch):
    shifted = dense.log_centered
    monkeypatch.setattr(dense, "log_centered", lambda *a: np.roll(shifted(*a), 1, 0))
    assert verify("lemma-3.3-minimum").verdict == "fails"


def test_the_closed_forms_would_fail_if_they_were_off_by_a_little(monkeypatch):
    exact = forms.recursion

    def off(*a):
        table = exact(*a)
        return table | {"s": [s * (1 + 1e-10) for s in table["s"]]}

    monkeypatch.setattr(forms, "recursion", off)
    assert verify("closed-forms").verdict == "fails"
    assert forms.worst_error(periodic("dense", 5), 0.5, 0.5) > 1e-12


def test_the_first_step_claim_would_fail_if_the_kick_stayed(monkeypatch):
    protocol = dense.protocol
    monkeypatch.setattr(
        dense, "protocol", lambda *n, **kw: protocol(*n, **kw | {"kick": True})
    )
    assert verify("dense-first-step").verdict == "fails"


@pytest.mark.parametrize("claim", ["clip-falls-silent", "clip-keeps-the-limit"])
def test_a_bound_that_does_not_grow_would_never_fall_silent(claim, monkeypatch):
    monkeypatch.setattr(clip, "GUARDED", replace(GUARDED, clip=1.0))
    assert verify(claim).verdict == "fails"


def test_without_a_bound_there_would_be_no_price(monkeypatch):
    monkeypatch.setattr(clip, "GUARDED", clip.UNBOUND)
    assert verify("clip-price").verdict == "fails"


def test_a_smaller_right_side_would_be_too_small(monkeypatch):
    monkeypatch.setattr(clip, "theorem_41_clipped", lambda *_, T, **__: 1e-3 * T**-0.5)
    assert verify("theorem-4.1-clipped").verdict == "fails"


def test_momentum_would_not_keep_the_drift_with_the_other_centering(monkeypatch):
    run = momentum_u.simulated
    monkeypatch.setattr(momentum_u, "simulated", lambda kind, _: run(kind, "M"))
    assert verify("momentum-u-keeps-the-drift").verdict == "fails"
    assert verify("momentum-u-own-centering").verdict == "fails"
