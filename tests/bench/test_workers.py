"""Workers: they do their work, and they are gone when they should be.

The work is a function of the standard library's: a worker must be able to import it.
"""

import math
import os
import signal
import time
from multiprocessing import active_children

import pytest

from acprop.bench.workers import Pool, run_in_processes

FOR_EVER = 1e6  # seconds


def meanwhile(monkeypatch, call):
    """Call this a few times a second while workers are waited for."""
    wait = Pool.wait

    def waiting(pool, seconds):
        found = wait(pool, seconds)
        call()
        return found

    monkeypatch.setattr(Pool, "wait", waiting)


def test_every_item_is_worked_on_once():
    found = {}
    run_in_processes(
        math.sqrt, [1, 4, 9], 2, lambda x, y: found.update({x: y.result()})
    )
    assert found == {1: 1, 4: 2, 9: 3}
    assert active_children() == []


def test_nothing_to_do_starts_nothing():
    run_in_processes(math.sqrt, [], 2, pytest.fail)
    assert active_children() == []


def test_an_error_in_a_worker_is_the_items():
    found = {}
    run_in_processes(
        math.sqrt, [-1, 4], 1, lambda x, y: found.update({x: y.exception()})
    )
    assert isinstance(found[-1], ValueError)
    assert found[4] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_workers_before_it_is_raised(number, monkeypatch):
    """Whatever they are at: half started, or in the middle of something long."""
    meanwhile(monkeypatch, lambda: signal.raise_signal(number))
    with pytest.raises(KeyboardInterrupt):
        run_in_processes(time.sleep, [FOR_EVER] * 5, 2, pytest.fail)
    assert active_children() == []


def test_an_error_here_ends_the_workers_too():
    with pytest.raises(ZeroDivisionError):
        run_in_processes(time.sleep, [0, FOR_EVER], 2, lambda *_: 1 / 0)
    assert active_children() == []


def test_ctrl_c_reaches_the_workers_and_only_the_parent_answers(monkeypatch):
    """A terminal sends it to all; a worker that is starting would die of it."""
    found, sent = {}, []

    def interrupt():
        for worker in active_children():
            os.kill(worker.pid, signal.SIGINT)
            sent.append(worker.pid)

    meanwhile(monkeypatch, interrupt)
    run_in_processes(
        math.sqrt, range(20), 2, lambda x, y: found.update({x: y.result()})
    )
    assert found == {x: math.sqrt(x) for x in range(20)}
    assert sent
