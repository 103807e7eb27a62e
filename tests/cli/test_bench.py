"""`acprop bench …` as a user calls it, on real data."""

import json
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from acprop.bench.conditions import threads
from acprop.cli.app import app, run
from acprop.records import RunRecord, StudyRecord, from_json, read

SMALL = (
    "--task n_train=1280 --task n_validation=500 --task n_test=500 "
    "--scale smoke --lr 1e-3"
)
STUDY = """
name = "vision/tiny"
title = "A tiny study"
place = "nowhere"
task = "vision"
shows = "curves"
metrics = ["train_loss", "test_accuracy"]
[task_settings]
dataset = "mnist"
net = "mlp"
n_train = 512
n_validation = 200
n_test = 200
[[arms]]
optimizer = "acprop"
settings = { lr = 1e-3 }
[[arms]]
optimizer = "sgd"
settings = { lr = 0.1 }
[scales.smoke]
note = "512 images of MNIST, one epoch"
epochs = 1
seeds = [0, 1]
seconds = 1
"""


def acprop(*words):
    return CliRunner().invoke(app, ["bench", *words])


def words(runs, *more):
    return ["run", "vision/mnist-mlp", *SMALL.split(), "--runs", str(runs), *more]


@pytest.fixture
def studies(tmp_path, monkeypatch):
    file = tmp_path / "studies" / "vision" / "tiny.toml"
    file.parent.mkdir(parents=True)
    file.write_text(STUDY, "utf-8")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))


@pytest.mark.usefixtures("mnist")
def test_a_run_ends_with_its_result_and_its_place(tmp_path):
    events = tmp_path / "events"
    asked = words(tmp_path, "--optimizer", "acprop", "--tensorboard", str(events))
    first = acprop(*asked)
    assert first.exit_code == 0, first.output
    assert "acprop seed 0: done, train loss" in first.output
    assert f"stored in {tmp_path}" in first.output.replace("\n", "")
    assert list(events.glob("events.out.tfevents.*"))
    second = acprop(*asked, "--json")
    record = from_json(second.stdout)
    assert isinstance(record, RunRecord)
    assert record.status == "done"
    assert record.settings["lr"] == 1e-3
    third = acprop(*asked)
    assert "already there in" in third.output
    fourth = acprop(*asked, "--restart")
    assert "stored in" in fourth.output


def test_a_run_on_a_text_of_the_users_ends_with_its_losses(tmp_path):
    (tmp_path / "mine.txt").write_bytes(b"Call me Ishmael. " * 400)
    small = {"context": 8, "batch": 4, "steps_per_epoch": 5}
    small |= {"text": str(tmp_path / "mine.txt"), "n_validation": 8, "n_test": 8}
    asked = ["run", "language/gpt-bytes", "--optimizer", "adamw", "--lr", "3e-3"]
    for name, value in small.items():
        asked += ["--task", f"{name}={value}"]
    said = acprop(*asked, "--runs", str(tmp_path / "runs"))
    assert said.exit_code == 0, said.output
    losses = r"train loss \d\.\d{4}, val loss \d\.\d{4}, test loss \d\.\d{4}, "
    assert re.match(f"adamw seed 0: done, {losses}", said.output)
    again = acprop(*asked, "--runs", str(tmp_path / "runs"), "--json")
    record = from_json(again.stdout)
    assert record.data["mine.txt"]["route"] == "file"
    assert [entry["step"] for entry in record.history] == [5, 10, 15, 20]


BAD = [
    ("run vision/foo --optimizer adam", "study must be one of"),
    ("run vision/mnist-mlp --optimizer foo", "must be"),
    ("run vision/mnist-mlp --optimizer adam --scale huge", "scale must be one of"),
    (
        "run vision/mnist-mlp --optimizer adam --set nonsense",
        "--set must be NAME=VALUE",
    ),
    ("run vision/mnist-mlp --optimizer adam --set foo=1", "foo"),
    ("run vision/mnist-mlp --optimizer adam --task foo=1", "setting must be one of"),
    (
        "run language/gpt-bytes --optimizer adam --task text=/none",
        "text must be moby-dick, three-js or a file's path, got '/none'",
    ),
    ("run vision/mnist-mlp --optimizer adam --seed -1", "seed must be 0 or more"),
    (
        "run vision/mnist-mlp --optimizer adam --resume --restart",
        "--resume must stand alone",
    ),
    ("run vision/mnist-mlp --optimizer adam --device foo", "device must be one of cpu"),
    (
        "run vision/mnist-mlp --optimizer adam --time-limit 0",
        "time-limit must be finite and above 0, got 0",
    ),
    ("run vision/mnist-mlp --optimizer adam --threads 0", "threads must be 1 or more"),
    ("study vision/mnist-mlp --jobs 0", "jobs must be 1 or more, got 0"),
    ("study vision/foo", "study must be one of"),
    ("study vision/mnist-mlp --scale huge", "scale must be one of smoke, small, paper"),
]


@pytest.mark.parametrize(("said", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    said, message, monkeypatch, capsys, tmp_path
):
    asked = ["acprop", "bench", *said.split(), "--runs", str(tmp_path / "runs")]
    monkeypatch.setattr(sys, "argv", asked)
    with pytest.raises(SystemExit) as end:
        run()
    heard = capsys.readouterr()
    assert end.value.code == 2
    assert heard.err.startswith("error: ")
    assert message in heard.err
    assert heard.err.count("\n") == 1
    assert heard.out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("mnist")
def test_ctrl_c_leaves_a_checkpoint_and_a_second_process_is_refused(
    tmp_path, start, until, patience
):
    asked = words(tmp_path, "--optimizer", "acprop", "--checkpoint-seconds", "0")
    long = [word.replace("n_train=1280", "n_train=5000") for word in asked]
    whole = [sys.executable, "-m", "acprop", "bench", *long]
    process = start(whole, stderr=subprocess.PIPE)
    until(lambda: list(tmp_path.glob("*/checkpoint.pt")))
    process.send_signal(signal.SIGSTOP)  # it holds the run as long as we look
    other = acprop(*long, "--resume")
    assert "is in use by process" in str(other.exception)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=patience)
    assert process.returncode == 130
    assert "stopped; a checkpoint is in" in said
    again = acprop(*long)
    assert "add --resume to continue or --restart to begin again" in str(
        again.exception
    )
    resumed = acprop(*long[:-1], "60", "--resume", "--json")
    assert resumed.exit_code == 0, resumed.output
    record = from_json(resumed.stdout)
    assert record.status == "done"
    assert [entry["epoch"] for entry in record.history] == [1, 2, 3]


@pytest.mark.usefixtures("mnist", "studies")
def test_a_study_runs_all_and_a_run_alone_ends_in_the_same_state(tmp_path):
    asked = ["study", "vision/tiny", "--runs", str(tmp_path / "runs"), "--json"]
    result = acprop(*asked)
    assert result.exit_code == 0, result.output
    study, *runs = map(from_json, result.stdout.splitlines())
    assert isinstance(study, StudyRecord)
    assert study.runs == tuple(run.run for run in runs)
    assert [(r.optimizer, r.seed) for r in runs] == [
        ("acprop", 0),
        ("acprop", 1),
        ("sgd", 0),
        ("sgd", 1),
    ]
    assert {r.status for r in runs} == {"done"}
    one = ["run", "vision/tiny", "--optimizer", "acprop", "--lr", "1e-3", "--json"]
    with threads(2):  # as torch has on two cores, if nobody says otherwise
        alone = from_json(acprop(*one, "--runs", str(tmp_path / "alone")).stdout)
        more = [*one, "--threads", "2", "--runs", str(tmp_path / "two")]
        two = from_json(acprop(*more).stdout)
    assert alone.run == runs[0].run == two.run
    assert alone.final["state_sha256"] == runs[0].final["state_sha256"]
    assert alone.machine == runs[0].machine
    assert alone.machine["threads"] == 1
    (under,) = two.machine["ran_under"]
    assert under == alone.machine["ran_under"][0] | {"threads": 2}


@pytest.mark.usefixtures("mnist", "studies", "in_process")
def test_a_failed_run_of_a_study_is_named_and_the_others_are_kept(
    tmp_path, monkeypatch
):
    """And so are runs whose code no commit holds, where evidence is written."""
    note = "acprop.report.statistics.unclean"
    monkeypatch.setattr(note, lambda runs: f"† {len(runs)} of no commit.")
    file = tmp_path / "studies" / "vision" / "tiny.toml"
    large = "settings = { lr = 0.1 }\ntask_settings = { batch = 1024 }"
    text = file.read_text("utf-8").replace("settings = { lr = 0.1 }", large)
    file.write_text(text, "utf-8")
    records = tmp_path / "records.jsonl"
    asked = ["study", "vision/tiny", "--runs", str(tmp_path / "runs")]
    result = acprop(*asked, "--out", str(records), "--jobs", "1")
    assert result.exit_code == 1
    assert f"{records}: † 4 of no commit. Commit, then run" in result.stderr
    assert result.stderr.count("batch must be at most the 512 training images") == 2
    assert result.stdout.count("lr=0.001: acprop seed") == 2
    study, *runs = read(records)
    assert [run.status for run in runs] == ["done", "done", "error", "error"]
    assert study.runs == tuple(run.run for run in runs)
    assert study.missing == ()
    assert "batch must be at most" in runs[-1].message


@pytest.mark.usefixtures("mnist", "studies")
def test_a_study_stopped_by_a_signal_to_it_alone_ends_and_says_so(
    tmp_path, start, until, patience
):
    """No run that waits for a worker may begin: at full size it would take hours."""
    file = tmp_path / "studies" / "vision" / "tiny.toml"
    text = file.read_text("utf-8").replace("epochs = 1", "epochs = 100000")
    file.write_text(text, "utf-8")
    asked = ["study", "vision/tiny", "--runs", str(tmp_path / "runs"), "--jobs", "1"]
    whole = [sys.executable, "-m", "acprop", "bench", *asked]
    process = start(whole, stderr=subprocess.PIPE)
    until(lambda: list(tmp_path.glob("runs/*/metrics.jsonl")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=patience)
    assert process.returncode == 130
    assert "stopped; run it again and it continues where it was" in said
    assert "Traceback" not in said
    (begun,) = tmp_path.glob("runs/*/run.json")
    assert (begun.parent / "checkpoint.pt").exists()


@pytest.mark.usefixtures("studies")
def test_studies_are_listed():
    result = acprop("studies", "--json")
    assert json.loads(result.stdout) == {
        "name": "vision/tiny",
        "title": "A tiny study",
        "place": "nowhere",
        "scales": {"smoke": 4},
    }
    assert "smoke: 4 runs" in acprop("studies").output


def test_optimizers_are_listed_with_their_cell_and_what_is_not_offered():
    rows = [json.loads(r) for r in acprop("optimizers", "--json").stdout.splitlines()]
    cells = {row["name"]: row["cell"] for row in rows}
    assert cells["acprop"] == "asynchronous, centered"
    assert cells["adam"] == "synchronous, uncentered"
    notes = {row["name"]: row["note"] for row in rows}
    assert notes["nosadam"].startswith("not offered: ")
    assert "acprop" in acprop("optimizers").output
