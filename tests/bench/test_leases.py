"""Leases: of several machines that share a disk, one has a run; no clock is trusted."""

import errno
import fcntl
import json
import threading
import time
from contextlib import ExitStack

import pytest

from acprop.bench import leases, locks
from acprop.bench.leases import LeaseLostError, Seen, Watch
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
    """As if what follows happened on another machine, whose locks we do not see."""

    def go(name):
        monkeypatch.setattr(leases, "host", lambda: name)

        def none(*_):
            raise OSError(errno.ENOLCK, "no locks available")

        monkeypatch.setattr(fcntl, "flock", none)

    return go


@pytest.fixture
def quick(monkeypatch):
    """A minute's patience in a tenth of a second."""
    monkeypatch.setattr(leases, "PATIENCE", 0.1)
    monkeypatch.setattr(locks, "_LOOK_EVERY", 0.01)


def test_a_lease_is_dead_when_its_beat_stands_still_by_the_readers_own_clock():
    clock = Clock()
    watch = Watch(clock)
    seen = Seen(1, "far", "boot", 7)
    assert not watch.is_dead(seen)
    clock.now += leases.PATIENCE - 1
    assert not watch.is_dead(seen)
    beaten = Seen(1, "far", "boot", 7, beat=1)
    clock.now += 2
    assert not watch.is_dead(beaten)  # alive: the beat is another
    clock.now += leases.PATIENCE
    assert watch.is_dead(beaten)
    assert not watch.is_dead(Seen(2, "near", "boot", 8))  # somebody else by now


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
            pytest.raises(locks.RunInUseError, match=r"in use by process \d+ on far"),
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
    folder = tmp_path / "run"
    folder.mkdir()
    dead = Seen(3, "far", "boot", 7)
    (folder / "lease.3").write_text(json.dumps({"number": 3}))
    first = leases.take(folder, after=dead)
    with pytest.raises(FileExistsError):
        leases.take(folder, after=dead)
    assert leases.newest(folder).number == 4
    first.release()
    assert leases.newest(folder) is None


def test_a_lease_that_was_watched_before_is_not_watched_again(tmp_path, other):
    other("far")
    with Store(tmp_path).folder(SPEC).locked():
        other("near")
        seen = Store(tmp_path).folder(SPEC).holder()
        with Store(tmp_path).folder(SPEC, dead=seen).locked():  # at once
            assert leases.newest(tmp_path / SPEC.id).number == 2


def test_a_process_of_this_machine_that_was_killed_is_not_waited_for(tmp_path):
    """Its lock is free, so it is no more, whatever its lease says."""
    folder = Store(tmp_path).folder(SPEC)
    folder.path.mkdir()
    left = Seen(1, leases.host(), leases.boot(), 7)
    (folder.path / "lease.1").write_text(leases._text(left))
    (folder.path / "lock").write_text("7")
    assert folder.holder() is None
    with folder.locked():
        assert leases.newest(folder.path).number == 2


def test_how_much_is_done_can_be_seen_from_elsewhere(tmp_path, until, monkeypatch):
    monkeypatch.setattr(leases, "BEAT_EVERY", 0.01)
    folder = Store(tmp_path).folder(SPEC)
    with folder.locked():
        folder.note(0.25)
        until(lambda: Store(tmp_path).folder(SPEC).holder().share == 0.25)


def test_a_look_at_a_run_keeps_nobody_from_it(tmp_path):
    """Refused were 1284 of 1500 under a tight loop of looks."""
    folder, done = Store(tmp_path).folder(SPEC), threading.Event()

    def look():
        while not done.is_set():
            Store(tmp_path).folder(SPEC).holder()

    looks = threading.Thread(target=look)
    looks.start()
    try:
        for _ in range(100):
            with folder.locked():
                pass
    finally:
        done.set()
        looks.join()


def test_who_meets_only_a_look_tries_again(tmp_path, monkeypatch):
    """A look at a run whose process was killed shares its lock for a moment."""
    folder = Store(tmp_path).folder(SPEC)
    folder.path.mkdir()
    with (folder.path / "lock").open("w") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        release = lambda _: fcntl.flock(look, fcntl.LOCK_UN)  # noqa: E731
        monkeypatch.setattr(time, "sleep", release)
        with folder.locked():
            pass
