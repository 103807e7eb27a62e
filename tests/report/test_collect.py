"""Records of several files and machines become one collection."""

from dataclasses import replace

import pytest

from acprop.records import FigureRecord, RunStatus, write
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
    assert collect([tmp_path]).figures == [(about, [shown])]


def test_in_a_folder_other_json_lines_are_passed_over(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n')
    write(tmp_path / "a.jsonl", [study(RUNS), *RUNS])
    assert [file.name for file in collect([tmp_path]).files] == ["a.jsonl"]


def test_runs_without_their_study_are_refused_with_the_command_to_use(tmp_path):
    write(tmp_path / "a.jsonl", [run()])
    with pytest.raises(ValueError, match=r"runs of vgg at scale smoke .* bench study"):
        collect([tmp_path])


@pytest.mark.parametrize("name", ["", "nowhere.jsonl", "empty"])
def test_without_records_there_is_an_error(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="records must be"):
        collect([tmp_path / name] if name else [])
