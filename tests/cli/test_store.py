"""`acprop bench status` and `--executor` as a user calls them."""

import errno
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop.bench.store import Store
from acprop.bench.studies import study_folder
from acprop.cli.app import app, run
from acprop.records import RunStatus

ROOT = Path(__file__).parents[2]


def acprop(*words):
    return CliRunner().invoke(app, ["bench", *map(str, words)])


@pytest.fixture
def store(tmp_path):
    """Two finished runs of a study, one that failed, fifteen that are not begun."""
    planned = study_folder(ROOT / "studies").study("vision/mnist-mlp").planned("smoke")
    ends = ["done", "diverged", "error"]
    for one, status in zip(planned, ends, strict=False):
        folder = Store(tmp_path / "runs").folder(one.spec)
        folder.begin(one.spec, study="vision/mnist-mlp")
        folder.write_metrics([{"epoch": 1, "wall_seconds": 2.0}])
        folder.end(RunStatus(status), {}, "no such net" if status == "error" else "")
    return tmp_path / "runs"


def test_the_status_is_a_table_a_bar_and_the_time_left(store):
    said = acprop("status", "vision/mnist-mlp", "--runs", store)
    assert said.exit_code == 0, said.output
    (row,) = re.findall(r"│ acprop .*", said.output)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "acprop", "6", "1", "1", "1", "3", "7 s",
    ]  # fmt: skip
    assert "━" * 10 in said.output
    assert "2 of 18 runs" in said.output
    assert "left (nothing runs now)" in said.output
    assert "1 × error: no such net" in said.output
    plain = json.loads(
        acprop("status", "vision/mnist-mlp", "--runs", store, "--json").stdout
    )
    assert plain["lines"][0]["counts"]["waiting"] == 3


@pytest.fixture
def read_only(monkeypatch):
    """As on a disk that is read-only, which is so for root as well."""

    def make(root):
        def guarded(real):
            def call(path, *words, **more):
                mode = words[0] if words else more.get("mode", "r")
                writes = real.__name__ == "mkdir" or set(str(mode)) & set("wax+")
                if writes and path.is_relative_to(root) and not path.is_dir():
                    raise OSError(errno.EROFS, "Read-only file system", str(path))
                return real(path, *words, **more)

            return call

        for real in (Path.open, Path.mkdir):
            monkeypatch.setattr(Path, real.__name__, guarded(real))

    return make


def test_a_finished_store_on_a_read_only_disk_is_exported(
    tmp_path, read_only, monkeypatch
):
    """Also one that has no list of its runs."""
    monkeypatch.setenv("ACPROP_STUDIES", str(ROOT / "studies"))
    planned = study_folder().study("vision/mnist-mlp").planned("smoke")
    runs, out = tmp_path / "runs", tmp_path / "out.jsonl"
    for one in planned:
        folder = Store(runs).folder(one.spec)
        with folder.locked():
            folder.begin(one.spec)
            folder.end(RunStatus.DONE, {})
    read_only(runs)
    said = acprop("study", "vision/mnist-mlp", "--runs", runs, "--out", out)
    assert said.exit_code == 0, said.output
    assert len(out.read_text("utf-8").splitlines()) == 1 + len(planned)


BAD = [
    ("study vision/mnist-mlp --executor cloud", "executor must be one of local, ray"),
    ("study vision/mnist-mlp --address x", "address must come with --executor ray"),
    ("study vision/mnist-mlp --gpus 1", "gpus must come with --executor ray or slurm"),
    ("study vision/mnist-mlp --executor ray --cpus 0", "cpus must be 1 or more, got 0"),
    (
        "study vision/mnist-mlp --executor slurm --cpus 2 --threads 3",
        "threads must be at most cpus, 2, got 3",
    ),
    ("study vision/mnist-mlp --threads 0", "threads must be 1 or more, got 0"),
    (
        "study vision/mnist-mlp --executor ray --minutes 5",
        "minutes must come with --executor slurm, got ray",
    ),
    (
        "study vision/mnist-mlp --executor slurm --minutes 0",
        "minutes must be 1 or more, got 0",
    ),
    ("status vision/foo", "study must be one of"),
    ("status vision/mnist-mlp --scale huge", "scale must be one of"),
    ("status vision/mnist-mlp --ruleset fair", "ruleset must be one of"),
]


@pytest.mark.parametrize(("said", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    said, message, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("ACPROP_STUDIES", str(ROOT / "studies"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["acprop", "bench", *said.split()])
    with pytest.raises(SystemExit) as end:
        run()
    heard = capsys.readouterr()
    assert end.value.code == 2
    assert message in heard.err
    assert heard.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def documented():
    text = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    words = [shlex.split(line, comments=True) for line in blocks.splitlines()]
    return [w[2:] for w in words if w[:2] == ["acprop", "bench"]]


@pytest.mark.parametrize("words", documented(), ids=" ".join)
def test_every_command_of_the_page_is_understood(words, tmp_path, monkeypatch):
    """Studies are planned, not run: there is no such cluster here."""
    monkeypatch.setenv("ACPROP_STUDIES", str(ROOT / "studies"))
    monkeypatch.chdir(tmp_path)
    said = acprop(*words, *["--dry-run"] * (words[0] == "study"))
    assert said.exit_code == 0, said.output
