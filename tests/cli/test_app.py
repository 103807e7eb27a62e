"""What happens to an error: one line for a user's mistake, a traceback for ours."""

import sys

import pytest

from acprop import checks
from acprop.cli.app import run
from acprop.tasks.data import DataError

USERS = [
    checks.UserError("seed must be 0 or more, got -1"),
    checks.UserTypeError("seed must be a whole number, got 'x'"),
    checks.UnknownNameError("foo", "settings must be among lr, got foo"),
    DataError("mnist is not there"),
    PermissionError(13, "Permission denied", "/root/x"),
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
