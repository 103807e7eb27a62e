"""Records of several files and machines become one collection."""

import re
from dataclasses import replace

import pytest

from acprop.records import FigureRecord, RunStatus, to_json, write
from acprop.report.collect import collect

from .made import named
from .made_runs import run, seeds, study

RUNS = seeds("acprop", (0.6, 0.7, 0.8))


def test_a_study_that_two_machines_ran_in_parts_is_one_study(tmp_path):
    first, second = RUNS[:1], RUNS[1:]
    lost = ("adam: no memory", "no data")
    write(tmp_path / "a.jsonl", [study(first, missing=lost), *first])
    write(tmp_path / "b.jsonl", [study(second, missing=lost[1:]), *second])
    ((found, runs),) = collect([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).studies
    assert found.runs == tuple(r.run for r in RUNS)
    assert runs == RUNS
    assert found.missing == ("no data",)  # what both miss


def test_of_a_run_that_two_machines_have_the_one_with_a_result_is_taken(tmp_path):
    failed = replace(RUNS[0], status=RunStatus.ERROR, message="disk full")
    for name, one in (("a", failed), ("b", RUNS[0])):
        write(tmp_path / f"{name}.jsonl", [study([one]), one])
    ((_, runs),) = collect([tmp_path]).studies
    assert runs == [RUNS[0]]


def test_scales_of_one_study_stay_apart(tmp_path):
    small = replace(RUNS[1], scale="small")
    write(tmp_path / "a.jsonl", [study(RUNS[:1]), RUNS[0]])
    write(tmp_path / "b.jsonl", [study([small], scale="small"), small])
    assert [s.scale for s, _ in collect([tmp_path]).studies] == ["smoke", "small"]


def test_a_figure_is_what_follows_its_record(tmp_path):
    about, shown = FigureRecord("toy", "Fig. 1", "a toy"), named("adam")
    write(tmp_path / "records" / "toy.jsonl", [about, shown])
    write(tmp_path / "alone.jsonl", [named("sgd")])  # belongs to no figure
    found = collect([tmp_path])
    assert (found.figures, found.shown) == ([about], {"toy": [shown]})


def test_in_a_folder_other_json_lines_are_passed_over(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n')
    write(tmp_path / "a.jsonl", [study(RUNS), *RUNS])
    assert collect([tmp_path]).n_files == 1


def test_runs_without_their_study_are_named_with_the_command_to_use(tmp_path):
    write(tmp_path / "a.jsonl", [run()])
    (problem,) = collect([tmp_path]).problems
    expected = r"a.jsonl, line 1: 1 runs of vgg at scale smoke, .* acprop bench study"
    assert re.match(expected, problem)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (to_json(run("sgd"))[:-40].encode(), "it is cut off or no JSON"),
        (
            to_json(run("sgd")).replace('"schema": 2', '"schema": 99').encode(),
            "schema must be 2, got 99; another acprop wrote this",
        ),
        (b'{"record": "dream", "schema": 2}', "record must be one of region"),
        (b'{"record": "run", "schema": 2}', "run must be there, got none; study"),
        (
            to_json(run("sgd")).replace("done", "won").encode(),
            "status must be 'done', 'diverged', 'timeout'",
        ),
        (b"\xff\xfe", "it is cut off or no JSON"),
        (b'["a list"]', "it must be an object, got ['a list']"),
    ],
    ids=["cut off", "schema", "kind", "fields", "status", "bytes", "a list"],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_there(line, why, tmp_path):
    good = "\n".join(map(to_json, [study(RUNS), *RUNS])).encode()
    (tmp_path / "a.jsonl").write_bytes(good + b"\n" + line + b"\n")
    found = collect([tmp_path])
    (problem,) = found.problems
    assert problem.startswith(f"a.jsonl, line {len(RUNS) + 2}: {why}")
    ((_, runs),) = found.studies
    assert runs == RUNS


def test_a_file_whose_first_line_is_lost_is_not_passed_over(tmp_path):
    lines = [to_json(study(RUNS))[30:], *map(to_json, RUNS)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    problems = collect([tmp_path]).problems
    assert len(problems) == 2  # the line, and runs without a study
    assert problems[0].startswith("a.jsonl, line 1: it is cut off or no JSON")


def test_what_follows_a_lost_line_is_not_put_into_another_figure(tmp_path):
    lines = [FigureRecord("a", "Fig. 1", "c"), named("adam"), named("sgd")]
    first, second, third = map(to_json, lines)
    text = "\n".join([first, second, to_json(lines[0])[:-9], third])
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    found = collect([tmp_path])
    assert found.figures == [lines[0]]
    assert found.shown == {lines[0].name: [lines[1]]}
    assert [line.partition(":")[0] for line in found.problems] == [
        "a.jsonl, line 3",
        "a.jsonl, line 4",
    ]


def test_a_study_whose_files_are_anothers_is_named(tmp_path):
    write(tmp_path / "a.jsonl", [study([], name="a b"), study([], name="a/b")])
    found = collect([tmp_path])
    assert [s.name for s, _ in found.studies] == ["a b"]
    (problem,) = found.problems
    assert problem.startswith("a.jsonl, line 2: a study must have a name of its own")


def test_a_file_is_called_by_its_way_from_the_folder_that_was_given(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name / "same.jsonl", [run()])
        with (tmp_path / name / "same.jsonl").open("a") as file:
            file.write("{")
    problems = collect([tmp_path]).problems
    assert [p.partition(":")[0] for p in problems[:2]] == [
        "a/same.jsonl, line 2",
        "b/same.jsonl, line 2",
    ]


@pytest.mark.parametrize("name", ["", "nowhere.jsonl", "empty"])
def test_without_records_there_is_an_error(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="records must be"):
        collect([tmp_path / name] if name else [])
