"""Every claim comes to its recorded verdict; a fresh one that differs is found.

results/lab/verdicts.jsonl is where verdicts are written down, so that a change of mind
is a change of a file.
"""

import re
import runpy
from pathlib import Path

import pytest

from acprop.lab.claims import CLAIMS, PARTS, find, verify
from acprop.lab.claims.claim import REGISTERED
from acprop.records import KINDS, from_json, to_json, write

from .conftest import QUICK_SECONDS, recorded

RECORDED = recorded()
QUICK = {name for name, v in RECORDED.items() if v.wall_seconds <= QUICK_SECONDS}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_comes_to_its_recorded_verdict_with_evidence(name):
    found = verify(name)
    assert (found.claim, found.verdict) == (name, RECORDED[name].verdict)
    assert re.search(r"\d", found.evidence)
    assert found.numbers
    assert from_json(to_json(found)).claim == name


def test_every_claim_is_found_under_a_name_of_its_own():
    assert len(CLAIMS) == len(REGISTERED) > 90
    assert all(re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", name) for name in CLAIMS)
    assert all(claim.statement for claim in CLAIMS.values())


def test_some_claims_of_almost_every_file_are_quick_enough_to_be_decided_here():
    files = {CLAIMS[name].check.__module__ for name in QUICK}
    assert len(files) > len(PARTS) / 2


def test_an_unknown_claim_is_refused():
    with pytest.raises(ValueError, match=r"^claim must be one of .*, got 'lemma-9'"):
        find(["lemma-9"])


def test_what_fails_numerically_is_corrected_at_the_same_place():
    fails = [
        c
        for c in CLAIMS.values()
        if RECORDED[c.name].verdict == "fails"
        and c.check.__module__.endswith(("numerics", "constants", "harmonic"))
    ]
    assert len(fails) == 5
    for claim in fails:
        ours = CLAIMS[f"{claim.name}-corrected"]
        assert ours.owner == "ours"
        assert claim.place.startswith(ours.place)


def test_every_kind_of_claim_is_there():
    """But for what is seen in training, which `acprop.report.sentences` decides."""
    found = {c.kind for c in CLAIMS.values() if c.owner == "paper"}
    assert found == set(KINDS) - {"empirical"}


def test_four_claims_are_definitions_and_each_holds():
    """They follow from what the paper defines; a break in our code is what is seen."""
    definitions = {c.name for c in CLAIMS.values() if c.kind == "definition"}
    assert definitions == {
        "adam-without-momentum",
        "natural-upper-constant",
        "theorem-4.1-delta-to-the-minus-four",
        "uncentered-moment",
    }
    assert {RECORDED[name].verdict for name in definitions} == {"holds"}


@pytest.fixture
def script():
    root = Path(__file__).parents[3]
    return runpy.run_path(str(root / "scripts" / "same_verdicts.py"))


def test_a_verdict_that_changed_or_is_missing_is_named(script, tmp_path):
    write(tmp_path / "a.jsonl", [verify("harmonic-at-one-half")])
    fresh = script["verdicts"](tmp_path / "a.jsonl")
    assert fresh == {"harmonic-at-one-half": "holds"}
    assert script["differences"](fresh, fresh) == []
    changed = {"harmonic-at-one-half": "fails"}
    line = "harmonic-at-one-half: holds, recorded: fails"
    assert script["differences"](fresh, changed) == [line]
    line = "harmonic-at-one-half: not decided, recorded: fails"
    assert script["differences"]({}, changed) == [line]
    line = "harmonic-at-one-half: holds, recorded: nothing"
    assert script["differences"](fresh, {}) == [line]
