"""How far a study is, from its list of runs and an index that can be deleted."""

import json
from dataclasses import replace

import pytest

from acprop.bench import index, leases, run_lists
from acprop.bench.run_lists import RunList
from acprop.bench.spec import RunSpec
from acprop.bench.status import status_of
from acprop.bench.store import Store
from acprop.records import RunStatus

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 4, 0)
SPECS = [replace(SPEC, seed=seed) for seed in range(6)]
OTHERS = [replace(SPEC, optimizer="adam", seed=seed) for seed in range(2)]
WANTED = RunList(
    "s", "smoke", "paper", 7.0, run_lists.requested([*SPECS, *OTHERS, SPEC])
)


def finish(root, spec, status="done", epochs=4, message=""):
    folder = Store(root).folder(spec)
    folder.begin(spec, study="s")
    folder.write_metrics([{"epoch": i, "wall_seconds": 2.0} for i in range(epochs)])
    if status is not None:
        folder.end(RunStatus(status), {}, message)


def counts(found):
    return {line.optimizer: dict(line.counts) for line in found.lines}


def test_every_state_is_counted_and_the_time_left_is_the_mean_of_finished_runs(
    tmp_path,
):
    finish(tmp_path, SPECS[0])
    finish(tmp_path, SPECS[1], "diverged", epochs=1)
    finish(tmp_path, SPECS[2], "error", epochs=0, message="no such net")
    finish(tmp_path, SPECS[3], None, epochs=1)  # killed after one of four epochs
    with Store(tmp_path).folder(SPECS[4]).locked():
        found = status_of(WANTED, tmp_path)
    assert counts(found) == {
        "acprop": {
            "done": 1, "diverged": 1, "error": 1, "paused": 1, "running": 1,
            "waiting": 1,
        },
        "adam": {"waiting": 2},
    }  # fmt: skip
    assert found.troubles == ("1 × error: no such net",)
    # 8 seconds each: all of three runs of acprop and three quarters of a fourth; adam
    # has none that is done, so it takes what acprop does
    assert [line.seconds_left for line in found.lines] == [30.0, 16.0]
    assert (found.workers, found.seconds_left) == (1, 46.0)
    assert found.n_runs == 8
    assert found.share == pytest.approx(1 - 46 / 64)


def test_before_anything_is_done_the_studys_own_estimate_counts(tmp_path):
    found = status_of(WANTED, tmp_path)
    assert sum(line.seconds_left for line in found.lines) == 8 * 7.0
    assert (found.share, found.workers) == (0.0, 0)


def test_a_run_that_is_under_way_counts_as_far_as_its_lease_says(tmp_path, monkeypatch):
    finish(tmp_path, SPECS[0])
    seen = leases.Seen(1, "far", "boot", 7, share=0.5)
    folder = Store(tmp_path).folder(SPECS[1])
    monkeypatch.setattr("acprop.bench.store.RunFolder.holder", lambda _: seen)
    folder.path.mkdir()
    wanted = replace(WANTED, runs=run_lists.requested(SPECS[:2]))
    assert status_of(wanted, tmp_path).seconds_left == 4.0


def test_the_index_can_be_deleted_damaged_or_stale(tmp_path):
    finish(tmp_path, SPECS[0])
    finish(tmp_path, SPECS[1], None)
    first = index.read(tmp_path)
    assert {run: row.status for run, row in first.items()} == {
        SPECS[0].id: "done",
        SPECS[1].id: "interrupted",
    }
    path = tmp_path / index.INDEX
    good = path.read_text()
    for text in (
        None, "", '{"run": 1', '{"run": "x", "marks": [], "colour": 1}\n', "[]", "7",
        "[" * 200_000, good.replace("done", "won"), good.replace("8.0", "NaN"),
    ):  # fmt: skip
        path.unlink() if text is None else path.write_text(text)
        assert index.read(tmp_path) == first
    finish(tmp_path, SPECS[1], "diverged")
    assert index.read(tmp_path)[SPECS[1].id].status == "diverged"


def test_what_has_not_changed_is_not_read_again(tmp_path):
    finish(tmp_path, SPECS[0])
    index.read(tmp_path)
    path = tmp_path / index.INDEX
    row = json.loads(path.read_text())
    path.write_text(json.dumps({**row, "wall_seconds": 99.0}) + "\n")
    assert index.read(tmp_path)[SPECS[0].id].wall_seconds == 99.0
    finish(tmp_path, SPECS[0])  # the same words in another file
    assert index.read(tmp_path)[SPECS[0].id].wall_seconds == 8.0


def test_a_list_of_runs_that_is_not_whole_counts_as_none(tmp_path):
    run_lists.write(tmp_path, WANTED)
    assert run_lists.read(tmp_path, "s", "smoke", "paper") == WANTED
    (path,) = (tmp_path / "run_lists").iterdir()
    good = path.read_text("utf-8")
    for text in (
        "", good[:-9], "[]", "[" * 200_000, good.replace("7.0", "1e999"),
        good.replace('"epochs": 4', '"epochs": 0'),
    ):  # fmt: skip
        path.write_text(text)
        assert run_lists.read(tmp_path, "s", "smoke", "paper") is None
    assert run_lists.read(tmp_path, "s", "small", "paper") is None
