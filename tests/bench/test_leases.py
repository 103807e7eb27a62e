"""Leases: one process has a run, here and on a shared disk; no clock is trusted."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from acprop.bench import leases
from acprop.bench.leases import HeldRun, Lease, LeaseLostError, RunInUseError, Watch
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.records import RunStatus

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 3, 0)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 1e6

    def __call__(self):
        return self.now


@pytest.fixture
def other(monkeypatch):
    """As if what follows happened on another machine."""
    return lambda name: monkeypatch.setattr(leases, "host", lambda: name)


@pytest.fixture
def quick(monkeypatch):
    """A minute's patience in a tenth of a second."""
    monkeypatch.setattr(leases, "PATIENCE", 0.1)
    monkeypatch.setattr(leases, "_LOOK_EVERY", 0.01)


def test_a_lease_is_dead_when_its_beat_stands_still_by_the_readers_own_clock():
    clock = Clock()
    watch = Watch(clock)
    seen = Lease(1, "far", "boot", 7)
    assert not watch.is_dead(seen)
    clock.now += leases.PATIENCE - 1
    assert not watch.is_dead(seen)
    beaten = Lease(1, "far", "boot", 7, beat=1)
    clock.now += 2
    assert not watch.is_dead(beaten)  # alive: the beat is another
    clock.now += leases.PATIENCE
    assert watch.is_dead(beaten)
    assert not watch.is_dead(Lease(2, "near", "boot", 8))  # somebody else by now


def test_no_clock_that_can_jump_is_read(tmp_path, monkeypatch):
    """Neither by who holds a run nor by who wants it: the wall clock is out of use."""

    def jumps(*_):
        raise AssertionError("the wall clock was read")

    for name in ("time", "time_ns", "localtime", "gmtime"):
        monkeypatch.setattr(f"time.{name}", jumps)
    folder = Store(tmp_path).folder(SPEC)
    with folder.locked():
        assert folder.holder() is not None
    assert folder.holder() is None


def test_a_run_on_another_machine_is_in_use_until_it_is_let_go(
    tmp_path, other, quick, monkeypatch
):
    del quick
    monkeypatch.setattr(leases, "BEAT_EVERY", 0.02)
    other("far")
    with Store(tmp_path).folder(SPEC).locked():
        other("near")
        ours = Store(tmp_path).folder(SPEC)
        assert ours.holder().host == "far"
        with (
            pytest.raises(RunInUseError, match=r"in use by process \d+ on far"),
            ours.locked(),
        ):
            pass
    with ours.locked():
        assert ours.holder().host == "near"


def test_a_dead_lease_is_taken_over_and_the_old_holder_writes_no_more(
    tmp_path, other, quick
):
    """It stood still for long, and wakes up: two must not write to one folder."""
    del quick
    with ExitStack() as stack:
        other("far")
        old = Store(tmp_path).folder(SPEC)
        stack.enter_context(old.locked())
        old.begin(SPEC)
        other("near")
        new = Store(tmp_path).folder(SPEC)
        stack.enter_context(new.locked())
        new.write_metrics([{"epoch": 1}])
        for write in (
            lambda: old.write_metrics([]),
            lambda: old.save({"n": 1}),
            lambda: old.end(RunStatus.DONE, {}),
        ):
            with pytest.raises(LeaseLostError, match="was taken over"):
                write()
        new.end(RunStatus.DONE, {})
    assert new.metrics() == [{"epoch": 1}]
    assert not list(new.path.glob("lease.*"))


def test_of_two_that_find_a_lease_dead_one_takes_it(tmp_path):
    (tmp_path / "lease.3").write_text(json.dumps({"number": 3}))
    first = HeldRun(tmp_path, 4)
    with pytest.raises(FileExistsError):
        HeldRun(tmp_path, 4)
    assert leases.holder(tmp_path).number == 4
    first.release()
    assert leases.holder(tmp_path) is None


def test_a_lease_that_was_watched_and_ended_is_not_watched_again(tmp_path, other):
    other("far")
    with Store(tmp_path).folder(SPEC).locked() as _, ExitStack() as stack:
        other("near")
        ours = Store(tmp_path).folder(SPEC)
        for _ in range(2):  # another may have been faster
            leases.end(ours.path, Lease(1, "far", "boot", 7))
        assert ours.holder() is None
        stack.enter_context(ours.locked())  # at once
        assert ours.holder().number == 3


def test_who_comes_late_to_a_free_run_does_not_take_it_from_its_holder(
    tmp_path, monkeypatch
):
    """It saw the run free, and an old number, before another took and lost it."""
    folder, ours = Store(tmp_path).folder(SPEC), Store(tmp_path).folder(SPEC)
    with folder.locked():
        pass
    with folder.locked():
        monkeypatch.setattr(leases, "holder", lambda _: Lease(0, "far", "boot", 7))
        monkeypatch.setattr(leases, "PATIENCE", 0.0)
        with pytest.raises(LeaseLostError), ours.locked():
            pass
        folder.write_metrics([{"epoch": 1}])


def left_by(pid, started):
    """The lease of a process of this machine that did not release it."""
    lease = Lease(1, leases.host(), leases.boot(), pid, started=started)
    return json.dumps({name: getattr(lease, name) for name in lease.__slots__})


def test_a_process_of_this_machine_that_was_killed_is_not_waited_for(tmp_path):
    """Whether somebody has waited for it, or its number was given again."""
    folder = Store(tmp_path).folder(SPEC)
    folder.path.mkdir()
    ended = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = leases.process_start(ended.pid)
    (folder.path / "lease.1").write_text(left_by(ended.pid, started))
    assert folder.holder().is_alive()
    ended.kill()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert folder.holder() is None
    ended.communicate()
    assert folder.holder() is None
    (folder.path / "lease.1").write_text(left_by(os.getpid(), started + "0"))
    with folder.locked():
        assert folder.holder().number == 2


def test_a_process_of_this_machine_that_stands_still_keeps_its_run(tmp_path, quick):
    """Ctrl-Z is no end."""
    del quick
    folder = Store(tmp_path).folder(SPEC)
    folder.path.mkdir()
    text = left_by(os.getpid(), leases.process_start(os.getpid()))
    (folder.path / "lease.1").write_text(text)
    with pytest.raises(RunInUseError, match="in use by process"), folder.locked():
        pass
    watch = Watch(iter([0.0, 0.0, 9.9]).__next__)
    assert [watch.is_dead(folder.holder()) for _ in range(2)] == [False, False]


def test_how_much_is_done_can_be_seen_from_elsewhere(tmp_path, until, monkeypatch):
    monkeypatch.setattr(leases, "BEAT_EVERY", 0.01)
    folder = Store(tmp_path).folder(SPEC)
    with folder.locked():
        folder.note(0.25)
        until(lambda: Store(tmp_path).folder(SPEC).holder().share == 0.25)
