"""Stores of several machines in one: a result beats none, and nothing is lost."""

from dataclasses import replace

import pytest

from acprop.bench.merge import merge
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.records import RunStatus

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 4, 0)
OTHER = replace(SPEC, seed=1)


def put(root, spec, status=None, epochs=1, state="aa", machine=None):
    folder = Store(root).folder(spec)
    folder.begin(spec, machine=machine or {})
    folder.write_metrics([{"epoch": i} for i in range(epochs)])
    folder.save({"n": epochs})
    folder.write_artifacts({"samples.png": bytes([epochs])})
    if status is not None:
        folder.end(RunStatus(status), {"state_sha256": state})
        if folder.status().is_result:
            folder.drop_checkpoint()
    return folder


def files(root):
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "lock" and "lease" not in path.name
    }


def test_what_is_not_there_is_copied_whole_and_the_second_time_nothing_changes(
    tmp_path,
):
    put(tmp_path / "a", SPEC, "done")
    half = put(tmp_path / "b", OTHER, epochs=2)
    into = tmp_path / "into"
    merged = merge([tmp_path / "a", tmp_path / "b"], into)
    assert (merged.new, merged.better, merged.known) == (2, 0, 0)
    assert Store(into).folder(SPEC).status() == "done"
    assert Store(into).folder(OTHER).load() == half.load() == {"n": 2}
    before = files(into)
    again = merge([tmp_path / "a", tmp_path / "b"], into)
    assert (again.new, again.better, again.known) == (0, 0, 2)
    assert again.conflicts == again.problems == []
    assert files(into) == before


# How a run is here and there; is theirs taken?
RANKS = [
    ((None, 1), ("done", 4), True),
    (("error", 3), ("diverged", 1), True),
    (("done", 4), (None, 3), False),
    (("done", 4), ("error", 9), False),
    ((None, 1), (None, 2), True),
    (("timeout", 3), (None, 2), False),
]


@pytest.mark.parametrize(("ours", "theirs", "taken"), RANKS)
def test_a_result_beats_none_and_more_epochs_beat_fewer(ours, theirs, taken, tmp_path):
    into = put(tmp_path / "into", SPEC, *ours)
    put(tmp_path / "a", SPEC, *theirs)
    merged = merge([tmp_path / "a"], tmp_path / "into")
    assert (merged.better, merged.known) == (int(taken), int(not taken))
    status, epochs = theirs if taken else ours
    assert into.status() == (status or "interrupted")
    assert len(into.metrics()) == epochs


def test_two_results_that_differ_are_named_and_ours_is_kept(tmp_path):
    into = put(tmp_path / "into", SPEC, "done", state="aa")
    put(tmp_path / "a", SPEC, "done", state="bb")
    put(tmp_path / "b", SPEC, "done", state="aa")
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "into")
    (line,) = merged.conflicts
    assert f"run {SPEC.id} ended as done with state bb" in line
    assert merged.known == 1
    assert into.read()["final"] == {"state_sha256": "aa"}


HERE = {"threads": 1, "kernel": "native", "capability": "AVX2", "torch": "2.13.0"}
OTHERS = [{"threads": 2}, {"kernel": "torch"}, {"capability": "AVX512"}]
OTHERS += [{"torch": "2.14.0"}, {"device": "cuda"}, {"ranks": 2}]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_results_under_unlike_conditions_are_named_and_no_conflict(other, tmp_path):
    into = put(tmp_path / "into", SPEC, "done", machine=HERE)
    put(tmp_path / "a", SPEC, "done", state="bb", machine=HERE | other)
    put(tmp_path / "b", SPEC, "done", state="bb", machine=HERE)
    merged = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "into")
    (line,) = merged.unlike
    ((name, value),) = other.items()
    assert f"{tmp_path / 'a'}: run {SPEC.id} ended as done with state bb" in line
    assert f"{name} {value}" in line
    assert f"{name} {HERE.get(name, 'unknown')}" in line
    (conflict,) = merged.conflicts
    assert conflict.startswith(f"{tmp_path / 'b'}: run {SPEC.id}")
    assert merged.known == 1
    assert into.read()["final"] == {"state_sha256": "aa"}


def test_a_damaged_run_a_false_name_and_a_run_in_use_are_left_out_and_named(tmp_path):
    put(tmp_path / "a", SPEC, "done")
    path = tmp_path / "a" / SPEC.id / "run.json"
    path.write_bytes(path.read_bytes()[:20])
    put(tmp_path / "b", SPEC, "done").path.rename(tmp_path / "b" / ("f" * 16))
    busy = put(tmp_path / "c", OTHER)
    with busy.locked():
        stores = [tmp_path / name for name in "abc"]
        merged = merge(stores, tmp_path / "into")
    reasons = [
        "run.json: it is cut off or no JSON",
        "must be named by its spec",
        "is in use",
    ]
    assert len(merged.problems) == 3
    for reason, line in zip(reasons, merged.problems, strict=True):
        assert reason in line
    assert list(Store(tmp_path / "into").folders()) == []


def test_what_cannot_be_a_store_is_refused_before_anything_is_written(tmp_path):
    put(tmp_path / "a", SPEC, "done")
    into = tmp_path / "into"
    with pytest.raises(ValueError, match="a store must be a folder of runs"):
        merge([tmp_path / "a", tmp_path / "none"], into)
    with pytest.raises(ValueError, match="into must be another store"):
        merge([tmp_path / "a"], tmp_path / "a")
    (tmp_path / "a" / "store.json").write_text('{"version": 9}')
    with pytest.raises(ValueError, match="a newer acprop wrote it"):
        merge([tmp_path / "a"], into)
    assert not into.exists()
