"""Stores that are newer, damaged or full: a named error, and nothing is lost."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from typer.testing import CliRunner

from acprop.bench.engines import Job
from acprop.bench.engines.work import work
from acprop.bench.execute import execute
from acprop.bench.run_files import DamagedError
from acprop.bench.spec import RunSpec
from acprop.bench.status import RunList, requested, status_of
from acprop.bench.store import Store
from acprop.cli.app import app
from acprop.records import RunStatus

from .test_run import SPEC as TOY
from .test_run import Stop, go, timeless

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 3, 0)


@pytest.fixture
def done(tmp_path):
    """A run with a result."""
    folder = Store(tmp_path).folder(SPEC)
    folder.begin(SPEC)
    folder.write_metrics([{"epoch": 1}, {"epoch": 2}])
    folder.end(RunStatus.DONE, {"val_accuracy": 0.5})
    return folder


def test_a_new_store_has_its_version(tmp_path):
    for _ in range(2):
        Store(tmp_path).prepare()
        said = json.loads((tmp_path / "store.json").read_text("utf-8"))
        assert said == {"version": 2}


@pytest.mark.parametrize("text", ['{"version": 3}', '{"version": "x"}', "{}"])
def test_a_newer_store_is_refused_and_left_alone(tmp_path, text, done):
    (tmp_path / "store.json").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    message = "must be of version 2 or older, got .*; a newer acprop wrote it"
    for use in (
        lambda: execute([SPEC], tmp_path),
        lambda: status_of(RunList("s", "smoke", "paper", 1.0, ()), tmp_path),
        Store(tmp_path).check,
    ):
        with pytest.raises(ValueError, match=message):
            use()
    assert sorted(tmp_path.rglob("*")) == before
    assert done.status() == "done"


def test_the_command_line_refuses_it_too(tmp_path):
    (tmp_path / "store.json").write_text('{"version": 3}')
    words = ["bench", "status", "vision/mnist-mlp", "--runs", str(tmp_path)]
    said = CliRunner().invoke(app, words)
    assert isinstance(said.exception, ValueError)
    assert "a newer acprop wrote it" in str(said.exception)


def truncate(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 1])
    return path.read_bytes()


def test_a_truncated_run_is_named_and_neither_changed_nor_run_again(tmp_path, done):
    left = truncate(done.path / "run.json")
    with pytest.raises(DamagedError, match=r"run.json: it is cut off or no JSON"):
        done.status()
    (outcome,) = execute([SPEC], tmp_path)
    assert outcome.status == "error"
    assert "move the folder away and run it again" in outcome.message
    assert (done.path / "run.json").read_bytes() == left


def test_truncated_metrics_are_named_with_their_line(done):
    left = truncate(done.path / "metrics.jsonl")
    with pytest.raises(DamagedError, match=r"jsonl, line 2: it is cut off or no JSON"):
        done.record(study="s", scale="smoke")
    assert (done.path / "metrics.jsonl").read_bytes() == left


def flip(path):
    """One bit of a weight: torch would load it without a word."""
    weight = torch.load(path, weights_only=True)["session"]["net"]["weight"]
    whole = bytearray(path.read_bytes())
    whole[whole.index(weight.numpy().tobytes())] ^= 1
    path.write_bytes(whole)


def empty(path):
    path.write_bytes(b"")


def edit(path, **progress):
    saved = torch.load(path, weights_only=True)
    saved["progress"] |= progress
    torch.save(saved, path)


def far_ahead(path):
    edit(path, step=10**9)


def without_epochs(path):
    edit(path, history=[])


def a_number(path):
    torch.save(3, path)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hostile",)


def hostile(path):
    torch.save(Hostile(), path)


DAMAGE = [flip, truncate, empty, far_ahead, without_epochs, a_number, hostile]


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A run of 20 steps that stopped after 7, with checkpoints of steps 6 and 7."""
    monkeypatch.chdir(tmp_path)  # where something hostile would leave its mark
    _, folder = go(tmp_path / "parts", watcher=Stop(7), checkpoint_seconds=0.0)
    assert folder.load()["progress"]["step"] == 7
    return folder


@pytest.fixture
def whole(tmp_path):
    """The same run in one piece."""
    return go(tmp_path / "whole")[1]


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.path.glob("[cmr]*.*")}


def assert_it_ends_as(whole, tmp_path, *, from_step):
    status, folder = go(tmp_path / "parts", resume=True)
    assert status == "done"
    assert folder.read()["attempts"][-1]["from_step"] == from_step
    assert timeless(folder.metrics()) == timeless(whole.metrics())
    states = [f.read()["final"]["state_sha256"] for f in (folder, whole)]
    assert states[0] == states[1]
    assert not list(folder.path.glob("checkpoint*"))
    return folder


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__)
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_taken(
    damage, stopped, whole, tmp_path, capsys
):
    damage(stopped.path / "checkpoint.pt")
    folder = assert_it_ends_as(whole, tmp_path, from_step=6)
    words = f"run {TOY.id} goes on from the checkpoint before its last: {folder.path}"
    told = capsys.readouterr().err
    assert words in told
    assert "weights_only" not in told
    (why,) = folder.read()["attempts"][-1]["passed_over"]
    assert why in told
    assert not (tmp_path / "hostile").exists()


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__)
def test_without_a_whole_checkpoint_the_remedy_is_told_and_nothing_changed(
    damage, stopped, tmp_path
):
    for name in ("checkpoint.pt", "checkpoint.older.pt"):
        damage(stopped.path / name)
    before = contents(stopped)
    message = r"checkpoint.pt must be a whole checkpoint of this run, got .*; delete "
    with pytest.raises(DamagedError, match=message) as raised:
        go(tmp_path / "parts", resume=True)
    assert "weights_only" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert contents(stopped) == before
    for path in stopped.path.glob("checkpoint*"):
        path.unlink()
    assert go(tmp_path / "parts", resume=True)[0] == "done"


def test_a_damaged_checkpoint_never_takes_the_place_of_a_whole_one(stopped, tmp_path):
    """The next one replaces it, and the one before stays where it is."""
    flip(stopped.path / "checkpoint.pt")
    before = (stopped.path / "checkpoint.older.pt").read_bytes()
    assert go(tmp_path / "parts", resume=True, watcher=Stop(1))[0] == "interrupted"
    assert (stopped.path / "checkpoint.older.pt").read_bytes() == before
    assert stopped.load()["progress"]["step"] == 7


@pytest.mark.parametrize("n_renames", [0, 1])
def test_killed_between_the_renames_of_a_checkpoint_it_goes_on_from_the_last(
    n_renames, stopped, whole, tmp_path
):
    """A new checkpoint puts the old one aside, then takes its place."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from acprop.bench.store import RunFolder\n"
        "path, made, replace = Path(sys.argv[1]), [], os.replace\n"
        "def rename(old, new):\n"
        "    len(made) == int(sys.argv[2]) and os.kill(os.getpid(), signal.SIGKILL)\n"
        "    made.append(new)\n"
        "    replace(old, new)\n"
        "os.replace = rename\n"
        "RunFolder(path).save({'of': 'a later step'})\n"
    )
    words = [sys.executable, "-c", program, stopped.path, str(n_renames)]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    assert list(stopped.path.glob(".checkpoint.pt.*.part"))
    assert_it_ends_as(whole, tmp_path, from_step=7)


SHAPES = [
    ("run.json", "[]", "run.json: it must be an object, got "),
    ("run.json", '{"status": "interrupted"}', "run.json: spec must be there, got none"),
    ("run.json", '{"spec": 1, "status": "done"}', "run.json: spec must be"),
    ("run.json", "[" * 200_000, r"no JSON \(recursion limit exceeded"),
    ("run.json", {"status": ["done"]}, "run.json: status.* must be"),
    ("run.json", {"final": None}, "run.json: final must be an object, got None"),
    ("run.json", {"message": 1}, "run.json: message must be a valid string, got 1"),
    ("run.json", {"attempts": 3}, "run.json: attempts must be a valid array, got 3"),
    ("run.json", {"attempts": [{"under": 3}]}, "attempts.0.under must be an object"),
    ("run.json", {"spec": {**SPEC.plain(), "epochs": 0}}, "epochs must be 1 or more"),
    ("run.json", {"spec": {**SPEC.plain(), "settings": []}}, "settings must be an obj"),
    ("run.json", {"spec": {**SPEC.plain(), "settings": {"a": 10**400}}}, "finite JSON"),
    ("metrics.jsonl", '{"epoch": 1}\n7', "metrics.jsonl, line 2: it must be an object"),
    (
        "metrics.jsonl",
        '{"wall_seconds": "1"}',
        "line 1: wall_seconds.* must be a valid",
    ),
    ("metrics.jsonl", '{"wall_seconds": 1e999}', "wall_seconds.* must be a finite"),
    ("metrics.jsonl", "\xff", "metrics.jsonl, line 1: it is cut off or no JSON"),
]


@pytest.mark.parametrize(("name", "text", "why"), SHAPES)
def test_a_file_of_another_shape_is_named_and_the_rest_of_the_store_is_known(
    name, text, why, tmp_path, done
):
    """Valid JSON is not yet what was written."""
    path = done.path / name
    if isinstance(text, dict):
        text = json.dumps({**json.loads(path.read_text("utf-8")), **text})
    path.write_text(text, "latin-1")
    left = path.read_bytes()
    other = replace(SPEC, seed=1)
    Store(tmp_path).folder(other).begin(other)
    wanted = requested([SPEC, other])
    found = status_of(RunList("s", "smoke", "paper", 1.0, wanted), tmp_path)
    assert (found.total("error"), found.total("paused")) == (1, 1)
    (trouble,) = found.troubles
    assert re.search(why, trouble)
    with pytest.raises(DamagedError, match=why):
        done.record(study="s", scale="smoke")
    assert path.read_bytes() == left


def test_a_run_whose_spec_is_lost_is_not_trained(tmp_path, done):
    """It would train to the end, and then fail."""
    known = json.loads((done.path / "run.json").read_text("utf-8"))
    del known["spec"]
    (done.path / "run.json").write_text(json.dumps({**known, "status": "interrupted"}))
    (outcome,) = execute([SPEC], tmp_path)  # before its data are looked for
    assert outcome.status == "error"
    assert "run.json: spec must be there, got none; move the folder" in outcome.message


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KB: enough for a run, not for its checkpoint."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.usefixtures("mnist")
def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(small_disk):
    from acprop.bench.optimizers import resolved

    task = {"dataset": "mnist", "net": "mlp", "n_train": 256}
    task |= {"n_validation": 100, "n_test": 100}
    settings = resolved("acprop", {"lr": 1e-3})
    spec = RunSpec("vision", task, "acprop", settings, 1, 0)
    end = work(Job(spec, small_disk), lambda _: None)
    assert (end.status, end.trouble) == ("error", "failed")
    assert "the disk is full; free some room and run it again" in end.message
    folder = Store(small_disk).folder(spec)
    assert folder.status() in ("error", "interrupted")
    assert not list(folder.path.glob(".*.part"))
    larger = ["mount", "-o", "remount,size=64m", str(small_disk)]
    subprocess.run(larger, check=True)
    assert (
        work(Job(spec, small_disk), lambda _: None).status == folder.status() == "done"
    )


def test_the_status_is_known_without_torch(tmp_path, done):
    """It takes seconds to import."""
    del done
    program = (
        "import sys; from pathlib import Path;"
        "from acprop.bench.status import RequestedRun, RunList;"
        "from acprop.reproduce.status import study_status;"
        f"root = Path({str(tmp_path)!r});"
        f"wanted = (RequestedRun({SPEC.id!r}, 'acprop', 0, 3),);"
        "RunList('s', 'smoke', 'paper', 1.0, wanted).write(root);"
        "found = study_status('s', 'smoke', 'paper', root);"
        "assert found.total('done') == 1, found;"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
