"""The recorded verdicts are the expected ones; a fresh one that differs is found."""

import runpy
from pathlib import Path

import pytest

from acprop.lab.claims import CLAIMS, verify
from acprop.records import write

from .conftest import QUICK_SECONDS, recorded
from .test_averaging import VERDICTS as AVERAGING
from .test_numerics import EXPECTED as NUMERIC
from .test_periodic import EXPECTED
from .test_rates import MEASURED, VERDICTS
from .test_training import EXPECTED as TRAINED

ROOT = Path(__file__).parents[3]


def test_every_recorded_verdict_is_the_expected_one():
    """So what `make reproduce` compares with is what the tables beside this say."""
    expected = {**EXPECTED, **AVERAGING, **VERDICTS, **MEASURED, **TRAINED, **NUMERIC}
    assert {name: v.verdict for name, v in recorded().items()} == expected
    assert expected.keys() == CLAIMS.keys()


def test_some_claims_of_every_file_are_quick_enough_to_be_decided_here():
    quick = {n for n, v in recorded().items() if v.wall_seconds <= QUICK_SECONDS}
    tables = (EXPECTED, VERDICTS, NUMERIC)
    assert all(quick & set(table) for table in tables)


@pytest.fixture
def script():
    return runpy.run_path(str(ROOT / "scripts" / "same_verdicts.py"))


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
