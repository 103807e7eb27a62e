"""A cluster of Ray that anybody can use is not used, and not started."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from acprop.bench.engines import tokens

OURS = """
import json, os, sys
from pathlib import Path
from acprop.bench.engines import ray as engine, tokens
engine._found = lambda: None  # whatever else runs on this machine
said = {}
try:
    with engine.RayEngine().open(Path(sys.argv[1]), 1):
        def inodes(pid):
            fds = Path("/proc", pid, "fd")
            return {os.readlink(fd) for fd in fds.iterdir() if fd.is_symlink()}
        mark, here = os.environ["MARK"].encode(), set()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "environ").read_bytes():
                    here |= inodes(place.name)
            except OSError:
                continue
        rows = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path("/proc/net", name).read_text().splitlines()[1:]
        ]
        said["listens"] = sorted({
            row[1].partition(":")[0]
            for row in rows
            if row[3] == "0A" and f"socket:[{row[9]}]" in here
        })
        os.environ[tokens.MODE] = "token"
        tokens.check(engine.import_module("ray"))
except ValueError as error:
    said["error"] = str(error)
print(json.dumps(said))
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}  # as /proc/net prints them


def our_cluster(tmp_path, patience, **environment):
    """Start one as `acprop bench study --executor ray` does; what it says of itself."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    clean |= {"HOME": str(tmp_path), "MARK": secrets.token_hex(16), **environment}
    done = subprocess.run(
        [sys.executable, "-c", OURS, str(tmp_path)],
        env=clean,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


linux = pytest.mark.skipif(not Path("/proc/net").is_dir(), reason="no /proc here")


@pytest.mark.slow
@linux
def test_our_own_cluster_listens_here_only_and_requires_a_token(tmp_path, patience):
    said = our_cluster(tmp_path, patience)
    assert "error" not in said
    assert said["listens"]
    assert set(said["listens"]) <= LOOPBACK
    assert (tmp_path / ".ray" / "auth_token").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@linux
def test_a_cluster_without_a_token_is_refused_unless_the_user_allows_it(
    tmp_path, patience
):
    said = our_cluster(tmp_path, patience, RAY_AUTH_MODE="disabled")
    assert said["error"].startswith(
        "address must be that of a Ray cluster that requires a token, got one on "
    )
    assert said["error"].endswith("or allow it here with RAY_AUTH_MODE=disabled")
    assert not (tmp_path / ".ray").exists()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (tokens.MODE, tokens.TOKEN, tokens.PATH):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / ".ray"


def test_a_new_token_can_be_read_by_its_user_alone_and_stays(home):
    tokens.make()
    (path,) = home.iterdir()
    token = path.read_text()
    assert len(token) == 64
    assert path.stat().st_mode & 0o777 == 0o600
    tokens.make()
    assert (list(home.iterdir()), path.read_text()) == ([path], token)


@pytest.mark.parametrize("name", [tokens.TOKEN, tokens.PATH])
def test_a_token_of_the_users_is_left_alone(home, name, monkeypatch):
    monkeypatch.setenv(name, "mine")
    tokens.make()
    assert not home.exists()
