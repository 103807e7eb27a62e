"""`acprop doctor`."""

import json
from importlib import metadata

from typer.testing import CliRunner

from acprop.cli import doctor
from acprop.cli.app import app


def test_what_is_here_is_said_with_its_version():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert f"✓ torch: {metadata.version('torch')}" in result.output
    assert "studies: 12 found" in result.output


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


def test_missing_data_is_no_illness(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    found = {f["name"]: f for f in map(json.loads, result.stdout.splitlines())}
    assert found["data mnist"]["remedy"] == "acprop data fetch mnist"
    assert result.exit_code == 0
