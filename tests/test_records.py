"""Records survive the disk: what was written is what is read."""

import json
import math
from pathlib import Path

import pytest

from acprop.records import (
    SCHEMA,
    Boundary,
    Cell,
    Crossing,
    Curves,
    Line,
    Region,
    RunStatus,
    Surface,
    Verdict,
    from_json,
    read,
    to_json,
    write,
)

CELL = Cell(3, 0.5, "converged", 0.1, 0.001, 0.3, "converges")
RECORDS = [
    Region("dense", "acprop", 0.9, "paper", 10_000, (CELL, CELL)),
    Boundary("dense", "adam", 0.9, "paper", (Crossing(5, "converges", (0.1, 0.2)),)),
    Curves("n", "t", "x", "y", (Line("a", (1.0, 2.0), (3.0, 4.0)),), about={"P": 3}),
    Surface("n", "t", "x", "y", "v", (1.0,), (2.0, 3.0), ((4.0,), (5.0,))),
    Verdict(
        "c", "paper", "central", "Lemma 1", "it is so", "holds", "seen", {"n": 1}, 0.5
    ),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.record)
def test_a_record_comes_back_from_json_as_it_was(record):
    assert from_json(to_json(record)) == record


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.record)
def test_every_line_says_what_it_is_and_by_which_schema(record):
    plain = json.loads(to_json(record))
    assert (plain["record"], plain["schema"]) == (record.record, SCHEMA)
    assert "\n" not in to_json(record)


def test_a_region_has_the_fields_a_script_expects():
    plain = json.loads(to_json(RECORDS[0]))
    assert list(plain)[2:] == [
        "problem",
        "optimizer",
        "beta1",
        "convention",
        "steps",
        "cells",
    ]
    assert list(plain["cells"][0]) == [
        "period",
        "beta2",
        "finite",
        "best_alpha0",
        "distance",
        "drift",
        "asymptotic",
    ]


def test_numbers_that_json_lacks_become_null_and_come_back_as_nan():
    line = Line("a", (1.0, 2.0), (math.inf, 4.0))
    text = to_json(Curves("n", "t", "x", "y", (line,)))
    assert '"y": [null, 4.0]' in text
    back = from_json(text)
    assert isinstance(back, Curves)
    assert math.isnan(back.lines[0].y[0])


def test_a_file_holds_one_record_a_line_and_is_replaced_whole(tmp_path):
    path = tmp_path / "deep" / "file.jsonl"
    write(path, RECORDS)
    assert list(read(path)) == RECORDS
    write(path, RECORDS[:1])
    assert list(read(path)) == RECORDS[:1]
    assert [p.name for p in path.parent.iterdir()] == ["file.jsonl"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.jsonl"
    write(path, RECORDS)
    with pytest.raises(TypeError):
        write(path, [RECORDS[0], "not a record"])  # type: ignore[list-item]
    assert list(read(path)) == RECORDS
    assert [p.name for p in tmp_path.iterdir()] == ["file.jsonl"]


BAD_LINES = [
    (
        '{"record": "boundary", "schema": 2, "problem": "dense", "beta1": 0.9}',
        "optimizer must be there, got none; convention must be there, got none; ",
    ),
    ('{"record": "table"}', "record must be one of region, .*, got"),
    ("[1]", "it must be an object, got \\[1\\]"),
    ("[" * 200_000, "it is cut off or no JSON .recursion limit exceeded"),
    ('{"record": "region", "schema": 1}', "schema must be 2, got 1; another acprop"),
    (
        to_json(RECORDS[4])[:-1] + ', "extra": 1}',
        "extra must not be there: no such field",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_line_of_another_kind_is_refused_with_its_place(tmp_path, line, message):
    path = tmp_path / "file.jsonl"
    path.write_text(to_json(RECORDS[0]) + "\n" + line + "\n", "utf-8")
    with pytest.raises(ValueError, match=f"^file.jsonl, line 2: {message}"):
        list(read(path))


RUN = {
    "record": "run", "schema": 2, "run": "1f", "study": "s", "optimizer": "adam",
    "settings": {"lr": 0.1}, "study_settings": {}, "seed": 0, "scale": "smoke",
    "spec": {}, "status": "diverged", "history": [], "final": {}, "wall_seconds": 1.0,
    "commit": "", "machine": {}, "data": {}, "message": "",
}  # fmt: skip
STUDY = {
    "record": "study", "schema": 2, "name": "s", "title": "S", "place": "", "note": "",
    "scale": "smoke", "shows": "table", "axes": [], "metrics": [], "runs": [],
}  # fmt: skip


def test_a_search_that_is_no_list_of_trials_is_refused():
    with pytest.raises(ValueError, match=r"^tuning.trials must be a valid array"):
        from_json(json.dumps({**STUDY, "tuning": {"trials": 1}}))


def test_what_a_search_says_beside_its_trials_is_kept():
    tuning = {"metric": "val_loss", "trials": [], "design": "sobol-1"}
    assert from_json(json.dumps({**STUDY, "tuning": tuning})).tuning == tuning


RESULTS = Path(__file__).parents[1] / "results"


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(RESULTS.rglob("*.jsonl")) if p.parent.name != "perf"],
    ids=lambda path: path.stem,
)
def test_every_stored_record_is_read_as_it_was_written(path):
    """A type that is stricter than what was written would lose it."""
    lines = path.read_text("utf-8").splitlines()
    for line, record in zip(lines, read(path), strict=True):
        given = json.loads(line)
        assert {**json.loads(to_json(record)), **given} == json.loads(to_json(record))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commit": [[1]]}, r"commit must be a valid string, got \[\[1\]\]"),
        ({"machine": 1}, "machine must be an object, got 1"),
        ({"history": None}, "history must be a valid array, got None"),
        ({"history": [[]]}, r"history.0 must be an object, got \[\]"),
        ({"seed": True}, "seed must be a valid integer, got True"),
        ({"seed": "1"}, "seed must be a valid integer, got '1'"),
        ({"status": "won"}, "status must be 'done', 'diverged', .*, got 'won'"),
        ({"run": "../x"}, "run must match pattern .*, got '../x'"),
        ({"artifacts": ["/etc/x"]}, "artifacts.0 must match pattern .*, got '/etc/x'"),
        ({"wall_seconds": "a" * 999}, "wall_seconds must be a valid number, got 'aaaa"),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused_by_its_name(change, message):
    with pytest.raises(ValueError, match=f"^{message}") as raised:
        from_json(json.dumps({**RUN, **change}))
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("status", RunStatus)
def test_every_status_says_what_it_means(status):
    assert status.message
    assert status.is_result is (status in ("done", "diverged"))


def test_a_study_stores_what_its_metrics_are():
    study = from_json(json.dumps({**STUDY, "metrics": ["test_loss"]}))
    plain = json.loads(to_json(study))
    assert plain["metrics"] == ["test_loss"]
    assert plain["declared"] == [
        {"name": "test_loss", "better": "lower", "words": "test loss", "unit": ""}
    ]
    assert from_json(json.dumps(plain)) == study
