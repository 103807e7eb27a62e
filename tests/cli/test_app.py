"""The tree of commands, and an error: one line if it is a user's, else a traceback."""

import os
import subprocess
import sys

import pytest

from acprop import checks
from acprop.cli.app import COMMANDS, run
from acprop.tasks.data import DataError

USERS = [
    checks.UserError("seed must be 0 or more, got -1"),
    checks.UserTypeError("seed must be a whole number, got 'x'"),
    checks.UnknownNameError("foo", "settings must be among lr, got foo"),
    DataError("mnist is not there"),
    OSError("no reason that the system names"),
]
OURS = [ValueError, TypeError, RuntimeError, KeyError, AssertionError]


def command(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("acprop.cli.doctor.examine", fail)
    monkeypatch.setattr(sys, "argv", ["acprop", "doctor"])


@pytest.mark.parametrize("error", USERS, ids=lambda error: type(error).__name__)
def test_a_users_mistake_is_one_line_and_exit_code_2(monkeypatch, capsys, error):
    command(monkeypatch, error)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    assert capsys.readouterr().err == f"error: {error}\n"


def test_what_the_system_refuses_is_told_with_its_path_and_no_number(
    monkeypatch, capsys
):
    command(monkeypatch, PermissionError(13, "Permission denied", "/root/x"))
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("error: /root/x must be within reach, got: permission den")


@pytest.mark.parametrize("kind", OURS)
def test_a_defect_of_ours_keeps_its_traceback(monkeypatch, kind):
    """Told as a user's mistake, nobody would look for it."""
    command(monkeypatch, kind("broken"))
    with pytest.raises(kind, match="broken"):
        run()


def test_whoever_catches_a_value_error_catches_a_users_mistake():
    with pytest.raises(ValueError, match=r"lr must be finite and above 0"):
        checks.positive("lr", -1)
    with pytest.raises(TypeError, match=r"lr must be a number"):
        checks.positive("lr", "fast")


# What takes long to import; each of them alone more than all that --help needs.
HEAVY = {"jax", "matplotlib", "numpy", "pydantic", "rich", "scipy", "torch"}


def acprop(*words, **environment):
    code = "import atexit, sys; from acprop.cli import main; sys.argv[0] = 'acprop';"
    code += "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_waits_for_no_package_that_is_slow_to_import(words):
    """Count modules, not seconds: 0.1 s without them, 0.6 s with."""
    told = acprop(*words)
    assert not HEAVY & set(told.stderr.split())
    assert all(command in told.stdout for command in COMMANDS) or "0." in told.stdout


@pytest.mark.parametrize(
    ("typed", "found"), [("acprop la", "lab"), ("acprop bench stu", "study\nstudies")]
)
def test_the_shell_completes_commands(typed, found):
    n = str(len(typed.split()) - 1)
    completing = {"_ACPROP_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    told = acprop(**completing, COMP_CWORD=n)
    assert told.stdout.strip() == found


def test_the_help_tells_how_to_install_completion():
    assert "--install-completion" in acprop("--help").stdout


def test_a_command_that_is_misspelt_is_one_line_with_the_one_that_was_meant():
    told = acprop("reprodoce").stderr
    assert "got 'reprodoce'; did you mean reproduce?" in told


BAD_PLACES = [
    "lab verify lemma-3.3 --out {file}/x.jsonl",
    "lab verify lemma-3.3 --out {folder}",
    "lab boundary --periods 10 --plot {file}/x.png",
    "lab figures harmonic --out {file}",
    "bench run vision/mnist-mlp --optimizer adam --runs {file}",
    "bench run vision/mnist-mlp --optimizer adam --tensorboard {file}",
    "bench study vision/mnist-mlp --out {file}/x.jsonl",
    "bench status vision/mnist-mlp --runs {file}",
    "report {folder} --out {file}",
    "reproduce --only lab --out {file}",
    "reproduce --only lab --out {closed}/x",
    "lab boundary --periods 10 --plot {closed}/x.png",
    "bench run vision/mnist-mlp --optimizer adam --runs {closed}/x",
]


@pytest.mark.parametrize("words", BAD_PLACES)
def test_a_place_that_cannot_be_written_is_refused_at_the_door(
    words, monkeypatch, capsys, tmp_path
):
    """Before hours of work whose result could not be kept; in words, not [Errno 2]."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    places = {"file": tmp_path / "file", "folder": tmp_path / "folder"}
    # Nobody may write there, not even root.
    words = words.format(**places, closed="/proc")
    monkeypatch.setattr(sys, "argv", ["acprop", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 2
    told = capsys.readouterr()
    assert "Errno" not in told.err
    assert " must be a f" in told.err
    assert told.out == ""
    assert not list((tmp_path / "folder").iterdir())
