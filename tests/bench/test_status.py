"""How far a study is, from its list of runs and their folders."""

from dataclasses import replace

import pytest

from acprop.bench import leases
from acprop.bench.spec import RunSpec
from acprop.bench.status import RunList, read_run_list, requested, status_of
from acprop.bench.store import Store
from acprop.records import RunStatus

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 4, 0)
SPECS = [replace(SPEC, seed=seed) for seed in range(6)]
OTHERS = [replace(SPEC, optimizer="adam", seed=seed) for seed in range(2)]
WANTED = RunList("s", "smoke", "paper", 7.0, requested([*SPECS, *OTHERS, SPEC]))


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
    seen = leases.Lease(1, "far", "boot", 7, share=0.5)
    folder = Store(tmp_path).folder(SPECS[1])
    monkeypatch.setattr("acprop.bench.store.RunFolder.holder", lambda _: seen)
    folder.path.mkdir()
    wanted = replace(WANTED, runs=requested(SPECS[:2]))
    assert status_of(wanted, tmp_path).seconds_left == 4.0


def test_a_list_of_runs_that_is_not_whole_counts_as_none(tmp_path):
    WANTED.write(tmp_path)
    assert read_run_list(tmp_path, "s", "smoke", "paper") == WANTED
    (path,) = (tmp_path / "run_lists").iterdir()
    good = path.read_text("utf-8")
    for text in (
        "", good[:-9], "[]", "[" * 200_000, good.replace("7.0", "1e999"),
        good.replace('"epochs": 4', '"epochs": 0'),
    ):  # fmt: skip
        path.write_text(text)
        assert read_run_list(tmp_path, "s", "smoke", "paper") is None
    assert read_run_list(tmp_path, "s", "small", "paper") is None
