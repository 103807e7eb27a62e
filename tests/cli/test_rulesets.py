"""`acprop bench study --ruleset …` as a user calls it."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app, run
from acprop.records import RunRecord, StudyRecord, read

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
width = 0.1
n_train = 256
n_validation = 200
n_test = 200
[[arms]]
optimizer = "acprop"
settings = { lr = 1e-3 }
[[arms]]
optimizer = "sgd"
settings = { lr = 0.1 }
[scales.smoke]
note = "256 images of MNIST, one epoch"
epochs = 1
seeds = [0, 1]
seconds = 1
tuning = { trials = 2, seeds = [10] }
"""
WIDE = Path(__file__).parents[2] / "studies" / "spaces" / "wide-1.toml"


@pytest.fixture
def studies(tmp_path, monkeypatch):
    folder = tmp_path / "studies"
    for name, text in (
        ("vision/tiny", STUDY),
        ("spaces/wide-1", WIDE.read_text("utf-8")),
    ):
        file = folder / f"{name}.toml"
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")
    monkeypatch.setenv("ACPROP_STUDIES", str(folder))
    return folder


def acprop(*words):
    return CliRunner().invoke(app, words)


@pytest.mark.usefixtures("studies", "mnist", "in_process")
def test_a_tuned_study_ends_with_its_tables_and_its_page(tmp_path):
    out = tmp_path / "out" / "tiny.jsonl"
    asked = ["bench", "study", "vision/tiny", "--ruleset", "tuned", "--jobs", "1"]
    asked += ["--runs", str(tmp_path / "runs"), "--out", str(out)]
    first = acprop(*asked)
    assert first.exit_code == 0, first.output
    assert "| verdict |" in first.output
    study, *runs = read(out)
    assert isinstance(study, StudyRecord)
    assert (study.ruleset, len(study.runs), len(runs)) == ("tuned", 4, 8)
    assert all(isinstance(r, RunRecord) for r in runs)
    again = acprop(*asked, "--json")  # everything is there: nothing is run
    assert len(again.stdout.splitlines()) == 9
    page = acprop("report", str(out), "--out", str(tmp_path / "site"))
    assert page.exit_code == 0, page.output
    pages = (tmp_path / "site").glob("*.html")
    text = "".join(page.read_text("utf-8") for page in pages)
    assert "ruleset tuned" in text
    assert "p (Holm)" in text


@pytest.mark.usefixtures("studies", "mnist")
def test_a_dry_run_prints_runs_and_minutes_and_runs_nothing(tmp_path):
    asked = ["bench", "study", "vision/tiny", "--dry-run", "--runs"]
    asked.append(str(tmp_path / "runs"))
    said = acprop(*asked, "--ruleset", "tuned")
    assert said.exit_code == 0, said.output
    assert "winners on fresh seeds" in said.output
    stage = json.loads(acprop(*asked, "--json").stdout)
    assert stage == {"name": "runs", "runs": 4, "done": 0, "minutes": 4 / 60}
    assert not (tmp_path / "runs").exists()


def test_the_optimizers_are_listed_with_their_spaces():
    text = acprop("bench", "optimizers").output
    assert "studies/spaces/wide-2.toml" in " ".join(text.split())
    lines = acprop("bench", "optimizers", "--json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    (ours,) = [row for row in rows if row["name"] == "acprop"]
    places = {s["variant"]["convention"]: s["eps_place"] for s in ours["spaces"]}
    assert places == {
        "guarded": "outside", "paper": "inside", "authors": "stored", "optax": "stored"
    }  # fmt: skip
    assert ours["spaces"][0]["ranges"]["lr"] == [1e-4, 1e-1]


BAD = [
    ("--ruleset tunde", "ruleset must be one of default, paper, tuned, got"),
    ("--ruleset tuned --space wide", "space must be one of wide-1, got"),
    ("--trials 4", "trials must come with the ruleset tuned, got paper"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "message"), BAD)
@pytest.mark.usefixtures("studies")
def test_bad_rules_are_one_line_and_nothing_is_run(
    said, message, monkeypatch, capsys, tmp_path
):
    asked = ["acprop", "bench", "study", "vision/tiny", *said.split()]
    monkeypatch.setattr(sys, "argv", [*asked, "--runs", str(tmp_path / "runs")])
    with pytest.raises(SystemExit) as end:
        run()
    heard = capsys.readouterr()
    assert end.value.code == 2
    assert message in heard.err
    assert heard.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_misspelt_key_is_named_with_its_file_and_a_suggestion(
    studies, monkeypatch, capsys, tmp_path
):
    file = studies / "spaces" / "wide-1.toml"
    text = file.read_text("utf-8").replace("weight_decay =", "weight_dacay =", 1)
    file.write_text(text, "utf-8")
    asked = ["acprop", "bench", "study", "vision/tiny", "--ruleset", "tuned"]
    monkeypatch.setattr(sys, "argv", [*asked, "--runs", str(tmp_path / "runs")])
    with pytest.raises(SystemExit):
        run()
    said = capsys.readouterr().err
    assert "spaces/wide-1.toml must be a valid file, got spaces[0].ranges" in said
    assert "did you mean weight_decay?" in said
    assert not (tmp_path / "runs").exists()
