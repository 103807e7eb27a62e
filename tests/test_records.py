"""Records survive the disk: what was written is what is read."""

import json
import math

import pytest

from acprop.records import (
    SCHEMA,
    Boundary,
    Cell,
    Crossing,
    Curves,
    Line,
    Region,
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
    Surface("n", "t", "x", "y", (1.0,), (2.0, 3.0), ((4.0,), (5.0,))),
    Verdict("c", "paper", "Lemma 1", "it is so", "holds", "seen", {"n": 1}, 0.5),
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
    with pytest.raises(AttributeError):
        write(path, [RECORDS[0], "not a record"])  # type: ignore[list-item]
    assert list(read(path)) == RECORDS
    assert [p.name for p in tmp_path.iterdir()] == ["file.jsonl"]


BAD_LINES = [
    ('{"record": "table"}', "record must be one of region, .*, got"),
    ("[1]", "record must be one of"),
    ('{"record": "region", "schema": 0}', "schema must be 1, got 0; write it anew"),
    (
        to_json(RECORDS[4])[:-1] + ', "extra": 1}',
        "a verdict must have its own fields only, got extra",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_line_of_another_kind_is_refused_with_its_place(tmp_path, line, message):
    path = tmp_path / "file.jsonl"
    path.write_text(to_json(RECORDS[0]) + "\n" + line + "\n", "utf-8")
    with pytest.raises(ValueError, match=f"^file.jsonl, line 2: {message}"):
        list(read(path))
