"""The record behind docs/guard.md: about these variants, and made again at will."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from acprop.lab.guard.ablation import VARIANTS, ablation, definitions, right_drift
from acprop.lab.guard.hazards import hazards, worst_step
from acprop.rule import GUARDED, choose

RECORD = Path(__file__).resolve().parents[3] / "results" / "guard" / "ablation.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text("utf-8"))


def test_the_record_is_about_these_variants(record):
    rows = {row["variant"]: row["settings"] for row in record["rows"]}
    assert list(rows) == [v.name for v in VARIANTS]
    assert rows["guarded (default)"]["convention"] == asdict(GUARDED)
    assert rows["guarded (default)"]["rule"] == asdict(choose(GUARDED))


def test_the_record_says_what_it_measures(record):
    measures = json.loads(json.dumps(definitions()))
    assert record["measures"] == measures
    for row in record["rows"]:
        assert row.keys() - {"variant", "settings"} == measures.keys()
        assert row["worst_step"].keys() == measures["worst_step"].keys() - {""}


@pytest.mark.parametrize("name", ["zero first", "silent start", "constant"])
def test_the_record_can_be_measured_again(record, name):
    recorded = record["rows"][0]["worst_step"][name]
    first = VARIANTS[0]
    measured = worst_step(first.method, first.convention, hazards()[name])
    assert measured == pytest.approx(recorded, rel=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_price_of_the_bound_can_be_measured_again(record, kind):
    """Of a rule with closed forms: the default takes a minute."""
    k = [v.name for v in VARIANTS].index("guarded, no average")
    assert right_drift(VARIANTS[k], kind) == record["rows"][k]["right_drift"][kind]


def test_without_variants_there_are_no_rows(record):
    """The head of the record: everything that does not take a minute."""
    made = ablation([])
    assert made["rows"] == []
    assert made.keys() == record.keys()
    assert made["schema"] == record["schema"]
