"""`acprop reproduce`: everything into one page, whatever interrupts it."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app, run
from acprop.lab.claims import CLAIMS
from acprop.records import RunRecord, StudyRecord, read, write

STUDY = """
name = "vision/{name}"
title = "A {name} study"
place = "nowhere"
task = "vision"
shows = "curves"
metrics = ["train_loss", "test_accuracy"]
[task_settings]
dataset = "{dataset}"
net = "mlp"
n_train = 512
n_validation = 200
n_test = 200
[[arms]]
optimizer = "acprop"
settings = {{ lr = 1e-3 }}
[[arms]]
optimizer = "sgd"
settings = {{ lr = 0.1 }}
[[arms]]
optimizer = "adam"
settings = {{ lr = 1e-3 }}
task_settings = {{ dataset = "cifar100" }}
optional = true
[scales.smoke]
note = "512 images, {epochs} epochs"
epochs = {epochs}
seeds = [0, 1]
seconds = 1
"""


@pytest.fixture
def offline(monkeypatch):
    """Official addresses lead to a dead port; PATH decides about packages."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch, mnist):
    """MNIST and nothing else, whatever this user has fetched before."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "mnist").symlink_to(mnist)
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("ACPROP_DATA_FROM", raising=False)


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    def add(name, dataset="mnist", epochs=1):
        file = tmp_path / "studies" / "vision" / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = STUDY.format(name=name, dataset=dataset, epochs=epochs)
        file.write_text(text, "utf-8")

    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    return add


def acprop(out, *more):
    words = ["reproduce", "--out", str(out), "--jobs", "1", *more]
    return CliRunner().invoke(app, words)


@pytest.mark.usefixtures("offline", "in_process")
def test_a_study_becomes_a_page_and_is_not_run_again(tmp_path, shelf):
    shelf("tiny")
    out = tmp_path / "out"
    first = acprop(out, "--only", "vision/tiny")
    assert first.exit_code == 0, first.output
    plain = first.output.replace("\n", "")
    assert "vision/tiny: 4 runs: 4 done" in plain
    assert "not run: 2 runs on cifar100" in plain
    assert "the page: file://" in plain
    assert first.stderr.startswith("vision/tiny: done after ")  # no terminal: a line
    listed = ["bench", "status", "vision/tiny", "--runs", str(out / "runs"), "--json"]
    assert '"waiting": 2' in CliRunner().invoke(app, listed).stdout
    study = (out / "study-vision-tiny.html").read_text("utf-8")
    assert "A tiny study" in study
    assert "512 images, 1 epochs" in study
    page = (out / "index.html").read_text("utf-8")
    assert "left out by --only" in page
    assert "cifar100" in page
    records = list(read(out / "studies" / "vision-tiny-smoke-here.jsonl"))
    assert isinstance(records[0], StudyRecord)
    assert sum(isinstance(r, RunRecord) for r in records) == 4
    before = {f: f.stat().st_mtime_ns for f in out.glob("runs/*/run.json")}
    second = acprop(out, "--only", "vision/tiny")
    assert second.exit_code == 0, second.output
    assert {f: f.stat().st_mtime_ns for f in out.glob("runs/*/run.json")} == before


@pytest.mark.usefixtures("offline", "in_process")
def test_stored_evidence_leads_and_this_machines_runs_stand_below(tmp_path, shelf):
    """Beside the studies lie results of more seeds, at a larger scale."""
    shelf("tiny")
    out = tmp_path / "out"
    acprop(out, "--only", "vision/tiny")
    study, *records = read(out / "studies" / "vision-tiny-smoke-here.jsonl")
    first, *_ = [r for r in records if isinstance(r, RunRecord)]
    runs = [
        replace(first, run=f"r{seed}", seed=seed, scale="small", machine={"cores": 99})
        for seed in range(9)
    ]
    known = replace(study, scale="small", runs=tuple(r.run for r in runs), missing=())
    write(tmp_path / "results" / "tiny.jsonl", [known, *runs])
    again = acprop(out, "--only", "vision/tiny")
    assert again.exit_code == 0, again.output
    page = (out / "study-vision-tiny.html").read_text("utf-8")
    assert page.index("Small scale, 9 seeds") < page.index("Run on this machine, smoke")
    assert page.index("cores: 99") < page.index("Run on this machine, smoke")


TEXT_STUDY = """
name = "language/own"
title = "A text of the user's"
place = "ours"
task = "language"
shows = "curves"
metrics = ["train_loss", "val_loss", "test_loss"]
task_settings = {{ text = "{file}", layers = 1, width = 16, heads = 2, context = 8 }}
[[arms]]
optimizer = "acprop"
grid = {{ lr = [1e-3, 3e-3] }}
[[arms]]
optimizer = "adamw"
settings = {{ lr = 3e-3 }}
[scales.smoke]
note = "a text of 6 kB, two epochs of 5 steps"
epochs = 2
seeds = [0, 1]
seconds = 1
task_settings = {{ steps_per_epoch = 5, batch = 4, n_validation = 8, n_test = 8 }}
schedule = {{ kind = "cosine", warmup = 0.1 }}
"""


@pytest.mark.usefixtures("offline", "in_process")
def test_a_text_of_the_users_becomes_a_page_chosen_by_validation_loss(
    tmp_path, monkeypatch
):
    (tmp_path / "own.txt").write_bytes(b"Call me Ishmael. " * 400)
    study = tmp_path / "studies" / "language" / "own.toml"
    study.parent.mkdir(parents=True)
    study.write_text(TEXT_STUDY.format(file=tmp_path / "own.txt"), "utf-8")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    result = acprop(tmp_path / "out", "--only", "language/own")
    assert result.exit_code == 0, result.output
    assert "language/own: 6 runs: 6 done" in result.output.replace("\n", "")
    page = (tmp_path / "out" / "study-language-own.html").read_text("utf-8")
    assert "own.txt (file: " in page
    assert "validation loss" in page
    assert "accuracy" not in page


@pytest.mark.usefixtures("offline", "in_process")
def test_without_data_it_says_how_to_give_it_does_the_rest_and_fails(
    tmp_path, shelf, monkeypatch
):
    shelf("able")
    shelf("unable", dataset="imagenet")
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    result = acprop(tmp_path / "out", "--only", "vision/able,vision/unable")
    assert result.exit_code == 1
    plain = " ".join(result.output.split())
    assert "vision/able: 4 runs: 4 done" in plain
    assert "not run: 4 runs on imagenet" in plain
    assert "--from" in plain
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.usefixtures("offline", "in_process")
def test_interrupted_in_the_middle_the_next_call_goes_on(
    tmp_path, shelf, start, until, patience
):
    shelf("long", epochs=6)
    out = tmp_path / "out"
    words = ["reproduce", "--only", "vision/long", "--out", str(out), "--jobs", "1"]
    process = start(
        [sys.executable, "-m", "acprop", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until(lambda: list(out.glob("runs/*/metrics.jsonl")))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate(timeout=patience)
    assert process.returncode == 130
    assert "run it again and it continues" in said
    assert "Traceback" not in said
    assert (out / "index.html").exists() is False
    result = acprop(out, "--only", "vision/long")
    assert result.exit_code == 0, result.output
    assert "vision/long: 4 runs: 4 done" in result.output


@pytest.mark.usefixtures("in_process")
def test_records_of_two_machines_become_one_page(tmp_path, shelf):
    shelf("tiny")
    words = ["bench", "study", "vision/tiny", "--runs", str(tmp_path / "runs")]
    file = tmp_path / "all.jsonl"
    CliRunner().invoke(app, [*words, "--jobs", "1", "--out", str(file)])
    study, *runs = read(file)
    runs = [run for run in runs if run.status == "done"]
    parts = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for part, shown in zip(parts, (runs[:1], runs[1:]), strict=True):
        write(part, [replace(study, runs=tuple(r.run for r in shown)), *shown])
    words = ["lab", "figures", "periods-dense", "--out", str(tmp_path / "lab")]
    CliRunner().invoke(app, words)
    out = tmp_path / "site"
    given = [str(p) for p in (*parts, tmp_path / "lab")]
    result = CliRunner().invoke(app, ["report", *given, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "0 verdicts, 1 figures, 1 studies" in result.output
    page = (out / "studies.html").read_text("utf-8")
    assert f"all {len(runs)} done" in page
    assert "figures/periods-dense.svg" in (out / "figures.html").read_text("utf-8")
    again = CliRunner().invoke(app, ["report", str(out), "--out", str(tmp_path / "b")])
    assert again.exit_code == 0, again.output
    for name in ("figures.html", "study-vision-tiny.html"):
        assert (tmp_path / "b" / name).read_text("utf-8").count("<figure") == 1


BAD = [
    (
        "--only vision/foo",
        "only must be one of lab, vision/tiny, got 'vision/foo'; did you mean "
        "vision/tiny?",
    ),
    ("--only vision/tiny --scale huge", "scale must be one of smoke, got 'huge'"),
    ("--jobs 0", "jobs must be 1 or more, got 0"),
    ("--executor cloud", "executor must be one of local, ray, slurm, got 'cloud'"),
    ("--gpus 1", "gpus must come with --executor ray or slurm, got local"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path, shelf, monkeypatch, capsys, words, message
):
    shelf("tiny")
    out = tmp_path / "out"
    asked = ["acprop", "reproduce", "--out", str(out), *words.split()]
    monkeypatch.setattr(sys, "argv", asked)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert not out.exists()


def test_an_unknown_part_is_refused_before_anything_is_done(tmp_path, shelf):
    shelf("tiny")
    result = acprop(tmp_path / "out", "--only", "lab,vision/foo")
    assert isinstance(result.exception, ValueError)
    message = (
        "only must be one of lab, vision/tiny, got 'vision/foo'; did you mean "
        "vision/tiny?"
    )
    assert str(result.exception) == message
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_laboratory_is_checked_and_drawn(tmp_path):
    out = tmp_path / "out"
    result = acprop(out, "--only", "lab")
    assert result.exit_code == 0, result.output
    assert len(list((out / "verdicts").iterdir())) == len(CLAIMS)
    page = (out / "index.html").read_text("utf-8")
    assert "figures/area-dense-0.9.svg" in page
