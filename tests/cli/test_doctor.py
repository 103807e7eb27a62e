"""`acprop doctor`."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop import cli
from acprop.cli import doctor
from acprop.cli.app import app
from acprop.tasks.data import NAMES, describe

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_here_is_said_with_its_version():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert f"✓ torch: {metadata.version('torch')}" in result.output
    n_studies = sum(
        "spaces" not in file.parts for file in ROOT.glob("studies/*/*.toml")
    )
    assert f"studies: {n_studies} found" in result.output


@pytest.mark.parametrize("extra", list(doctor.EXTRAS))
def test_every_package_of_an_extra_is_looked_for(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = project["optional-dependencies"][extra]
    names = {re.split(r"[<>=\[]", requirement)[0] for requirement in listed}
    assert names - {"acprop"} == set(doctor.packages(extra))


def test_what_is_missing_is_said_with_the_command_that_adds_it(monkeypatch):
    def version(name):
        if name == "pooch":
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    monkeypatch.setattr(doctor, "version", version)
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    found = {f["name"]: f for f in map(json.loads, result.stdout.splitlines())}
    assert found["pooch"]["remedy"] == "pip install 'acprop[bench]'"
    assert found["torch"]["remedy"] == ""
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 1
    mended = "for training on real data, and the site  → pip install 'acprop[bench]'"
    assert f"✗ pooch: absent, {mended}" in shown.output


def test_missing_data_is_no_illness(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    found = {f["name"]: f for f in map(json.loads, result.stdout.splitlines())}
    assert found["data mnist"]["remedy"] == "acprop data fetch mnist"
    assert result.exit_code == 0


def test_missing_data_are_named_with_what_they_are_for(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    shown = CliRunner().invoke(app, ["doctor"]).output
    gpt = "not fetched, for the studies of the GPT  → acprop data fetch moby-dick"
    assert f"– data moby-dick: {gpt}" in shown
    assert shown.count("for the studies of translation") == 4
    offered = [n for n in NAMES if not describe(n).on_request]
    assert set(doctor.DATA_USES) == {n for n in offered if not n.startswith("nmt-")}


def test_nobody_is_told_to_fetch_sixty_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    shown = CliRunner().invoke(app, ["doctor"]).output
    assert "acprop data fetch nmt-de-en\n" in shown
    assert "iwslt" not in shown


ASCII = [("doctor", "+ torch: "), ("bench studies", "rate and e\n")]


@pytest.mark.parametrize(("words", "shown"), ASCII)
def test_a_terminal_that_knows_ascii_alone_is_enough(
    words, shown, tmp_path, monkeypatch
):
    study = ROOT / "studies" / "vision" / "vgg-lr-eps.toml"
    (tmp_path / "vision").mkdir()
    shutil.copy(study, tmp_path / "vision")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path))
    terminal = TextIOWrapper(BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "argv", ["acprop", *words.split()])
    for name in ("begin", "finish"):  # of signals, which are pytest's here
        monkeypatch.setattr(cli.stopping, name, lambda: None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    terminal.flush()
    assert end.value.code == 0
    assert shown in terminal.buffer.getvalue().decode("ascii")


def acprop_without(missing, *words):
    """The command as it runs where some packages are not installed."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(',')));"
        "from acprop.cli import main; main()"
    )
    said = [sys.executable, "-c", code, ",".join(missing), *words]
    return subprocess.run(said, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("typer", "", "lab"),
        ("typer", "--help", "lab"),
        ("typer", "bench studies", "bench"),
        ("pydantic", "lab limits", "lab"),
        ("pydantic", "bench studies", "bench"),
        ("numpy", "lab limits", "lab"),
        ("pydantic", "doctor", "lab"),
    ],
)
def test_without_any_extra_one_line_says_which_to_install(missing, words, extra):
    """The optimizer needs torch alone; whoever tries the command is told the rest."""
    said = acprop_without([missing], *words.split())
    assert said.returncode == 1
    advice = f"run pip install 'acprop[{extra}]' ({missing} is missing)"
    assert said.stderr == f"error: this command needs more packages; {advice}\n"
    assert said.stdout == ""


BENCH = ("jinja2", "PIL", "platformdirs", "pooch", "pytorch_optimizer")


def test_the_laboratory_works_without_the_benchmarks_packages():
    said = acprop_without(BENCH, "lab", "limits")
    assert said.returncode == 0, said.stderr
    assert "derived" in said.stdout


NEEDS = [
    ("jinja2", "reproduce --only lab --out OUT"),
    ("platformdirs", "data list"),
    ("pytorch_optimizer", "bench run vision/mnist-mlp --optimizer yogi --runs OUT"),
]


@pytest.mark.parametrize(("missing", "words"), NEEDS)
def test_the_benchmark_without_a_package_says_which_extra_has_it(
    missing, words, tmp_path, monkeypatch
):
    monkeypatch.delenv("ACPROP_DATA", raising=False)
    out = tmp_path / "out"
    said = acprop_without([missing], *words.replace("OUT", str(out)).split())
    assert said.returncode == 1
    advice = f"run pip install 'acprop[bench]' ({missing} is missing)"
    assert said.stderr == f"error: this command needs more packages; {advice}\n"
    assert said.stdout == ""
    assert not out.exists()


@pytest.mark.parametrize("words", ["--help", "bench --help", "reproduce --help"])
def test_help_needs_neither_torch_nor_matplotlib(words):
    said = acprop_without(["torch", "matplotlib"], *words.split())
    assert said.returncode == 0, said.stderr
    assert "Usage" in said.stdout
